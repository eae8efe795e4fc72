#include "core/model/torch/bucket_logits.h"

#include <ATen/ATen.h>

namespace lpes::model {

at::Tensor combinedLogits(const at::Tensor& logits, rope::MethodPart::Combine combine) {
    if (logits.size(0) == 1) return logits[0];
    const at::Tensor weights = at::softmax(std::get<0>(logits.max(2, true)), 0);
    // The paths in order, in place: [P, R, V] of a large vocabulary should not be there twice.
    at::Tensor sum = at::zeros_like(logits[0]);
    for (std::int64_t path = 0; path < logits.size(0); ++path) {
        const at::Tensor& row = logits[path];
        sum.addcmul_(combine == rope::MethodPart::Combine::Logits ? row : at::softmax(row, 1), weights[path]);
    }
    return combine == rope::MethodPart::Combine::Logits ? sum : sum.log_();
}

}  // namespace lpes::model
