#include "core/model/torch/packed_weight.h"

#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "core/model/torch/processor.h"
#include "core/model/torch/tile_product.h"

namespace lpes::model {
namespace {

// LibTorch registers both for its own compiler; they have no C++ function.
const std::optional<c10::OperatorHandle>& reorderOperator() {
    static const auto found = c10::Dispatcher::singleton().findSchema({"mkldnn::_reorder_linear_weight", ""});
    return found;
}
const std::optional<c10::OperatorHandle>& productOperator() {
    static const auto found = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    return found;
}

/// oneDNN compiles a product for every number of rows and keeps a thousand of them. So that prompts of every length
/// share a few, rows are filled up with zeros to a sixteenth of the power of two below them, sixteen at least.
at::Tensor paddedRows(const at::Tensor& x) {
    const auto rows = static_cast<std::uint64_t>(x.size(0));
    constexpr std::uint64_t kStep = 16;
    if (rows <= kStep) return x;
    const std::uint64_t step = std::max(kStep, std::bit_floor(rows) / kStep);
    const auto wanted = static_cast<std::int64_t>((rows + step - 1) / step * step);
    if (wanted == x.size(0)) return x;
    at::Tensor padded = at::empty({wanted, x.size(1)}, x.options());
    padded.narrow(0, 0, x.size(0)).copy_(x);
    padded.narrow(0, x.size(0), wanted - x.size(0)).zero_();
    return padded;
}

}  // namespace

bool hasPackedWeights() {
    return (processor().amxBf16 || processor().avx512Bf16) && reorderOperator().has_value() &&
           productOperator().has_value();
}

at::Tensor packWeight(const at::Tensor& weight) {
    if (hasTiles() && fitsTiles(weight)) return packTiles(weight);
    torch::jit::Stack stack{weight, std::optional<std::int64_t>()};
    reorderOperator()->callBoxed(stack);
    return stack.front().toTensor();
}

at::Tensor packWeight(const at::Tensor& weight, LargePages& memory) {
    if (!hasTiles() || !fitsTiles(weight)) return packWeight(weight);
    const at::Tensor packed = memory.take(tileShape(weight), at::kBFloat16);
    packTiles(weight, packed);
    return packed;
}

at::Tensor unpackWeight(const at::Tensor& packed) {
    return packed.is_mkldnn() ? packed.to_dense() : unpackTiles(packed);
}

std::int64_t packedOutputs(const at::Tensor& packed) {
    return packed.is_mkldnn() ? packed.size(0) : tileOutputs(packed);
}

at::Tensor packedProduct(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias, const at::Tensor& out) {
    if (!packed.is_mkldnn()) {
        const at::Tensor result = out.defined() ? out : at::empty({x.size(0), tileOutputs(packed)}, x.scalar_type());
        tileProduct(x, packed, bias, result);
        return result;
    }
    const std::int64_t rows = x.size(0);
    const at::Tensor padded = paddedRows(x);
    // Input, weight, bias, and an element-wise step after the product that we have no use for.
    torch::jit::Stack stack{padded,
                            packed,
                            bias.defined() ? c10::IValue(bias) : c10::IValue(),
                            std::string("none"),
                            c10::List<std::optional<at::Scalar>>(),
                            std::string()};
    productOperator()->callBoxed(stack);
    return stack.front().toTensor().narrow(0, 0, rows);
}

}  // namespace lpes::model
