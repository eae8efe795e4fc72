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
        m_sequence.cached = 0;
        const rope::MethodCost cost = rope::methodCost(method);
        m_cache.setCopies(cost.keyCaches, cost.valueCaches);
    }
    m_method = method;
    return {};
}

void TorchSession::resetSequence() {
    m_sequence = {};
    m_cache.clear();
}

Result<void> TorchSession::rewind(int tokens) {
    if (tokens < 0 || tokens > std::ssize(m_sequence.ids)) {
        return fail(ErrorCode::Usage, fmt::format("a sequence of {} tokens cannot be taken back to {}; give 0 to {}",
                                                  m_sequence.ids.size(), tokens, m_sequence.ids.size()));
    }
    const auto kept = static_cast<std::size_t>(tokens);
    m_sequence.ids.resize(kept);
    m_sequence.promptTokens = 0;
    m_sequence.cached = std::min(m_sequence.cached, tokens);
    if (!sharesPrefixes(m_method) || lengthVariants(m_method, m_methodModel, kept) != m_sequence.variants)
        m_sequence.cached = 0;
    return {};
}

void TorchSession::prepareToRead(CachedSequence& sequence, const PositionMethod& method) const {
    if (sequence.promptTokens == 0) sequence.promptTokens = static_cast<int>(sequence.ids.size());
    // A longer sequence may be rotated by other frequencies (LongRoPE's long list, dynamic NTK's growing base): then
    // the cached keys are no longer those of this sequence, and all of it is read again. So a text has the same logits
    // whether it was read at once or generated.
    std::vector<int> variants = lengthVariants(method, m_methodModel, sequence.ids.size());
    if (variants != sequence.variants) sequence.cached = 0;
    sequence.variants = std::move(variants);
    if (sequence.cached == 0) sequence.ratios.byLayer.clear();
}

at::Tensor TorchSession::readOn(std::span<CachedSequence* const> sequences, KvCache& cache,
                                const PositionMethod& method, const std::stop_token& stop) {
    std::vector<PackedPrompt> prompts;
    std::vector<ChosenRatios*> kept;
    std::vector<std::int64_t> lastRows;
    PathRequest request;
    std::int64_t rows = 0;
    for (CachedSequence* sequence : sequences) {
        const auto pending =
            std::span<const TokenId>(sequence->ids).subspan(static_cast<std::size_t>(sequence->cached));
        prompts.push_back({pending, sequence->cached, -1, sequence->slot});
        request.decidingRows.push_back(std::min<std::int64_t>(sequence->promptTokens, std::ssize(pending)) - 1);
        kept.push_back(&sequence->ratios);
        rows += std::ssize(pending);
        lastRows.push_back(rows - 1);
    }
    request.prompts = prompts;
    request.rows = at::tensor(lastRows, at::kLong);
    request.cache = &cache;
    request.kept = kept;
    return combinedRows(runPaths(request, method, stop), method);
}

Result<std::vector<float>> TorchSession::advance(std::span<const TokenId> ids, std::stop_token stop) {
    const int context = contextLength(m_method);
    const std::size_t before = m_sequence.ids.size(), length = before + ids.size();
    if (auto r = checkIds(ids, "continuation", config()); !r) return fail(r.error());
    if (auto r = checkLength(length, "sequence", context); !r) return fail(r.error());
    if (ids.size() > 1) {
        if (auto r = checkPass(m_method, length, true); !r) return fail(r.error());
    }
    const int promptTokens = m_sequence.promptTokens;
    auto logits = computing("generating", m_threads, [&]() -> Result<std::vector<float>> {
        m_sequence.ids.insert(m_sequence.ids.end(), ids.begin(), ids.end());
        prepareToRead(m_sequence, m_method);
        m_cache.reserve(static_cast<int>(length), m_sequence.cached, context);
        CachedSequence* const sequence = &m_sequence;
        const at::Tensor last = readOn(std::span(&sequence, 1), m_cache, m_method, stop).cpu();
        if (const auto checked = reduceLogits(last, {}); !checked) return fail(checked.error());
        m_sequence.cached = static_cast<int>(length);
        const float* values = last.const_data_ptr<float>();
        return std::vector<float>(values, values + last.numel());
    });
    if (!logits) {
        // A call that was stopped or failed leaves the sequence as it was.
        m_sequence.ids.resize(before);
        m_sequence.promptTokens = promptTokens;
    }
    return logits;
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
