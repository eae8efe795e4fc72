#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/model/causal_lm.h"

namespace lpes::model {

/// A row of logits reduced: log-softmax with the sum in double.
struct RowScore {
    double logSumExp = 0.0;
    TokenId argmax = 0;  ///< the lowest id among equals
    double targetLogit = 0.0;
};

/// Reduces rows of logits [R, V] float32, on a GPU where they are there; `targets` has R ids, −1 where none is asked
/// for. Failed (naming the row) when a logit is not finite: a scale or a file that breaks the model must not pass for a
/// bad score.
[[nodiscard]] Result<std::vector<RowScore>> reduceLogits(const at::Tensor& logits, std::span<const TokenId> targets);

/// The rows' scores out of LibTorch's operators, on the logits' device: what is copied from it is three numbers a row.
[[nodiscard]] std::vector<RowScore> reduceByOperators(const at::Tensor& logits, std::span<const TokenId> targets);

/// The `count` best of a row [V] float32, best first, the lower id first among equals.
[[nodiscard]] std::vector<TopToken> topTokens(std::span<const float> logits, double logSumExp, int count);

}  // namespace lpes::model
