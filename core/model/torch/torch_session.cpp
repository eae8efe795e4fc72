#include "core/model/torch/torch_session.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/model/torch/attention_probe.h"
#include "core/model/torch/compute_scope.h"
#include "core/model/torch/representation.h"
#include "core/model/torch/representation_reference.h"
#include "core/model/torch/request_checks.h"
#include "core/model/torch/scale_gradient.h"
#include "core/model/torch/token_scores.h"

namespace lpes::model {
namespace {

/// Rows of logits that exist at one time.
constexpr std::int64_t kHeadRows = 128;
constexpr std::size_t kMinComparedRows = 3;

tl::unexpected<Error> tooFewRows(int layer, std::size_t compared, std::size_t promptTokens) {
    return fail(ErrorCode::Usage,
                fmt::format("layer {} has only {} tokens to compare in a prompt of {}; use a longer prompt", layer,
                            compared, promptTokens));
}

at::Tensor indexTensor(const std::vector<std::int64_t>& values) {
    return at::tensor(values, at::kLong);
}

}  // namespace

TorchSession::TorchSession(std::shared_ptr<const LoadedModel> model, int threads)
    : m_model(std::move(model)),
      m_threads(std::max(1, threads)),
      m_decoder(m_model->config, m_model->weights, m_workspace),
      m_tables(m_model->config, scalarType(m_model->type), m_model->weights.devices),
      m_cache(m_model->config, scalarType(m_model->type), m_model->weights.devices) {}

Result<void> TorchSession::checkMemory(std::size_t tokens, bool cached) const {
    // A GPU's memory is LibTorch's to count: what does not fit there is reported when it happens.
    if (!m_model->weights.devices.front().is_cpu()) return {};
    return checkMemoryFor(tokens, cached, config(), m_model->type);
}

std::vector<RotaryTable> TorchSession::tables(const LayerScales& scales, std::size_t positions) {
    const auto length = static_cast<std::int64_t>(positions);
    return m_tables.forLayers(scales, std::span(&length, 1));
}

std::vector<RotaryTable> TorchSession::tables(const LayerScales& scales, std::span<const Segment> prompts) {
    std::vector<std::int64_t> lengths;
    for (const Segment& prompt : prompts) lengths.push_back(prompt.length);
    return m_tables.forLayers(scales, lengths);
}

PackedTokens TorchSession::run(std::span<const TokenId> ids, const LayerScales& scales, const std::stop_token& stop,
                               const AttentionObserver& observer) {
    PackedTokens tokens = m_decoder.embed(std::span(&ids, 1), 0);
    m_decoder.runLayers(tokens, tables(scales, ids.size()), stop, nullptr, {}, observer);
    return tokens;
}

Result<std::vector<AnswerScore>> TorchSession::scoreAnswers(std::span<const ScoredPrompt> batch,
                                                            const LayerScales& scales, std::stop_token stop) {
    if (batch.empty()) return fail(ErrorCode::Usage, "there are no prompts to score; give at least one");
    std::size_t tokensInAll = 0;
    for (const ScoredPrompt& item : batch) {
        if (auto r = checkScoredPrompt(item, config()); !r) return fail(r.error());
        tokensInAll += item.prompt.size() + item.answer.size();
    }
    if (auto r = checkMemory(tokensInAll, false); !r) return fail(r.error());
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    return computing("scoring answers", m_threads, [&]() -> Result<std::vector<AnswerScore>> {
        // The last answer id is predicted, not read.
        std::vector<std::vector<TokenId>> sequences;
        std::vector<std::int64_t> rows;
        std::vector<TokenId> targets;
        std::size_t begin = 0;
        for (const ScoredPrompt& item : batch) {
            std::vector<TokenId>& ids = sequences.emplace_back(item.prompt);
            ids.insert(ids.end(), item.answer.begin(), item.answer.end() - 1);
            for (std::size_t i = 0; i < item.answer.size(); ++i) {
                rows.push_back(static_cast<std::int64_t>(begin + item.prompt.size() - 1 + i));
                targets.push_back(item.answer[i]);
            }
            begin += ids.size();
        }
        const std::vector<std::span<const TokenId>> prompts(sequences.begin(), sequences.end());
        PackedTokens tokens = m_decoder.embed(prompts, 0);
        m_decoder.runLayers(tokens, tables(scales, tokens.segments), stop, nullptr, indexTensor(rows));

        std::vector<RowScore> scores;
        for (std::int64_t first = 0; first < tokens.hidden.size(0); first += kHeadRows) {
            if (stop.stop_requested()) throw StopRequested{};
            const std::int64_t count = std::min(kHeadRows, tokens.hidden.size(0) - first);
            const auto part = reduceLogits(
                m_decoder.logits(tokens.hidden.narrow(0, first, count)),
                std::span(targets).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
            if (!part) return fail(part.error());
            scores.insert(scores.end(), part->begin(), part->end());
        }

        std::vector<AnswerScore> answers;
        auto score = scores.begin();
        for (const ScoredPrompt& item : batch) {
            AnswerScore& answer = answers.emplace_back();
            answer.allArgmax = true;
            double sum = 0.0;
            for (const TokenId target : item.answer) {
                answer.logProbs.push_back(score->targetLogit - score->logSumExp);
                answer.allArgmax = answer.allArgmax && score->argmax == target;
                sum += answer.logProbs.back();
                ++score;
            }
            answer.meanNll = -sum / static_cast<double>(item.answer.size());
        }
        return answers;
    });
}

Result<TextScore> TorchSession::scoreText(std::span<const TokenId> ids, const LayerScales& scales, int top,
                                          std::stop_token stop) {
    if (auto r = checkIds(ids, "text", config()); !r) return fail(r.error());
    if (auto r = checkLength(ids.size(), "text", config()); !r) return fail(r.error());
    if (auto r = checkMemory(ids.size(), false); !r) return fail(r.error());
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    if (top < 0)
        return fail(ErrorCode::Usage, fmt::format("the number of top tokens is {}; it must not be negative", top));
    return computing("scoring a text", m_threads, [&]() -> Result<TextScore> {
        const PackedTokens tokens = run(ids, scales, stop);
        TextScore result;
        for (std::int64_t first = 0; first < tokens.hidden.size(0); first += kHeadRows) {
            if (stop.stop_requested()) throw StopRequested{};
            const std::int64_t count = std::min(kHeadRows, tokens.hidden.size(0) - first);
            std::vector<TokenId> targets;
            for (std::int64_t row = first + 1; row <= first + count; ++row) {
                targets.push_back(row < tokens.hidden.size(0) ? ids[static_cast<std::size_t>(row)] : -1);
            }
            const at::Tensor logits = m_decoder.logits(tokens.hidden.narrow(0, first, count));
            const auto scores = reduceLogits(logits, targets);
            if (!scores) return fail(scores.error());
            for (std::size_t i = 0; i < scores->size(); ++i) {
                const RowScore& score = (*scores)[i];
                result.argmax.push_back(score.argmax);
                if (targets[i] >= 0) result.logProbs.push_back(score.targetLogit - score.logSumExp);
            }
            if (first + count == tokens.hidden.size(0)) {
                const at::Tensor last = logits[count - 1];
                result.topAtEnd = topTokens({last.const_data_ptr<float>(), static_cast<std::size_t>(last.numel())},
                                            scores->back().logSumExp, top);
            }
        }
        return result;
    });
}

Result<AttentionProbe> TorchSession::attentionOfLastToken(std::span<const TokenId> prompt,
                                                          std::span<const TokenSpan> spans, const LayerScales& scales,
                                                          std::stop_token stop) {
    if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(prompt.size(), "prompt", config()); !r) return fail(r.error());
    if (auto r = checkMemory(prompt.size(), false); !r) return fail(r.error());
    if (auto r = checkSpans(spans, prompt.size()); !r) return fail(r.error());
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    return computing("measuring attention", m_threads, [&]() -> Result<AttentionProbe> {
        AttentionProbe probe;
        (void)run(prompt, scales, stop,
                  [&](int, const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule) {
                      probeLastRow(queries, keys, rule, spans, probe);
                  });
        return probe;
    });
}

Result<RepresentationComparison> TorchSession::compareRepresentations(std::span<const TokenId> prompt,
                                                                      const LayerScales& reference,
                                                                      const LayerScales& scales, std::stop_token stop) {
    if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(prompt.size(), "prompt", config()); !r) return fail(r.error());
    if (auto r = checkMemory(prompt.size(), false); !r) return fail(r.error());
    for (const LayerScales* checked : {&reference, &scales}) {
        if (auto r = rope::checkScales(*checked, config().numLayers); !r) return fail(r.error());
    }
    return computing("comparing representations", m_threads, [&]() -> Result<RepresentationComparison> {
        // In step, layer by layer: the hidden states of two layers exist at a time, not of all.
        PackedTokens one = m_decoder.embed(std::span(&prompt, 1), 0), other = one;
        other.hidden = one.hidden.clone();
        const auto tablesOne = tables(reference, prompt.size()), tablesOther = tables(scales, prompt.size());
        RepresentationComparison result;
        for (int layer = 0; layer < config().numLayers; ++layer) {
            if (stop.stop_requested()) throw StopRequested{};
            m_decoder.runLayer(layer, one, tablesOne[static_cast<std::size_t>(layer)]);
            Decoder::settle(one);
            m_decoder.runLayer(layer, other, tablesOther[static_cast<std::size_t>(layer)]);
            Decoder::settle(other);
            const at::Tensor first = one.hidden.cpu(), second = other.hidden.cpu();
            const at::Tensor rows = comparedRows(first);
            if (static_cast<std::size_t>(rows.numel()) < kMinComparedRows) {
                return tooFewRows(layer, static_cast<std::size_t>(rows.numel()), prompt.size());
            }
            const at::Tensor x = first.index_select(0, rows), y = second.index_select(0, rows);
            result.deviation.push_back(1.0 - linearCka(x, y));
            result.rsa.push_back(distanceRankCorrelation(x, y));
            result.meanCosine.push_back(meanCosine(x, y));
        }
        return result;
    });
}

Result<std::shared_ptr<const RepresentationReference>> TorchSession::referenceRepresentation(
    std::span<const TokenId> prompt, const LayerScales& scales, std::stop_token stop) {
    if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(prompt.size(), "prompt", config()); !r) return fail(r.error());
    if (auto r = checkMemory(prompt.size(), false); !r) return fail(r.error());
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    return computing("keeping representations", m_threads,
                     [&]() -> Result<std::shared_ptr<const RepresentationReference>> {
                         auto reference = std::make_shared<TorchReference>(m_model, static_cast<int>(prompt.size()));
                         PackedTokens tokens = m_decoder.embed(std::span(&prompt, 1), 0);
                         const auto layerTables = tables(scales, prompt.size());
                         for (int layer = 0; layer < config().numLayers; ++layer) {
                             if (stop.stop_requested()) throw StopRequested{};
                             m_decoder.runLayer(layer, tokens, layerTables[static_cast<std::size_t>(layer)]);
                             Decoder::settle(tokens);
                             reference->add(tokens.hidden.cpu());
                             const auto kept = static_cast<std::size_t>(reference->layers().back().comparedTokens());
                             if (kept < kMinComparedRows) return tooFewRows(layer, kept, prompt.size());
                         }
                         return reference;
                     });
}

Result<std::vector<PromptProbe>> TorchSession::probePrompts(std::span<const ProbedPrompt> batch,
                                                            const LayerScales& scales, std::stop_token stop) {
    if (batch.empty()) return fail(ErrorCode::Usage, "there are no prompts to probe; give at least one");
    std::size_t tokensInAll = 0;
    for (const ProbedPrompt& item : batch) {
        if (auto r = checkProbedPrompt(item); !r) return fail(r.error());
        tokensInAll += item.prompt.size();
    }
    if (auto r = checkMemory(tokensInAll, false); !r) return fail(r.error());
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    return computing("probing prompts", m_threads, [&]() -> Result<std::vector<PromptProbe>> {
        std::vector<std::span<const TokenId>> prompts;
        bool compares = false;
        for (const ProbedPrompt& item : batch) {
            prompts.emplace_back(item.prompt);
            compares = compares || item.reference;
        }
        PackedTokens tokens = m_decoder.embed(prompts, 0);
        const std::vector<Segment> segments = tokens.segments;
        const auto layerTables = tables(scales, segments);
        std::vector<PromptProbe> probes(batch.size());
        const AttentionObserver observer = [&](int, const at::Tensor& queries, const at::Tensor& keys,
                                               const AttentionRule& rule) {
            for (std::size_t i = 0; i < batch.size(); ++i) {
                probeLastRow(queries.narrow(1, segments[i].begin, segments[i].length),
                             keys.narrow(1, segments[i].begin, segments[i].length), rule, batch[i].spans,
                             probes[i].attention);
            }
        };
        const at::Tensor anyRow = indexTensor({0});
        for (int layer = 0; layer < config().numLayers; ++layer) {
            if (stop.stop_requested()) throw StopRequested{};
            const auto index = static_cast<std::size_t>(layer);
            // Attention alone needs nothing of the last layer's output.
            const bool last = !compares && layer + 1 == config().numLayers;
            m_decoder.runLayer(layer, tokens, layerTables[index], nullptr, last ? anyRow : at::Tensor(), observer);
            if (!compares) continue;
            Decoder::settle(tokens);
            for (std::size_t i = 0; i < batch.size(); ++i) {
                if (!batch[i].reference) continue;
                const auto& kept = static_cast<const TorchReference&>(*batch[i].reference);
                probes[i].deviation.push_back(kept.layers()[index].deviation(
                    tokens.hidden.narrow(0, segments[i].begin, segments[i].length).cpu()));
            }
        }
        return probes;
    });
}

Result<void> TorchSession::checkProbedPrompt(const ProbedPrompt& item) const {
    if (auto r = checkIds(item.prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(item.prompt.size(), "prompt", config()); !r) return fail(r.error());
    if (auto r = checkSpans(item.spans, item.prompt.size()); !r) return fail(r.error());
    if (!item.reference) return {};
    const auto* kept = dynamic_cast<const TorchReference*>(item.reference.get());
    if (!kept || !kept->belongsTo(m_model.get())) {
        return fail(ErrorCode::Usage, "the reference representation is of another model; make it anew");
    }
    if (kept->promptTokens() != static_cast<int>(item.prompt.size())) {
        return fail(ErrorCode::Usage,
                    fmt::format("the reference representation is of a prompt of {} tokens, this one has {}",
                                kept->promptTokens(), item.prompt.size()));
    }
    return {};
}

Result<ScaleGradient> TorchSession::scaleGradient(const ScoredPrompt& prompt, const LayerScales& scales,
                                                  std::stop_token stop) {
    if (auto r = checkScoredPrompt(prompt, config()); !r) return fail(r.error());
    if (scales.empty()) {
        return fail(ErrorCode::Usage, "there are no scales to differentiate; give one per layer (1 = unchanged)");
    }
    if (auto r = rope::checkScales(scales, config().numLayers); !r) return fail(r.error());
    if (m_model->weights.devices.front().is_cpu()) {
        const std::size_t tokens = prompt.prompt.size() + prompt.answer.size();
        if (auto r = checkGradientMemory(tokens, config(), m_model->type); !r) return fail(r.error());
    }
    return guarded("differentiating the scales", [&]() -> Result<ScaleGradient> {
        at::set_num_threads(m_threads);
        const c10::InferenceMode off(false);
        return differentiateScales(config(), m_model->weights, prompt, scales, stop);
    });
}

}  // namespace lpes::model
