#include "core/model/torch/packed_weight.h"

#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

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
    // Input, weight, bias, and an element-wise step after the product that we have no use for.
    torch::jit::Stack stack{x,
                            packed,
                            bias.defined() ? c10::IValue(bias) : c10::IValue(),
                            std::string("none"),
                            c10::List<std::optional<at::Scalar>>(),
                            std::string()};
    productOperator()->callBoxed(stack);
    return stack.front().toTensor();
}

}  // namespace lpes::model
