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

/// Rows of a packed pass: those that are computed, in the order of SharedPrefixes, then each prompt's copy of the
/// beginning that another computes, so that every prompt has rows of its own.
class PackedRows {
  public:
    PackedRows(std::span<const ScoredPrompt> batch, const SharedPrefixes& shared) : m_distinct(shared.rows()) {
        for (const PackedPrompt& prompt : shared.prompts())
            m_ids.insert(m_ids.end(), prompt.ids.begin(), prompt.ids.end());
        m_places.resize(batch.size());
        for (const auto& [sequence, known, ahead] : shared.beginnings()) {
            Place& place = m_places[sequence];
            place.length = std::ssize(batch[sequence].prompt) + std::ssize(batch[sequence].answer) - 1;
            place.known = static_cast<std::int64_t>(known);
            place.copies = std::ssize(m_ids);
            if (place.known < place.length) place.own = shared.row(sequence, known);
            for (std::size_t position = 0; position < known; ++position) {
                m_originals.push_back(shared.row(sequence, position));
                m_ids.push_back(m_ids[static_cast<std::size_t>(m_originals.back())]);
            }
            m_order.push_back(sequence);
        }
    }

    [[nodiscard]] std::span<const std::int64_t> ids() const { return m_ids; }
    [[nodiscard]] std::int64_t length(std::size_t prompt) const { return m_places[prompt].length; }
    [[nodiscard]] differentiable::RepeatedRows repeated(const at::Device& device) const {
        if (m_originals.empty()) return {};
        return {m_distinct, at::tensor(m_originals, at::kLong).to(device)};
    }
    [[nodiscard]] std::int64_t row(std::size_t prompt, std::int64_t position) const {
        const Place& place = m_places[prompt];
        return position < place.known ? place.copies + position : place.own + position - place.known;
    }
    /// A prompt's rows of `all`, in order of its tokens. Rows are the last dimension but one, here and below.
    [[nodiscard]] at::Tensor of(const at::Tensor& all, std::size_t prompt) const {
        const Place& place = m_places[prompt];
        if (place.known == 0) return all.narrow(-2, place.own, place.length);
        const at::Tensor copies = all.narrow(-2, place.copies, place.known);
        return place.known == place.length
                   ? copies
                   : at::cat({copies, all.narrow(-2, place.own, place.length - place.known)}, -2);
    }
    /// The other way round: all rows, from each prompt's.
    [[nodiscard]] at::Tensor together(const std::vector<at::Tensor>& prompts) const {
        std::vector<at::Tensor> parts;
        const auto add = [&](std::size_t prompt, std::int64_t first, std::int64_t end) {
            if (first < end) parts.push_back(prompts[prompt].narrow(-2, first, end - first));
        };
        for (const std::size_t prompt : m_order) add(prompt, m_places[prompt].known, m_places[prompt].length);
        for (const std::size_t prompt : m_order) add(prompt, 0, m_places[prompt].known);
        return at::cat(parts, -2);
    }

  private:
    struct Place {
        std::int64_t length = 0;
        std::int64_t known = 0;   ///< tokens that another prompt computes
        std::int64_t copies = 0;  ///< row of the first of them
        std::int64_t own = 0;     ///< row of the first behind them
    };
    std::int64_t m_distinct;
    std::vector<std::int64_t> m_ids, m_originals;
    std::vector<std::size_t> m_order;  ///< prompts as SharedPrefixes computes them
    std::vector<Place> m_places;       ///< [P]
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

at::Tensor attentionInsidePrompts(const PackedRows& rows, std::size_t prompts, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v, const AttentionRule& rule) {
    std::vector<at::Tensor> outputs;
    for (std::size_t i = 0; i < prompts; ++i)
        outputs.push_back(differentiable::attention(rows.of(q, i), rows.of(k, i), rows.of(v, i), rule));
    return rows.together(outputs);
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
                                               std::span<const ScoredPrompt> batch, const SharedPrefixes& shared,
                                               const PositionMethod& method, const std::stop_token& stop) {
    const at::AutoGradMode on(true);
    const PackedRows packed(batch, shared);
    const Per per = kindOf(method);
    const auto prompts = std::ssize(batch);
    const at::Tensor scales = at::tensor(flat(method, per), at::kDouble)
                                  .view({1, config.numLayers, -1})
                                  .repeat({prompts, 1, 1})
                                  .requires_grad_(true);  // [P, L, n]
    const std::int64_t group = config.numHeads / config.numKvHeads;

    at::Tensor x = differentiable::embedded(config, weights, packed.ids());
    for (int index = 0; index < config.numLayers; ++index) {
        if (stop.stop_requested()) throw StopRequested{};
        const rope::RopeConfig& rope = config.ropeOf(index);
        const at::Device device = weights.devices[static_cast<std::size_t>(index)];
        std::vector<at::Tensor> parts;
        for (std::int64_t i = 0; i < prompts; ++i)
            parts.push_back(anglesOf(per, packed.length(static_cast<std::size_t>(i)), scales[i][index], rope));
        const at::Tensor angles = packed.together(parts);
        const at::Tensor cos = (angles.cos() * rope.attentionFactor).to(at::kFloat).to(device);
        const at::Tensor sin = (angles.sin() * rope.attentionFactor).to(at::kFloat).to(device);
        const auto attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
            return attentionInsidePrompts(
                packed, batch.size(),
                differentiable::rotated(q, config.headDim, ofQueries(cos, group), ofQueries(sin, group)),
                differentiable::rotated(k, config.headDim, cos, sin), v, attentionRule(config, index));
        };
        x = differentiable::layerOutput(config, weights.layers[static_cast<std::size_t>(index)], x.to(device), attend,
                                        packed.repeated(device));
    }
    std::vector<std::int64_t> answerRows, targets;
    for (std::size_t item = 0; item < batch.size(); ++item) {
        const auto& [prompt, answer] = batch[item];
        for (std::int64_t i = 0; i < std::ssize(answer); ++i)
            answerRows.push_back(packed.row(item, std::ssize(prompt) - 1 + i));
        targets.insert(targets.end(), answer.begin(), answer.end());
    }
    const at::Tensor rows = x.index_select(0, at::tensor(answerRows, at::kLong).to(x.device()));
    const at::Tensor logits = differentiable::logits(config, weights.finalNorm, weights.head, rows);
    const at::Tensor logProbs =
        at::log_softmax(logits.cpu(), 1).gather(1, at::tensor(targets, at::kLong).unsqueeze(1)).squeeze(1);
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
