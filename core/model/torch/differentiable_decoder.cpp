#include "core/model/torch/differentiable_decoder.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <optional>
#include <vector>

#include "core/model/torch/attention.h"
#include "core/model/torch/device_kernels.h"
#include "core/model/torch/stored_matrix.h"

namespace lpes::model::differentiable {
namespace {

/// x·Wᵀ + b that computes repeated rows once, and back every row for itself.
class RepeatingProduct : public torch::autograd::Function<RepeatingProduct> {
  public:
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                              const std::optional<at::Tensor>& bias, std::int64_t distinct,
                              const at::Tensor& originals) {
        context->save_for_backward({weight});
        at::Tensor all = at::empty({x.size(0), weight.size(0)}, x.options());
        at::Tensor computed = all.narrow(0, 0, distinct), copies = all.narrow(0, distinct, x.size(0) - distinct);
        const at::Tensor rows = x.narrow(0, 0, distinct);
        if (bias) {
            at::addmm_out(computed, *bias, rows, weight.t());
        } else {
            at::mm_out(computed, rows, weight.t());
        }
        at::index_select_out(copies, computed, 0, originals);
        return all;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        return {at::mm(gradients[0], context->get_saved_variables()[0]), {}, {}, {}, {}};
    }
};

std::vector<at::Tensor> projectAll(const at::Tensor& input, const std::vector<Projection>& projections,
                                   at::IntArrayRef sizes, const RepeatedRows& rows) {
    if (projections.size() == 1) return project(input, projections[0], rows).split_with_sizes(sizes, 1);
    std::vector<at::Tensor> outputs;
    for (const Projection& projection : projections) outputs.push_back(project(input, projection, rows));
    return outputs;
}

at::Tensor activated(Activation activation, const at::Tensor& gate) {
    return activation == Activation::Silu ? at::silu(gate) : at::gelu(gate, "tanh");
}

}  // namespace

at::Tensor project(const at::Tensor& input, const Projection& projection, const RepeatedRows& rows) {
    const at::Tensor weight = projection.dense();
    if (rows.originals.defined()) {
        // The function asks every tensor for its device, which an undefined one does not have.
        const auto bias = projection.bias.defined() ? std::optional(projection.bias) : std::nullopt;
        return RepeatingProduct::apply(input, weight, bias, rows.distinct, rows.originals);
    }
    return projection.bias.defined() ? at::linear(input, weight, projection.bias) : at::linear(input, weight);
}

at::Tensor embedded(const ModelConfig& config, const DecoderWeights& weights, std::span<const std::int64_t> ids) {
    const at::Tensor x =
        weights.storedEmbedding
            ? weights.storedEmbedding->gather(ids)
            : at::embedding(weights.embedding,
                            at::tensor(at::IntArrayRef(ids.data(), ids.size()), at::kLong).to(weights.devices.front()));
    return config.embeddingScale == 1.0 ? x : x * at::full({}, config.embeddingScale, x.options());
}

at::Tensor rotated(const at::Tensor& rows, std::int64_t headDim, const at::Tensor& cos, const at::Tensor& sin) {
    const at::Tensor heads = rows.view({rows.size(0), -1, headDim}).transpose(0, 1).to(at::kFloat);
    return device_kernels::rotated(heads, cos, sin).to(rows.scalar_type()).unsqueeze(0);
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionRule& rule) {
    const std::int64_t tokens = q.size(2), group = q.size(1) / k.size(1);
    if (rule.softcap == 0.0 && (rule.window == 0 || rule.window >= tokens)) {
        return at::scaled_dot_product_attention(q, k, v, {}, 0.0, true, rule.scale, group > 1);
    }
    const at::Tensor keys = k.repeat_interleave(group, 1), values = v.repeat_interleave(group, 1);
    const at::Tensor scores = softcapped(at::matmul(q, keys.transpose(2, 3)).to(at::kFloat) * rule.scale, rule.softcap);
    at::Tensor visible = at::ones({tokens, tokens}, q.options().dtype(at::kBool)).tril();
    if (rule.window > 0) visible = visible.triu(1 - rule.window);
    const at::Tensor shares = at::softmax(scores.masked_fill(visible.logical_not(), -INFINITY), 3);
    return at::matmul(shares.to(v.scalar_type()), values);
}

at::Tensor layerOutput(const ModelConfig& config, const LayerWeights& layer, const at::Tensor& x, const Attend& attend,
                       const RepeatedRows& rows) {
    const std::int64_t tokens = x.size(0), headDim = config.headDim, queryWidth = config.numHeads * headDim,
                       keyWidth = config.numKvHeads * headDim, inner = config.intermediateSize;
    const double eps = config.rmsNormEps;
    const auto qkv = projectAll(device_kernels::normed(x, layer.attentionNorm, eps), layer.qkv,
                                {queryWidth, keyWidth, keyWidth}, rows);
    at::Tensor queries = qkv[0].contiguous(), keys = qkv[1].contiguous();
    if (config.queryKeyNorm) {
        queries = device_kernels::normed(queries.view({tokens, -1, headDim}), layer.queryNorm, eps)
                      .view({tokens, queryWidth});
        keys = device_kernels::normed(keys.view({tokens, -1, headDim}), layer.keyNorm, eps).view({tokens, keyWidth});
    }
    const at::Tensor values = qkv[2].reshape({tokens, config.numKvHeads, headDim}).transpose(0, 1).unsqueeze(0);
    const at::Tensor attended = attend(queries, keys, values);
    at::Tensor delta = project(attended.squeeze(0).transpose(0, 1).reshape({tokens, queryWidth}), layer.output, rows);
    if (config.postNorms) delta = device_kernels::normed(delta, layer.postAttentionNorm, eps);
    const at::Tensor middle = x + delta;
    const auto gateUp =
        projectAll(device_kernels::normed(middle, layer.mlpNorm, eps), layer.gateUp, {inner, inner}, rows);
    delta = project(activated(config.activation, gateUp[0]) * gateUp[1], layer.down, rows);
    if (config.postNorms) delta = device_kernels::normed(delta, layer.postMlpNorm, eps);
    return middle + delta;
}

at::Tensor logits(const ModelConfig& config, const at::Tensor& finalNorm, const Projection& head,
                  const at::Tensor& rows) {
    const at::Tensor normed = device_kernels::normed(rows, finalNorm, config.rmsNormEps);
    return softcapped(project(normed, head).to(at::kFloat), config.logitSoftcap);
}

}  // namespace lpes::model::differentiable
