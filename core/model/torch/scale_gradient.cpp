#include "core/model/torch/scale_gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/model/torch/decoder.h"
#include "core/model/torch/differentiable_decoder.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {

ScaleGradient differentiateScales(const ModelConfig& config, const DecoderWeights& weights, const ScoredPrompt& prompt,
                                  const LayerScales& scales, const std::stop_token& stop) {
    const at::AutoGradMode on(true);
    std::vector<std::int64_t> ids(prompt.prompt.begin(), prompt.prompt.end());
    ids.insert(ids.end(), prompt.answer.begin(), prompt.answer.end() - 1);
    const auto tokens = static_cast<std::int64_t>(ids.size()),
               answers = static_cast<std::int64_t>(prompt.answer.size());

    const at::Tensor scale = at::tensor(scales, at::kDouble).requires_grad_(true);
    const at::Tensor positions = at::arange(tokens, at::kDouble).unsqueeze(1);

    at::Tensor x = differentiable::embedded(config, weights, ids);
    for (int index = 0; index < config.numLayers; ++index) {
        if (stop.stop_requested()) throw StopRequested{};
        const rope::RopeConfig& rope = config.ropeOf(index);
        const at::Device device = weights.devices[static_cast<std::size_t>(index)];
        const at::Tensor frequencies =
            at::tensor(rope::inverseFrequencies(rope, static_cast<int>(tokens)), at::kDouble);
        const at::Tensor angles = positions / scale[index] * frequencies;
        const at::Tensor cos = (angles.cos() * rope.attentionFactor).to(at::kFloat).to(device);
        const at::Tensor sin = (angles.sin() * rope.attentionFactor).to(at::kFloat).to(device);
        const auto attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
            return differentiable::attention(differentiable::rotated(q, config.headDim, cos, sin),
                                             differentiable::rotated(k, config.headDim, cos, sin), v,
                                             attentionRule(config, index));
        };
        x = differentiable::layerOutput(config, weights.layers[static_cast<std::size_t>(index)], x.to(device), attend);
    }
    const at::Tensor logits =
        differentiable::logits(config, weights.finalNorm, weights.head, x.narrow(0, tokens - answers, answers));
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
