#include "core/model/torch/token_scores.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lpes::model {
namespace {

RowScore reduceRow(std::span<const float> logits, TokenId target) {
    RowScore score;
    float best = logits[0];
    for (std::size_t id = 1; id < logits.size(); ++id) {
        if (logits[id] > best) {
            best = logits[id];
            score.argmax = static_cast<TokenId>(id);
        }
    }
    double sum = 0.0;
    for (const float logit : logits) sum += static_cast<double>(std::exp(logit - best));
    // A NaN anywhere, or an infinity, ends up in the sum.
    score.logSumExp = static_cast<double>(best) + std::log(sum);
    if (target >= 0) score.targetLogit = static_cast<double>(logits[static_cast<std::size_t>(target)]);
    return score;
}

std::vector<RowScore> reduceRows(const at::Tensor& logits, std::span<const TokenId> targets) {
    const auto width = static_cast<std::size_t>(logits.size(1));
    const float* values = logits.const_data_ptr<float>();
    std::vector<RowScore> scores(static_cast<std::size_t>(logits.size(0)));
    at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
            scores[row] = reduceRow({values + row * width, width}, targets.empty() ? -1 : targets[row]);
        }
    });
    return scores;
}

}  // namespace

std::vector<RowScore> reduceByOperators(const at::Tensor& logits, std::span<const TokenId> targets) {
    const at::Tensor best = logits.amax({1}, true);
    const at::Tensor sums = (logits - best).exp().sum({1}, false, at::kDouble);
    const at::Tensor logSums = best.squeeze(1).to(at::kDouble) + sums.log();
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(logits.size(0)), 0);
    for (std::size_t row = 0; row < targets.size(); ++row) wanted[row] = std::max<std::int64_t>(0, targets[row]);
    const at::Tensor columns = at::tensor(wanted, at::kLong).to(logits.device()).unsqueeze(1);
    const at::Tensor all =
        at::stack({logSums, logits.argmax(1).to(at::kDouble), logits.gather(1, columns).squeeze(1).to(at::kDouble)})
            .cpu()
            .contiguous();
    const double* values = all.const_data_ptr<double>();
    const std::size_t rows = wanted.size();
    std::vector<RowScore> scores(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        scores[row].logSumExp = values[row];
        scores[row].argmax = static_cast<TokenId>(values[rows + row]);
        if (!targets.empty() && targets[row] >= 0) scores[row].targetLogit = values[2 * rows + row];
    }
    return scores;
}

Result<std::vector<RowScore>> reduceLogits(const at::Tensor& logits, std::span<const TokenId> targets) {
    const auto rows = static_cast<std::size_t>(logits.size(0));
    const std::vector<RowScore> scores =
        logits.is_cpu() ? reduceRows(logits, targets) : reduceByOperators(logits, targets);
    for (std::size_t row = 0; row < rows; ++row) {
        if (!std::isfinite(scores[row].logSumExp)) {
            return fail(ErrorCode::Failed, fmt::format("the model's logits are not finite (row {} of {}); use scales "
                                                       "closer to 1 or compute in float32",
                                                       row, rows));
        }
    }
    return scores;
}

std::vector<TopToken> topTokens(std::span<const float> logits, double logSumExp, int count) {
    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto wanted = static_cast<std::ptrdiff_t>(std::min(ids.size(), static_cast<std::size_t>(std::max(0, count))));
    std::partial_sort(ids.begin(), ids.begin() + wanted, ids.end(), [&](TokenId a, TokenId b) {
        const float left = logits[static_cast<std::size_t>(a)], right = logits[static_cast<std::size_t>(b)];
        return left != right ? left > right : a < b;
    });
    std::vector<TopToken> top;
    for (std::ptrdiff_t i = 0; i < wanted; ++i) {
        const TokenId id = ids[static_cast<std::size_t>(i)];
        top.push_back({id, static_cast<double>(logits[static_cast<std::size_t>(id)]) - logSumExp});
    }
    return top;
}

}  // namespace lpes::model
