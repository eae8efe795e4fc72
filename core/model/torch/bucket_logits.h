#pragma once

#include <ATen/core/Tensor.h>

#include "core/rope/method_spec.h"

namespace lpes::model {

/// One row of logits out of those of Attention Buckets' paths [P, R, V] float32 → [R, V] (methods.md §1.4), weighted by
/// the softmax over paths of each path's largest logit. Logits: Σ α_p z_p, as the released code; Probabilities:
/// ln Σ α_p softmax(z_p), as the paper's figure. One path is answered as it is.
[[nodiscard]] at::Tensor combinedLogits(const at::Tensor& logits, rope::MethodPart::Combine combine);

}  // namespace lpes::model
