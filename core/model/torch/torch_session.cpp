#include "core/model/torch/torch_session.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/model/torch/attention_probe.h"
#include "core/model/torch/bucket_logits.h"
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
      m_methodModel(methodModel(m_model->config)),
      m_threads(std::max(1, threads)),
      m_decoder(m_model->config, m_model->weights, m_workspace),
      m_tables(m_model->config, scalarType(m_model->type), m_model->weights.devices),
      m_cache(m_model->config, scalarType(m_model->type), m_model->weights.devices) {}

Result<void> TorchSession::checkPass(const PositionMethod& method, std::size_t tokensInAll, bool cached) const {
    if (auto r = rope::checkMethod(method, m_methodModel); !r) return r;
    // A GPU's memory is LibTorch's to count: what does not fit there is reported when it happens.
    if (!m_model->weights.devices.front().is_cpu()) return {};
    return checkMemoryFor(tokensInAll, cached, method, config(), m_model->type);
}

int TorchSession::contextLength(const PositionMethod& method) const {
    return rope::contextLength(method, m_methodModel);
}

std::unique_ptr<AttentionStep> TorchSession::step(const PositionMethod& method,
                                                  std::span<const RotatedSequence> sequences,
                                                  std::span<const std::int64_t> decidingRows,
                                                  std::span<ChosenRatios* const> kept) {
    if (method.moice && (!m_moice || m_moice->routers != method.moice))
        m_moice = MoiceWeights::make(method.moice, m_model->weights.devices);
    return makeAttentionStep(method, {config(), m_tables, sequences, decidingRows, kept, m_moice});
}

PackedTokens TorchSession::run(std::span<const TokenId> ids, const PositionMethod& method, const std::stop_token& stop,
                               const AttentionObserver& observer) {
    PackedTokens tokens = m_decoder.embed(ids);
    const RotatedSequence sequence{static_cast<std::int64_t>(ids.size())};
    const std::int64_t last = sequence.length - 1;
    m_decoder.runLayers(tokens, *step(method, std::span(&sequence, 1), std::span(&last, 1)), stop, nullptr, {},
                        observer);
    return tokens;
}

at::Tensor TorchSession::runPaths(const PathRequest& request, const PositionMethod& method,
                                  const std::stop_token& stop) {
    std::int64_t rows = 0;
    for (const PackedPrompt& prompt : request.prompts) rows += std::ssize(prompt.ids);
    const std::int64_t paths = rope::methodCost(method).passes;
    const std::int64_t most = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(kMostRowsTogether) / std::max<std::int64_t>(1, rows), 1, paths);
    // States are of one path whose tables were known before the pass; nothing else asks for them.
    const bool plain = !method.msPoe && !method.buckets && !method.moice;
    std::vector<at::Tensor> parts;
    for (std::int64_t first = 0; first < paths; first += most) {
        const std::int64_t together = std::min(most, paths - first);
        std::vector<RotatedSequence> sequences;
        std::vector<std::int64_t> deciding;
        for (std::int64_t path = first; path < first + together; ++path) {
            for (const PackedPrompt& prompt : request.prompts)
                sequences.push_back({prompt.length(), static_cast<int>(path)});
            deciding.insert(deciding.end(), request.decidingRows.begin(), request.decidingRows.end());
        }
        PackedTokens tokens = m_decoder.embed(request.prompts, together, first);
        at::Tensor wanted = request.rows;
        if (wanted.defined() && together > 1) {
            wanted = (wanted.unsqueeze(0) + at::arange(together, at::kLong).unsqueeze(1) * rows).flatten();
        }
        m_decoder.runLayers(tokens, *step(method, sequences, deciding, request.kept), stop, request.cache, wanted, {},
                            plain ? request.leading : nullptr);
        parts.push_back(tokens.hidden.view({together, -1, config().hiddenSize}));
    }
    return parts.size() == 1 ? parts.front() : at::cat(parts);
}

at::Tensor TorchSession::combinedRows(const at::Tensor& hidden, const PositionMethod& method) const {
    if (!method.buckets) return m_decoder.logitsOnDevice(hidden[0]);
    std::vector<at::Tensor> paths;
    for (std::int64_t path = 0; path < hidden.size(0); ++path)
        paths.push_back(m_decoder.logitsOnDevice(hidden[path].contiguous()).clone());
    return combinedLogits(at::stack(paths), method.buckets->combine);
}

Result<std::vector<AnswerScore>> TorchSession::scoreAnswers(std::span<const ScoredPrompt> batch,
                                                            const PositionMethod& method, std::stop_token stop,
                                                            const ScoreOptions& options) {
    if (batch.empty()) return fail(ErrorCode::Usage, "there are no prompts to score; give at least one");
    for (const ScoredPrompt& item : batch) {
        if (auto r = checkScoredPrompt(item, config(), contextLength(method)); !r) return fail(r.error());
    }
    if (auto r = rope::checkMethod(method, m_methodModel); !r) return fail(r.error());
    const std::vector<std::vector<TokenId>> sequences = scoredSequences(batch);
    const SharedPrefixes shared = sharedPrefixes(sequences, method, m_methodModel, options.sharePrefixes);
    // A key and its value take less than half of what a token takes.
    const std::int64_t copied = shared.keys() - shared.rows();
    const auto tokens = static_cast<std::size_t>(shared.rows() + (copied + 1) / 2);
    if (auto r = checkPass(method, tokens + batch.size(), false); !r) return fail(r.error());
    return computing("scoring answers", m_threads, [&]() -> Result<std::vector<AnswerScore>> {
        std::vector<std::int64_t> rows;
        std::vector<TokenId> targets;
        PathRequest request;
        for (std::size_t item = 0; item < batch.size(); ++item) {
            for (std::size_t i = 0; i < batch[item].answer.size(); ++i) {
                rows.push_back(shared.row(item, batch[item].prompt.size() - 1 + i));
                targets.push_back(batch[item].answer[i]);
            }
            // Read by methods alone under which every item has a prompt of its own.
            request.decidingRows.push_back(std::ssize(batch[item].prompt) - 1);
        }
        request.prompts = shared.prompts();
        request.decidingRows.resize(request.prompts.size());
        request.rows = indexTensor(rows);
        request.leading = options.leading;
        const at::Tensor hidden = runPaths(request, method, stop);

        std::vector<RowScore> scores;
        for (std::int64_t first = 0; first < hidden.size(1); first += kHeadRows) {
            if (stop.stop_requested()) throw StopRequested{};
            const std::int64_t count = std::min(kHeadRows, hidden.size(1) - first);
            const auto part = reduceLogits(
                combinedRows(hidden.narrow(1, first, count), method),
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

Result<TextScore> TorchSession::scoreText(std::span<const TokenId> ids, const PositionMethod& method, int top,
                                          std::stop_token stop) {
    if (auto r = checkIds(ids, "text", config()); !r) return fail(r.error());
    if (auto r = checkLength(ids.size(), "text", contextLength(method)); !r) return fail(r.error());
    if (auto r = checkPass(method, ids.size(), false); !r) return fail(r.error());
    if (top < 0)
        return fail(ErrorCode::Usage, fmt::format("the number of top tokens is {}; it must not be negative", top));
    return computing("scoring a text", m_threads, [&]() -> Result<TextScore> {
        PathRequest request;
        const PackedPrompt whole{ids};
        request.prompts = std::span(&whole, 1);
        request.decidingRows.push_back(static_cast<std::int64_t>(ids.size()) - 1);
        const at::Tensor hidden = runPaths(request, method, stop);
        TextScore result;
        for (std::int64_t first = 0; first < hidden.size(1); first += kHeadRows) {
            if (stop.stop_requested()) throw StopRequested{};
            const std::int64_t count = std::min(kHeadRows, hidden.size(1) - first);
            std::vector<TokenId> targets;
            for (std::int64_t row = first + 1; row <= first + count; ++row) {
                targets.push_back(row < hidden.size(1) ? ids[static_cast<std::size_t>(row)] : -1);
            }
            const at::Tensor logits = combinedRows(hidden.narrow(1, first, count), method);
            const auto scores = reduceLogits(logits, targets);
            if (!scores) return fail(scores.error());
            for (std::size_t i = 0; i < scores->size(); ++i) {
                const RowScore& score = (*scores)[i];
                result.argmax.push_back(score.argmax);
                if (targets[i] >= 0) result.logProbs.push_back(score.targetLogit - score.logSumExp);
            }
            if (first + count == hidden.size(1)) {
                const at::Tensor last = logits[count - 1].cpu();
                result.topAtEnd = topTokens({last.const_data_ptr<float>(), static_cast<std::size_t>(last.numel())},
                                            scores->back().logSumExp, top);
            }
        }
        return result;
    });
}

Result<RepresentationComparison> TorchSession::compareRepresentations(std::span<const TokenId> prompt,
                                                                      const PositionMethod& reference,
                                                                      const PositionMethod& method,
                                                                      std::stop_token stop) {
    if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(prompt.size(), "prompt", contextLength(method)); !r) return fail(r.error());
    for (const PositionMethod* checked : {&reference, &method}) {
        if (auto r = rope::requireOneAttention(*checked, "representation structure deviation"); !r)
            return fail(r.error());
        if (auto r = checkPass(*checked, prompt.size(), false); !r) return fail(r.error());
    }
    return computing("comparing representations", m_threads, [&]() -> Result<RepresentationComparison> {
        // In step, layer by layer: the hidden states of two layers exist at a time, not of all.
        PackedTokens one = m_decoder.embed(prompt), other = one;
        other.hidden = one.hidden.clone();
        const RotatedSequence sequence{static_cast<std::int64_t>(prompt.size())};
        const std::int64_t last = sequence.length - 1;
        const auto stepOne = step(reference, std::span(&sequence, 1), std::span(&last, 1));
        const auto stepOther = step(method, std::span(&sequence, 1), std::span(&last, 1));
        RepresentationComparison result;
        for (int layer = 0; layer < config().numLayers; ++layer) {
            if (stop.stop_requested()) throw StopRequested{};
            m_decoder.runLayer(layer, one, *stepOne);
            Decoder::settle(one);
            m_decoder.runLayer(layer, other, *stepOther);
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
    std::span<const TokenId> prompt, const PositionMethod& method, std::stop_token stop) {
    if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(prompt.size(), "prompt", contextLength(method)); !r) return fail(r.error());
    if (auto r = rope::requireOneAttention(method, "representation structure deviation"); !r) return fail(r.error());
    if (auto r = checkPass(method, prompt.size(), false); !r) return fail(r.error());
    return computing("keeping representations", m_threads,
                     [&]() -> Result<std::shared_ptr<const RepresentationReference>> {
                         auto reference = std::make_shared<TorchReference>(m_model, static_cast<int>(prompt.size()));
                         PackedTokens tokens = m_decoder.embed(prompt);
                         const RotatedSequence sequence{static_cast<std::int64_t>(prompt.size())};
                         const std::int64_t last = sequence.length - 1;
                         const auto attention = step(method, std::span(&sequence, 1), std::span(&last, 1));
                         for (int layer = 0; layer < config().numLayers; ++layer) {
                             if (stop.stop_requested()) throw StopRequested{};
                             m_decoder.runLayer(layer, tokens, *attention);
                             Decoder::settle(tokens);
                             reference->add(tokens.hidden.cpu());
                             const auto kept = static_cast<std::size_t>(reference->layers().back().comparedTokens());
                             if (kept < kMinComparedRows) return tooFewRows(layer, kept, prompt.size());
                         }
                         return reference;
                     });
}

Result<std::vector<PromptProbe>> TorchSession::probePrompts(std::span<const ProbedPrompt> batch,
                                                            const PositionMethod& method, std::stop_token stop) {
    if (batch.empty()) return fail(ErrorCode::Usage, "there are no prompts to probe; give at least one");
    std::size_t tokensInAll = 0;
    for (const ProbedPrompt& item : batch) {
        if (auto r = checkProbedPrompt(item, method); !r) return fail(r.error());
        tokensInAll += item.prompt.size();
    }
    if (auto r = rope::requireOneAttention(method, "attention by position"); !r) return fail(r.error());
    if (auto r = checkPass(method, tokensInAll, false); !r) return fail(r.error());
    return computing("probing prompts", m_threads, [&]() -> Result<std::vector<PromptProbe>> {
        std::vector<PackedPrompt> prompts;
        bool compares = false;
        for (const ProbedPrompt& item : batch) {
            prompts.push_back({item.prompt});
            compares = compares || item.reference;
        }
        PackedTokens tokens = m_decoder.embed(prompts);
        const std::vector<Segment> segments = tokens.segments;
        std::vector<RotatedSequence> sequences;
        std::vector<std::int64_t> lastRows;
        for (const Segment& segment : segments) {
            sequences.push_back({segment.length});
            lastRows.push_back(segment.length - 1);
        }
        const auto attention = step(method, sequences, lastRows);
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
            m_decoder.runLayer(layer, tokens, *attention, nullptr, last ? anyRow : at::Tensor(), observer);
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

Result<void> TorchSession::checkProbedPrompt(const ProbedPrompt& item, const PositionMethod& method) const {
    if (auto r = checkIds(item.prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(item.prompt.size(), "prompt", contextLength(method)); !r) return fail(r.error());
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

Result<std::vector<ScaleGradient>> TorchSession::scaleGradients(std::span<const ScoredPrompt> batch,
                                                                const PositionMethod& method, std::stop_token stop,
                                                                const GradientOptions& options) {
    if (batch.empty()) return fail(ErrorCode::Usage, "there are no prompts to differentiate; give at least one");
    std::size_t tokens = 0;
    for (const ScoredPrompt& item : batch) {
        if (auto r = checkScoredPrompt(item, config(), contextLength(method)); !r) return fail(r.error());
        tokens += item.prompt.size() + item.answer.size();
    }
    if (auto r = differentiableScales(method); !r) return fail(r.error());
    if (auto r = rope::checkMethod(method, m_methodModel); !r) return fail(r.error());
    if (m_model->weights.devices.front().is_cpu()) {
        if (auto r = checkGradientMemory(tokens, config(), m_model->type); !r) return fail(r.error());
    }
    return guarded("differentiating the scales", [&]() -> Result<std::vector<ScaleGradient>> {
        at::set_num_threads(m_threads);
        const c10::InferenceMode off(false);
        const std::vector<std::vector<TokenId>> sequences = scoredSequences(batch);
        const SharedPrefixes shared = sharedPrefixes(sequences, method, m_methodModel, options.sharePrefixes);
        return differentiateScales(config(), m_model->weights, batch, shared, method, stop);
    });
}

}  // namespace lpes::model
