#include "core/model/torch/scale_gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "core/model/torch/packed_weight.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

at::Tensor project(const at::Tensor& input, const Projection& projection) {
    const at::Tensor weight = projection.packed.defined() ? unpackWeight(projection.packed) : projection.weight;
    return projection.bias.defined() ? at::linear(input, weight, projection.bias) : at::linear(input, weight);
}

std::vector<at::Tensor> projectAll(const at::Tensor& input, const std::vector<Projection>& projections,
                                   at::IntArrayRef sizes) {
    if (projections.size() == 1) return project(input, projections[0]).split_with_sizes(sizes, 1);
    std::vector<at::Tensor> outputs;
    for (const Projection& projection : projections) outputs.push_back(project(input, projection));
    return outputs;
}

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps) {
    const at::Tensor wide = x.to(at::kFloat);
    return weight * (wide * at::rsqrt(wide.pow(2).mean({1}, true) + eps)).to(x.scalar_type());
}

/// [T, heads·D] → rotated [1, heads, T, D]; cos and sin [T, D/2] float32.
at::Tensor rotated(const at::Tensor& rows, std::int64_t headDim, const at::Tensor& cos, const at::Tensor& sin) {
    const at::Tensor heads = rows.view({rows.size(0), -1, headDim}).transpose(0, 1).to(at::kFloat);
    const std::vector<at::Tensor> halves = heads.chunk(2, 2);
    return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, 2)
        .to(rows.scalar_type())
        .unsqueeze(0);
}

}  // namespace

ScaleGradient differentiateScales(const ModelConfig& config, const DecoderWeights& weights,
                                  const std::vector<double>& inverseFrequencies, const ScoredPrompt& prompt,
                                  const LayerScales& scales, const std::stop_token& stop) {
    const at::AutoGradMode on(true);
    std::vector<std::int64_t> ids(prompt.prompt.begin(), prompt.prompt.end());
    ids.insert(ids.end(), prompt.answer.begin(), prompt.answer.end() - 1);
    const auto tokens = static_cast<std::int64_t>(ids.size()),
               answers = static_cast<std::int64_t>(prompt.answer.size());
    const std::int64_t headDim = config.headDim, queryWidth = config.numHeads * headDim,
                       keyWidth = config.numKvHeads * headDim, inner = config.intermediateSize;
    const bool grouped = config.numHeads > config.numKvHeads;

    const at::Tensor scale = at::tensor(scales, at::kDouble).requires_grad_(true);
    const at::Tensor frequencies = at::tensor(inverseFrequencies, at::kDouble);
    const at::Tensor positions = at::arange(tokens, at::kDouble).unsqueeze(1);

    at::Tensor x = at::embedding(weights.embedding, at::tensor(ids, at::kLong));
    for (int index = 0; index < config.numLayers; ++index) {
        if (stop.stop_requested()) throw StopRequested{};
        const LayerWeights& layer = weights.layers[static_cast<std::size_t>(index)];
        const at::Tensor angles = positions / scale[index] * frequencies;
        const at::Tensor cos = angles.cos().to(at::kFloat), sin = angles.sin().to(at::kFloat);
        const auto qkv =
            projectAll(rmsNorm(x, layer.attentionNorm, config.rmsNormEps), layer.qkv, {queryWidth, keyWidth, keyWidth});
        const at::Tensor values = qkv[2].reshape({tokens, config.numKvHeads, headDim}).transpose(0, 1).unsqueeze(0);
        const at::Tensor attended = at::scaled_dot_product_attention(
            rotated(qkv[0].contiguous(), headDim, cos, sin), rotated(qkv[1].contiguous(), headDim, cos, sin), values,
            {}, 0.0, true, 1.0 / std::sqrt(static_cast<double>(headDim)), grouped);
        x = x + project(attended.squeeze(0).transpose(0, 1).reshape({tokens, queryWidth}), layer.output);
        const auto gateUp = projectAll(rmsNorm(x, layer.mlpNorm, config.rmsNormEps), layer.gateUp, {inner, inner});
        x = x + project(at::silu(gateUp[0]) * gateUp[1], layer.down);
    }
    const at::Tensor rows = rmsNorm(x.narrow(0, tokens - answers, answers), weights.finalNorm, config.rmsNormEps);
    const at::Tensor logProbs = at::log_softmax(at::linear(rows, weights.head).to(at::kFloat), 1);
    const std::vector<std::int64_t> targets(prompt.answer.begin(), prompt.answer.end());
    const at::Tensor nll = -logProbs.gather(1, at::tensor(targets, at::kLong).unsqueeze(1)).mean();
    if (stop.stop_requested()) throw StopRequested{};
    nll.backward();

    ScaleGradient result;
    result.meanNll = nll.item<double>();
    const at::Tensor gradient = scale.grad().contiguous();
    result.gradient.assign(gradient.const_data_ptr<double>(), gradient.const_data_ptr<double>() + gradient.numel());
    return result;
}

}  // namespace lpes::model
