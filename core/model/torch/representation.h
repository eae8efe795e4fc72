#pragma once

#include <ATen/core/Tensor.h>

namespace lpes::model {

/// Tokens whose hidden states are compared: all but token 0 and the sink tokens, whose norm is above 10 × the median
/// norm of the prompt at that layer (methods.md §4). hidden [T, E] → indices [n] int64.
[[nodiscard]] at::Tensor comparedRows(const at::Tensor& hidden);

/// Linear CKA of x, y [n, E] with columns centred (Kornblith et al. 2019), in double; the n×n Gram form where n < E.
/// 1 when neither varies, 0 when only one does.
[[nodiscard]] double linearCka(const at::Tensor& x, const at::Tensor& y);

/// Spearman's rank correlation of the upper triangles of the two matrices of distances 1 − cosine, x, y [n, E], n ≥ 3.
/// Distances are computed in float32 by row blocks and rounded to multiples of 2⁻¹⁹ (far below what changes a rank
/// correlation); equal ones share their average rank. Memory O(n) and two fixed tables, whatever n is.
[[nodiscard]] double distanceRankCorrelation(const at::Tensor& x, const at::Tensor& y);

/// Mean over rows of cos(x_i, y_i), in double.
[[nodiscard]] double meanCosine(const at::Tensor& x, const at::Tensor& y);

}  // namespace lpes::model
