#include "core/model/torch/attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/model/torch/kernels.h"
#include "core/model/torch/share_blocks.h"
#include "core/model/torch/tile_attention.h"
#include "core/model/torch/tile_product.h"

namespace lpes::model {

namespace {

constexpr std::int64_t kFewestBlockQueries = 16;

AttentionWay& allowedWay() {
    static AttentionWay way = AttentionWay::Tiles;
    return way;
}

/// What takes a part with many queries.
AttentionWay wayFor(const at::Tensor& q) {
    if (!q.is_cpu() || q.scalar_type() != at::kBFloat16) return AttentionWay::LibTorch;
    if (allowedWay() == AttentionWay::Tiles && hasTiles() && q.size(2) <= kMostTileHeadDim) return AttentionWay::Tiles;
    if (allowedWay() != AttentionWay::LibTorch && hasBlockAttention() && q.size(2) % 2 == 0)
        return AttentionWay::Blocks;
    return AttentionWay::LibTorch;
}

/// One part: q [H, N, D], k, v [K, M, D] → out [N, H·D].
void writtenAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionRule& rule,
                      const at::Tensor& out) {
    const std::int64_t heads = q.size(0), queries = q.size(1), headDim = q.size(2);
    const std::int64_t kvHeads = k.size(0), group = heads / kvHeads;
    const at::Tensor result = out.view({queries, kvHeads, group, headDim});
    forShareBlocks(q, k, rule, [&](const ShareBlock& block) {
        const at::Tensor seen = v.narrow(1, block.firstKey, block.keys).to(at::kFloat);
        const at::Tensor blockResult = at::bmm(block.shares, seen).view({kvHeads, group, block.queries, headDim});
        result.narrow(0, block.firstQuery, block.queries).copy_(blockResult.permute({2, 0, 1, 3}));
    });
}

/// As writtenAttention, where neither a cap nor a window matters.
void fusedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                    const at::Tensor& out) {
    const std::int64_t heads = q.size(0), queries = q.size(1), headDim = q.size(2);
    const std::int64_t kvHeads = k.size(0), keys = k.size(1), group = heads / kvHeads;
    std::optional<at::Tensor> mask;
    // A single query sees every key: with a mask a GPU would leave its fused kernels.
    if (queries < keys && queries > 1) {
        // LibTorch's causal flag aligns the mask with the first key; here the queries are the last ones.
        mask = at::ones({queries, keys}, q.options().dtype(at::kBool)).tril(keys - queries);
    }
    // On a GPU grouped heads are known to the fused kernel for 16 bits alone; float32 with groups would be written out,
    // with all scores at once.
    const bool repeats = group > 1 && !q.is_cpu() && q.scalar_type() == at::kFloat;
    const auto heldBy = [&](const at::Tensor& all) {
        return (repeats ? all.repeat_interleave(group, 0) : all).unsqueeze(0);
    };
    const at::Tensor result = at::scaled_dot_product_attention(q.unsqueeze(0), heldBy(k), heldBy(v), mask, 0.0,
                                                               queries == keys, scale, group > 1 && !repeats);
    out.view({queries, heads, headDim}).copy_(result.squeeze(0).transpose(0, 1));
}

void libTorchAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionRule& rule,
                       const at::Tensor& out) {
    const bool hides = rule.window > 0 && k.size(1) > rule.window;
    if (rule.softcap > 0.0 || hides) return writtenAttention(q, k, v, rule, out);
    fusedAttention(q, k, v, rule.scale, out);
}

/// Few queries, where the time goes into reading keys and values: every key/value head's once for all its query heads.
template <class T>
void rowAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionPart& part,
                  const AttentionRule& rule, const at::Tensor& out, BlockAttentionScratch& scratch) {
    const std::int64_t kvHeads = k.size(0), group = q.size(0) / kvHeads, size = q.size(2);
    const ScoreRule scores{static_cast<float>(rule.scale), static_cast<float>(rule.softcap), rule.window};
    const auto threads = static_cast<std::size_t>(at::get_num_threads());
    scratch.perThread.resize(std::max(scratch.perThread.size(), threads));
    for (at::Tensor& buffer : scratch.perThread)
        (void)BlockAttentionScratch::reserve<float>(buffer, rowScores(group, size, part.keys));
    const RowKernels<T>& kernel = kernels::rowKernels<T>();
    const auto* qData = static_cast<const T*>(q.const_data_ptr());
    const auto* kData = static_cast<const T*>(k.const_data_ptr());
    const auto* vData = static_cast<const T*>(v.const_data_ptr());
    auto* outData = static_cast<T*>(out.data_ptr());
    at::parallel_for(0, part.queries * kvHeads, 1, [&](std::int64_t begin, std::int64_t end) {
        auto* memory =
            static_cast<float*>(scratch.perThread[static_cast<std::size_t>(at::get_thread_num())].data_ptr());
        for (std::int64_t index = begin; index < end; ++index) {
            const std::int64_t query = index / kvHeads, head = index % kvHeads, row = part.queryBegin + query;
            const std::int64_t position = part.keys - part.queries + query, first = rule.firstKey(position);
            const std::int64_t source = (part.keyBegin + first) * size;
            kernel.attend(qData + head * group * q.stride(0) + row * size, q.stride(0), group, size,
                          kData + head * k.stride(0) + source, vData + head * v.stride(0) + source,
                          position + 1 - first, scores, memory, outData + (row * kvHeads + head) * group * size);
        }
    });
}

}  // namespace

at::Tensor softcapped(const at::Tensor& values, double cap) {
    return cap > 0.0 ? at::tanh(values / cap) * cap : values;
}

void useAttention(AttentionWay way) {
    allowedWay() = way;
}

void causalAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     std::span<const AttentionPart> parts, const AttentionRule& rule, const at::Tensor& out,
                     BlockAttentionScratch& scratch) {
    const AttentionWay way = wayFor(q);
    std::vector<AttentionPart> blocked;
    for (const AttentionPart& part : parts) {
        if (way != AttentionWay::LibTorch && (part.continues || part.queries >= kFewestBlockQueries)) {
            blocked.push_back(part);
            continue;
        }
        const bool few = q.is_cpu() && part.queries < kFewestBlockQueries;
        if (few && q.scalar_type() == at::kFloat) {
            rowAttention<float>(q, k, v, part, rule, out, scratch);
            continue;
        }
        if (few && q.scalar_type() == at::kBFloat16) {
            rowAttention<Bf16>(q, k, v, part, rule, out, scratch);
            continue;
        }
        const auto keys = [&](const at::Tensor& all) { return all.narrow(1, part.keyBegin, part.keys); };
        libTorchAttention(q.narrow(1, part.queryBegin, part.queries), keys(k), keys(v), rule,
                          out.narrow(0, part.queryBegin, part.queries));
    }
    if (blocked.empty()) return;
    const auto attend = way == AttentionWay::Tiles ? tileAttention : blockAttention;
    attend(q, k, v, blocked, rule, out, scratch);
}

at::Tensor lastRowProbabilities(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule) {
    const std::int64_t heads = q.size(0), headDim = q.size(1), kvHeads = k.size(0), keys = k.size(1);
    const std::int64_t begin = rule.firstKey(keys - 1);
    const at::Tensor grouped = q.reshape({kvHeads, heads / kvHeads, headDim}).to(at::kFloat);
    const at::Tensor seen = k.narrow(1, begin, keys - begin).to(at::kFloat);
    const at::Tensor scores = softcapped(at::matmul(grouped, seen.transpose(1, 2)) * rule.scale, rule.softcap);
    return at::constant_pad_nd(at::softmax(scores, -1).view({heads, keys - begin}), {begin, 0});
}

}  // namespace lpes::model
