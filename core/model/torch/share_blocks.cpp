#include "core/model/torch/share_blocks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "core/model/torch/attention.h"

namespace lpes::model {
namespace {

/// Scores that exist at a time, of all heads together.
constexpr std::int64_t kMostScores = std::int64_t{1} << 24;
constexpr std::int64_t kMostQueries = 256;

}  // namespace

void forShareBlocks(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule,
                    const std::function<void(const ShareBlock&)>& body) {
    const std::int64_t heads = q.size(0), queries = q.size(1), headDim = q.size(2);
    const std::int64_t kvHeads = k.size(0), keys = k.size(1), group = heads / kvHeads, past = keys - queries;
    const std::int64_t widest = rule.window > 0 ? std::min(keys, rule.window + kMostQueries) : keys;
    const std::int64_t block = std::clamp<std::int64_t>(kMostScores / (heads * widest), 1, kMostQueries);
    for (std::int64_t first = 0; first < queries; first += block) {
        const std::int64_t rows = std::min(block, queries - first);
        const std::int64_t begin = rule.firstKey(past + first), end = past + first + rows;
        const at::Tensor grouped =
            q.narrow(1, first, rows).to(at::kFloat).reshape({kvHeads, group * rows, headDim}) * rule.scale;
        const at::Tensor seen = k.narrow(1, begin, end - begin).to(at::kFloat);
        const at::Tensor scores = softcapped(at::bmm(grouped, seen.transpose(1, 2)), rule.softcap);
        // Row i of the block sees its keys up to past + first + i, which is column (past + first − begin) + i.
        const std::int64_t diagonal = past + first - begin;
        at::Tensor hidden = at::ones({rows, end - begin}, q.options().dtype(at::kBool)).triu(diagonal + 1);
        if (rule.window > 0) hidden.logical_or_(at::ones_like(hidden).tril(diagonal - rule.window));
        scores.view({kvHeads, group, rows, end - begin}).masked_fill_(hidden, -std::numeric_limits<double>::infinity());
        body({first, rows, begin, end - begin, at::softmax(scores, -1)});
    }
}

}  // namespace lpes::model
