#include "core/model/torch/scale_gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "core/model/torch/attention.h"
#include "core/model/torch/decoder.h"
#include "core/model/torch/device_kernels.h"
#include "core/model/torch/stored_matrix.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

at::Tensor project(const at::Tensor& input, const Projection& projection) {
    const at::Tensor weight = projection.dense();
    return projection.bias.defined() ? at::linear(input, weight, projection.bias) : at::linear(input, weight);
}

std::vector<at::Tensor> projectAll(const at::Tensor& input, const std::vector<Projection>& projections,
                                   at::IntArrayRef sizes) {
    if (projections.size() == 1) return project(input, projections[0]).split_with_sizes(sizes, 1);
    std::vector<at::Tensor> outputs;
    for (const Projection& projection : projections) outputs.push_back(project(input, projection));
    return outputs;
}

/// [T, heads·D] → rotated [1, heads, T, D]; cos and sin [T, R/2] float32.
at::Tensor rotated(const at::Tensor& rows, std::int64_t headDim, const at::Tensor& cos, const at::Tensor& sin) {
    const at::Tensor heads = rows.view({rows.size(0), -1, headDim}).transpose(0, 1).to(at::kFloat);
    return device_kernels::rotated(heads, cos, sin).to(rows.scalar_type()).unsqueeze(0);
}

/// q [1, H, T, D], k and v [1, K, T, D] → [1, H, T, D].
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

at::Tensor activated(Activation activation, const at::Tensor& gate) {
    return activation == Activation::Silu ? at::silu(gate) : at::gelu(gate, "tanh");
}

}  // namespace

ScaleGradient differentiateScales(const ModelConfig& config, const DecoderWeights& weights, const ScoredPrompt& prompt,
                                  const LayerScales& scales, const std::stop_token& stop) {
    const at::AutoGradMode on(true);
    std::vector<std::int64_t> ids(prompt.prompt.begin(), prompt.prompt.end());
    ids.insert(ids.end(), prompt.answer.begin(), prompt.answer.end() - 1);
    const auto tokens = static_cast<std::int64_t>(ids.size()),
               answers = static_cast<std::int64_t>(prompt.answer.size());
    const std::int64_t headDim = config.headDim, queryWidth = config.numHeads * headDim,
                       keyWidth = config.numKvHeads * headDim, inner = config.intermediateSize;
    const double eps = config.rmsNormEps;

    const at::Tensor scale = at::tensor(scales, at::kDouble).requires_grad_(true);
    const at::Tensor positions = at::arange(tokens, at::kDouble).unsqueeze(1);

    at::Tensor x = weights.storedEmbedding
                       ? weights.storedEmbedding->gather(ids)
                       : at::embedding(weights.embedding, at::tensor(ids, at::kLong).to(weights.devices.front()));
    if (config.embeddingScale != 1.0) x = x * at::full({}, config.embeddingScale, x.options());
    for (int index = 0; index < config.numLayers; ++index) {
        if (stop.stop_requested()) throw StopRequested{};
        const LayerWeights& layer = weights.layers[static_cast<std::size_t>(index)];
        const rope::RopeConfig& rope = config.ropeOf(index);
        const at::Device device = weights.devices[static_cast<std::size_t>(index)];
        x = x.to(device);
        const at::Tensor frequencies =
            at::tensor(rope::inverseFrequencies(rope, static_cast<int>(tokens)), at::kDouble);
        const at::Tensor angles = positions / scale[index] * frequencies;
        const at::Tensor cos = (angles.cos() * rope.attentionFactor).to(at::kFloat).to(device);
        const at::Tensor sin = (angles.sin() * rope.attentionFactor).to(at::kFloat).to(device);
        const auto qkv = projectAll(device_kernels::normed(x, layer.attentionNorm, eps), layer.qkv,
                                    {queryWidth, keyWidth, keyWidth});
        at::Tensor queries = qkv[0].contiguous(), keys = qkv[1].contiguous();
        if (config.queryKeyNorm) {
            queries = device_kernels::normed(queries.view({tokens, -1, headDim}), layer.queryNorm, eps)
                          .view({tokens, queryWidth});
            keys =
                device_kernels::normed(keys.view({tokens, -1, headDim}), layer.keyNorm, eps).view({tokens, keyWidth});
        }
        const at::Tensor values = qkv[2].reshape({tokens, config.numKvHeads, headDim}).transpose(0, 1).unsqueeze(0);
        const at::Tensor attended = attention(rotated(queries, headDim, cos, sin), rotated(keys, headDim, cos, sin),
                                              values, attentionRule(config, index));
        at::Tensor delta = project(attended.squeeze(0).transpose(0, 1).reshape({tokens, queryWidth}), layer.output);
        if (config.postNorms) delta = device_kernels::normed(delta, layer.postAttentionNorm, eps);
        x = x + delta;
        const auto gateUp = projectAll(device_kernels::normed(x, layer.mlpNorm, eps), layer.gateUp, {inner, inner});
        delta = project(activated(config.activation, gateUp[0]) * gateUp[1], layer.down);
        if (config.postNorms) delta = device_kernels::normed(delta, layer.postMlpNorm, eps);
        x = x + delta;
    }
    const at::Tensor rows = device_kernels::normed(x.narrow(0, tokens - answers, answers), weights.finalNorm, eps);
    const at::Tensor logits = softcapped(project(rows, weights.head).to(at::kFloat), config.logitSoftcap);
    const at::Tensor logProbs = at::log_softmax(logits.cpu(), 1);
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
