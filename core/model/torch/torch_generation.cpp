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
        const at::Tensor wide = tensor.narrow(0, first, count).to(at::kCPU, at::kFloat).contiguous();
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

Result<void> TorchSession::setMethod(const PositionMethod& method) {
    if (auto r = rope::checkMethod(method, m_methodModel); !r) return r;
    if (!rope::samePositions(method, m_method)) {
        m_cached = 0;
        const rope::MethodCost cost = rope::methodCost(method);
        m_cache.setCopies(cost.keyCaches, cost.valueCaches);
    }
    m_method = method;
    return {};
}

void TorchSession::resetSequence() {
    m_sequence.clear();
    m_cached = 0;
    m_promptTokens = 0;
    m_cache.clear();
}

Result<std::vector<float>> TorchSession::advance(std::span<const TokenId> ids, std::stop_token stop) {
    const int context = contextLength(m_method);
    if (auto r = checkIds(ids, "continuation", config()); !r) return fail(r.error());
    if (auto r = checkLength(m_sequence.size() + ids.size(), "sequence", context); !r) return fail(r.error());
    if (ids.size() > 1) {
        if (auto r = checkPass(m_method, m_sequence.size() + ids.size(), true); !r) return fail(r.error());
    }
    return computing("generating", m_threads, [&]() -> Result<std::vector<float>> {
        std::vector<TokenId> sequence = m_sequence;
        sequence.insert(sequence.end(), ids.begin(), ids.end());
        const auto length = static_cast<int>(sequence.size());
        const int promptTokens = m_sequence.empty() ? length : m_promptTokens;
        // A longer sequence may be rotated by other frequencies (LongRoPE's long list, dynamic NTK's growing base):
        // then the cached keys are no longer those of this sequence, and all of it is read again. So a text has the
        // same logits whether it was read at once or generated.
        std::vector<int> variants{rope::lengthVariant(rope::methodRope(m_method, m_methodModel, false), length)};
        if (config().slidingRope)
            variants.push_back(rope::lengthVariant(rope::methodRope(m_method, m_methodModel, true), length));
        if (variants != m_variants) m_cached = 0;
        m_cache.reserve(length, m_cached, context);
        if (m_cached == 0) m_ratios.byLayer.clear();
        // Whatever the cache lacks: the new ids, and all that came before when the method changed.
        const auto pending = std::span<const TokenId>(sequence).subspan(static_cast<std::size_t>(m_cached));
        PathRequest request;
        request.prompts = std::span(&pending, 1);
        request.decidingRows.push_back(std::min<std::int64_t>(promptTokens, std::ssize(pending)) - 1);
        request.rows = at::full({1}, std::ssize(pending) - 1, at::kLong);
        request.firstPosition = m_cached;
        request.cache = &m_cache;
        request.kept = &m_ratios;
        const at::Tensor logits = combinedRows(runPaths(request, m_method, stop), m_method).cpu();
        if (const auto checked = reduceLogits(logits, {}); !checked) return fail(checked.error());
        // Only now: a call that was stopped or failed leaves the sequence as it was.
        m_sequence = std::move(sequence);
        m_promptTokens = promptTokens;
        m_cached = length;
        m_variants = std::move(variants);
        const float* values = logits.const_data_ptr<float>();
        return std::vector<float>(values, values + logits.numel());
    });
}

Result<AppliedCheck> TorchSession::verifyApplied(const PositionMethod& method, int maxPosition) {
    // Out of the configuration anew: what is expected must not come from what the session was made with.
    const rope::MethodModel model = methodModel(config());
    if (auto r = rope::checkMethod(method, model); !r) return fail(r.error());
    if (maxPosition < 0 || maxPosition >= contextLength(method)) {
        return fail(ErrorCode::Usage, fmt::format("position {} cannot be probed; the context has positions 0 to {}",
                                                  maxPosition, contextLength(method) - 1));
    }
    return computing("verifying the method", m_threads, [&]() -> Result<AppliedCheck> {
        AppliedCheck check;
        const std::set<int> probes{0,
                                   std::min(1, maxPosition),
                                   std::min(17, maxPosition),
                                   maxPosition / 2,
                                   std::max(0, maxPosition - 1),
                                   maxPosition};
        check.probedPositions.assign(probes.begin(), probes.end());
        const std::int64_t length = maxPosition + 1;
        double amplitude = 1.0;
        const auto compare = [&](int layer, int path, double scale, const RotaryTable& table) {
            const bool sliding = config().slidingRope && config().slides(layer);
            const auto frequencies =
                rope::methodFrequencies(method, model, layer, sliding, static_cast<int>(length), path);
            const double factor = rope::methodRope(method, model, sliding, path).attentionFactor;
            amplitude = std::max(amplitude, factor);
            for (const int position : check.probedPositions) {
                const auto expected = rope::positionTable(frequencies, scale, position, 1, factor);
                const auto actual = readTable(table, position, 1);
                const double error =
                    std::max(largestDifference(actual.cos, expected.cos), largestDifference(actual.sin, expected.sin));
                if (!(error <= check.maxAbsError) || check.worstLayer < 0) {
                    check.maxAbsError = error;
                    check.worstLayer = layer;
                }
            }
        };
        std::vector<RotatedSequence> paths{{length, 0}};
        const std::size_t bases = method.buckets ? method.buckets->bases.size()
                                  : method.moice ? method.moice->bases.size()
                                                 : 1;
        for (std::size_t path = 1; path < bases; ++path) paths.push_back({length, static_cast<int>(path)});
        const auto applied = m_tables.forLayers(method, paths);
        for (int layer = 0; layer < config().numLayers; ++layer) {
            const auto index = static_cast<std::size_t>(layer);
            const double scale = method.scales.empty() ? 1.0 : method.scales[index];
            for (std::size_t path = 0; path < paths.size(); ++path) {
                for (std::size_t head = 0; head < applied[index].heads; ++head) {
                    const double headScale = method.headScales.empty() ? 1.0 : method.headScales[index][head];
                    compare(layer, static_cast<int>(path), scale * headScale, applied[index].of(path, head));
                }
            }
            if (!method.msPoe || !method.msPoe->applies(layer)) continue;
            for (const double ratio : method.msPoe->ratios)
                compare(layer, 0, ratio, m_tables.forScale(method, layer, paths.front(), ratio));
        }
        // Rounding is relative, and YaRN's factor makes the table's entries larger than 1.
        check.verified = check.maxAbsError <=
                         tableRounding(m_model->type) * std::exp2(std::ceil(std::log2(std::max(1.0, amplitude))));
        return check;
    });
}

Result<rope::PositionTable> TorchSession::readBackTable(int layer, const PositionMethod& method, int first, int count) {
    if (auto r = rope::checkMethod(method, m_methodModel); !r) return fail(r.error());
    if (layer < 0 || layer >= config().numLayers) {
        return fail(ErrorCode::Usage, fmt::format("layer {} does not exist; the model has layers 0 to {}", layer,
                                                  config().numLayers - 1));
    }
    if (first < 0 || count < 1 || first > contextLength(method) - count) {
        return fail(ErrorCode::Usage,
                    fmt::format("{} positions from {} cannot be read; the context has positions 0 to {}", count, first,
                                contextLength(method) - 1));
    }
    return computing("reading back a position table", m_threads, [&]() -> Result<rope::PositionTable> {
        const RotatedSequence sequence{std::int64_t{first} + count};
        const auto applied = m_tables.forLayers(method, std::span(&sequence, 1));
        return readTable(applied[static_cast<std::size_t>(layer)].of(0, 0), first, count);
    });
}

}  // namespace lpes::model
