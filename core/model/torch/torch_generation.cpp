// The parts of a session that are about state: generation with a KV cache, and reading tables back.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/model/torch/compute_scope.h"
#include "core/model/torch/request_checks.h"
#include "core/model/torch/token_scores.h"
#include "core/model/torch/torch_session.h"

namespace lpes::model {
namespace {

/// cos and sin of a table row range, as the layers see them, widened to float.
rope::PositionTable readTable(const RotaryTable& table, int first, int count) {
    rope::PositionTable result;
    result.count = count;
    result.half = static_cast<int>(table.cos.size(1));
    const auto values = [&](const at::Tensor& tensor) {
        const at::Tensor wide = tensor.narrow(0, first, count).to(at::kFloat).contiguous();
        const float* begin = wide.const_data_ptr<float>();
        return std::vector<float>(begin, begin + wide.numel());
    };
    result.cos = values(table.cos);
    result.sin = values(table.sin);
    return result;
}

double largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        // A NaN must not compare as "no difference".
        if (!(difference <= largest)) largest = difference;
    }
    return largest;
}

/// Half a unit in the last place just below 1: the most that rounding to the compute type may move cos or sin.
double tableRounding(ComputeType type) {
    switch (type) {
        case ComputeType::BFloat16:
            return 0x1p-9;
        case ComputeType::Float16:
            return 0x1p-12;
        case ComputeType::Float32:
            return 0x1p-25;
    }
    return 0x1p-25;
}

}  // namespace

Result<void> TorchSession::setScales(const LayerScales& scales) {
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return r;
    const auto effective = [&](const LayerScales& given) {
        return given.empty() ? LayerScales(static_cast<std::size_t>(config().numLayers), 1.0) : given;
    };
    if (effective(scales) != effective(m_scales)) m_cached = 0;
    m_scales = scales;
    return {};
}

void TorchSession::resetSequence() {
    m_sequence.clear();
    m_cached = 0;
    m_cache.clear();
}

Result<std::vector<float>> TorchSession::advance(std::span<const TokenId> ids, std::stop_token stop) {
    if (auto r = checkIds(ids, "continuation", config()); !r) return fail(r.error());
    if (auto r = checkLength(m_sequence.size() + ids.size(), "sequence", config()); !r) return fail(r.error());
    if (ids.size() > 1) {
        if (auto r = checkMemory(m_sequence.size() + ids.size(), true); !r) return fail(r.error());
    }
    return computing("generating", m_threads, [&]() -> Result<std::vector<float>> {
        std::vector<TokenId> sequence = m_sequence;
        sequence.insert(sequence.end(), ids.begin(), ids.end());
        const auto length = static_cast<int>(sequence.size());
        // A longer sequence may be rotated by other frequencies (LongRoPE's long list, dynamic NTK's growing base):
        // then the cached keys are no longer those of this sequence, and all of it is read again. So a text has the
        // same logits whether it was read at once or generated.
        std::vector<int> variants{rope::lengthVariant(config().rope, length)};
        if (config().slidingRope) variants.push_back(rope::lengthVariant(*config().slidingRope, length));
        if (variants != m_variants) m_cached = 0;
        m_cache.reserve(length, m_cached);
        // Whatever the cache lacks: the new ids, and all that came before when the scales changed.
        const auto pending = std::span<const TokenId>(sequence).subspan(static_cast<std::size_t>(m_cached));
        PackedTokens tokens = m_decoder.embed(std::span(&pending, 1), m_cached);
        const at::Tensor lastRow = at::full({1}, static_cast<std::int64_t>(pending.size()) - 1, at::kLong);
        m_decoder.runLayers(tokens, tables(m_scales, sequence.size()), stop, &m_cache, lastRow);
        const at::Tensor logits = m_decoder.logits(tokens.hidden);
        if (const auto checked = reduceLogits(logits, {}); !checked) return fail(checked.error());
        // Only now: a call that was stopped or failed leaves the sequence as it was.
        m_sequence = std::move(sequence);
        m_cached = length;
        m_variants = std::move(variants);
        const float* values = logits.const_data_ptr<float>();
        return std::vector<float>(values, values + logits.numel());
    });
}

Result<AppliedCheck> TorchSession::verifyApplied(const LayerScales& scales, int maxPosition) {
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    if (maxPosition < 0 || maxPosition >= config().contextLength) {
        return fail(ErrorCode::Usage,
                    fmt::format("position {} cannot be probed; the model's context has positions 0 to {}", maxPosition,
                                config().contextLength - 1));
    }
    return computing("verifying the scales", m_threads, [&]() -> Result<AppliedCheck> {
        AppliedCheck check;
        const std::set<int> probes{0,
                                   std::min(1, maxPosition),
                                   std::min(17, maxPosition),
                                   maxPosition / 2,
                                   std::max(0, maxPosition - 1),
                                   maxPosition};
        check.probedPositions.assign(probes.begin(), probes.end());
        const auto applied = tables(scales, static_cast<std::size_t>(maxPosition) + 1);
        for (int layer = 0; layer < config().numLayers; ++layer) {
            const double scale = scales.empty() ? 1.0 : scales[static_cast<std::size_t>(layer)];
            for (const int position : check.probedPositions) {
                const rope::RopeConfig& rope = config().ropeOf(layer);
                const auto expected = rope::positionTable(rope::inverseFrequencies(rope, maxPosition + 1), scale,
                                                          position, 1, rope.attentionFactor);
                const auto actual = readTable(applied[static_cast<std::size_t>(layer)], position, 1);
                const double error =
                    std::max(largestDifference(actual.cos, expected.cos), largestDifference(actual.sin, expected.sin));
                if (!(error <= check.maxAbsError) || check.worstLayer < 0) {
                    check.maxAbsError = error;
                    check.worstLayer = layer;
                }
            }
        }
        // Rounding is relative, and YaRN's factor makes the table's entries larger than 1.
        double amplitude = config().rope.attentionFactor;
        if (config().slidingRope) amplitude = std::max(amplitude, config().slidingRope->attentionFactor);
        check.verified = check.maxAbsError <=
                         tableRounding(m_model->type) * std::exp2(std::ceil(std::log2(std::max(1.0, amplitude))));
        return check;
    });
}

Result<rope::PositionTable> TorchSession::readBackTable(int layer, const LayerScales& scales, int first, int count) {
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    if (layer < 0 || layer >= config().numLayers) {
        return fail(ErrorCode::Usage, fmt::format("layer {} does not exist; the model has layers 0 to {}", layer,
                                                  config().numLayers - 1));
    }
    if (first < 0 || count < 1 || first > config().contextLength - count) {
        return fail(ErrorCode::Usage,
                    fmt::format("{} positions from {} cannot be read; the model's context has positions 0 "
                                "to {}",
                                count, first, config().contextLength - 1));
    }
    return computing("reading back a position table", m_threads, [&]() -> Result<rope::PositionTable> {
        const auto applied = tables(scales, static_cast<std::size_t>(first) + static_cast<std::size_t>(count));
        return readTable(applied[static_cast<std::size_t>(layer)], first, count);
    });
}

}  // namespace lpes::model
