#include "core/model/torch/scale_gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "core/model/torch/decoder.h"
#include "core/model/torch/differentiable_decoder.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

/// What a method's scales belong to besides their layer.
enum class Per { Layer, KvHead, Frequency };

Per kindOf(const PositionMethod& method) {
    if (!method.headScales.empty()) return Per::KvHead;
    return method.divisors.empty() ? Per::Layer : Per::Frequency;
}

/// [L·n] layer by layer.
std::vector<double> flat(const PositionMethod& method, Per per) {
    if (per == Per::Layer) return method.scales;
    std::vector<double> values;
    for (const std::vector<double>& layer : per == Per::KvHead ? method.headScales : method.divisors)
        values.insert(values.end(), layer.begin(), layer.end());
    return values;
}

/// Where the prompts of a packed pass begin and end.
struct Packed {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> starts, lengths;  ///< [P]
    std::vector<std::int64_t> answerRows, targets;

    explicit Packed(std::span<const ScoredPrompt> batch) {
        for (const ScoredPrompt& item : batch) {
            const auto start = std::ssize(ids);
            starts.push_back(start);
            ids.insert(ids.end(), item.prompt.begin(), item.prompt.end());
            // The last answer id is predicted, not read.
            ids.insert(ids.end(), item.answer.begin(), item.answer.end() - 1);
            lengths.push_back(std::ssize(ids) - start);
            for (std::size_t i = 0; i < item.answer.size(); ++i) {
                answerRows.push_back(start + std::ssize(item.prompt) - 1 + static_cast<std::int64_t>(i));
                targets.push_back(item.answer[i]);
            }
        }
    }
};

/// Angles of one prompt's tokens in one layer: [T, R/2], or [K, T, R/2] per key/value head. `scale` [n].
at::Tensor anglesOf(Per per, std::int64_t tokens, const at::Tensor& scale, const rope::RopeConfig& rope) {
    const at::Tensor positions = at::arange(tokens, at::kDouble).unsqueeze(1);
    const at::Tensor frequencies = at::tensor(rope::inverseFrequencies(rope, static_cast<int>(tokens)), at::kDouble);
    if (per == Per::Frequency) return positions * (frequencies / scale);
    const at::Tensor divided = per == Per::KvHead ? positions / scale.view({-1, 1, 1}) : positions / scale;
    return divided * frequencies;
}

/// Heads of queries read their group's table.
at::Tensor ofQueries(const at::Tensor& table, std::int64_t group) {
    return table.dim() == 3 && group > 1 ? table.repeat_interleave(group, 0) : table;
}

at::Tensor attentionInsidePrompts(const Packed& packed, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const AttentionRule& rule) {
    std::vector<at::Tensor> outputs;
    for (std::size_t i = 0; i < packed.starts.size(); ++i) {
        const auto own = [&](const at::Tensor& all) { return all.narrow(2, packed.starts[i], packed.lengths[i]); };
        outputs.push_back(differentiable::attention(own(q), own(k), own(v), rule));
    }
    return at::cat(outputs, 2);
}

}  // namespace

Result<void> differentiableScales(const PositionMethod& method) {
    const int kinds = !method.scales.empty() + !method.headScales.empty() + !method.divisors.empty();
    if (kinds == 0)
        return fail(ErrorCode::Usage, "there are no scales to differentiate; give one per layer (1 = unchanged)");
    if (kinds > 1 || method.rope || method.slidingRope || method.msPoe || method.buckets || method.moice) {
        return fail(
            ErrorCode::Unsupported,
            "'" + method.text + "' is more than scales by layer, head or frequency; only those have a gradient here");
    }
    return {};
}

std::vector<ScaleGradient> differentiateScales(const ModelConfig& config, const DecoderWeights& weights,
                                               std::span<const ScoredPrompt> batch, const PositionMethod& method,
                                               const std::stop_token& stop) {
    const at::AutoGradMode on(true);
    const Packed packed(batch);
    const Per per = kindOf(method);
    const auto prompts = std::ssize(batch);
    const at::Tensor scales = at::tensor(flat(method, per), at::kDouble)
                                  .view({1, config.numLayers, -1})
                                  .repeat({prompts, 1, 1})
                                  .requires_grad_(true);  // [P, L, n]
    const std::int64_t group = config.numHeads / config.numKvHeads;

    at::Tensor x = differentiable::embedded(config, weights, packed.ids);
    for (int index = 0; index < config.numLayers; ++index) {
        if (stop.stop_requested()) throw StopRequested{};
        const rope::RopeConfig& rope = config.ropeOf(index);
        const at::Device device = weights.devices[static_cast<std::size_t>(index)];
        std::vector<at::Tensor> parts;
        for (std::int64_t i = 0; i < prompts; ++i)
            parts.push_back(anglesOf(per, packed.lengths[static_cast<std::size_t>(i)], scales[i][index], rope));
        const at::Tensor angles = at::cat(parts, -2);
        const at::Tensor cos = (angles.cos() * rope.attentionFactor).to(at::kFloat).to(device);
        const at::Tensor sin = (angles.sin() * rope.attentionFactor).to(at::kFloat).to(device);
        const auto attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
            return attentionInsidePrompts(
                packed, differentiable::rotated(q, config.headDim, ofQueries(cos, group), ofQueries(sin, group)),
                differentiable::rotated(k, config.headDim, cos, sin), v, attentionRule(config, index));
        };
        x = differentiable::layerOutput(config, weights.layers[static_cast<std::size_t>(index)], x.to(device), attend);
    }
    const at::Tensor rows = x.index_select(0, at::tensor(packed.answerRows, at::kLong).to(x.device()));
    const at::Tensor logits = differentiable::logits(config, weights.finalNorm, weights.head, rows);
    const at::Tensor logProbs =
        at::log_softmax(logits.cpu(), 1).gather(1, at::tensor(packed.targets, at::kLong).unsqueeze(1)).squeeze(1);
    std::vector<at::Tensor> losses;
    std::int64_t first = 0;
    for (const ScoredPrompt& item : batch) {
        losses.push_back(-logProbs.narrow(0, first, std::ssize(item.answer)).mean());
        first += std::ssize(item.answer);
    }
    if (stop.stop_requested()) throw StopRequested{};
    at::stack(losses).sum().backward();

    const at::Tensor gradient = scales.grad().view({prompts, -1}).contiguous();
    const std::int64_t size = gradient.size(1);
    std::vector<ScaleGradient> results;
    for (std::int64_t i = 0; i < prompts; ++i) {
        const double* row = gradient.const_data_ptr<double>() + i * size;
        results.push_back({losses[static_cast<std::size_t>(i)].item<double>(), {row, row + size}});
    }
    return results;
}

}  // namespace lpes::model
