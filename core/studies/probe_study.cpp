#include "core/studies/probe_study.h"

#include <fmt/format.h>

#include <limits>

namespace lpes::studies {

namespace {

bool usedForDeviation(const PromptPlan::Entry& entry) {
    return !entry.tooLong && entry.position == 0;
}

}  // namespace

std::vector<model::TokenSpan> attentionSpans(const TokenizedPrompt& tokens) {
    std::vector<model::TokenSpan> spans;
    for (const auto& [begin, end] : tokens.records) spans.push_back({begin, end});
    spans.push_back({tokens.instruction.first, tokens.instruction.second});
    spans.push_back({tokens.question.first, tokens.question.second});
    return spans;
}

Result<AttentionQueries> parseAttentionQueries(const std::string& text) {
    if (text == "last") return AttentionQueries::LastToken;
    if (text == "all") return AttentionQueries::AllTokens;
    return fail(ErrorCode::Usage,
                fmt::format("'{}' does not say whose attention is asked for; use last (the prompt's last token) or all "
                            "(every token)",
                            text));
}

Result<analysis::AttentionSummary> probeAttention(model::ModelSession& session, const PromptPlan& plan,
                                                  std::span<const std::string> labels,
                                                  const rope::PositionMethod& method, AttentionQueries queries,
                                                  ChunkObserver& observer, std::stop_token stop) {
    std::vector<analysis::PromptAttention> prompts;
    for (std::size_t index = 0; index < plan.entries().size(); ++index) {
        const PromptPlan::Entry& entry = plan.entries()[index];
        if (entry.tooLong) continue;
        const auto tokens = plan.tokens(index);
        if (!tokens) return fail(tokens.error());
        const std::vector<model::TokenSpan> spans = attentionSpans(**tokens);
        auto probe = queries == AttentionQueries::LastToken
                         ? session.attentionOfLastToken((*tokens)->prompt, spans, method, stop)
                         : session.attentionOfAllTokens((*tokens)->prompt, spans, method, stop);
        if (!probe) return fail(probe.error());
        analysis::PromptAttention prompt;
        prompt.position = entry.position;
        prompt.goldIndex = entry.goldIndex;
        prompt.shareByLayer = std::move(probe->shareByLayer);
        prompt.sinkByLayer = std::move(probe->sinkByLayer);
        for (const model::TokenSpan& span : spans) prompt.tokensPerSpan.push_back(span.end - span.begin);
        prompts.push_back(std::move(prompt));
        if (auto told = observer.chunkDone(1, 0); !told) return fail(told.error());
    }
    return analysis::summariseAttention(prompts, labels);
}

Result<analysis::DeviationSummary> probeDeviation(model::ModelSession& session, const PromptPlan& plan,
                                                  const std::string& variant, const rope::PositionMethod& method,
                                                  std::uint64_t seed, ChunkObserver& observer, std::stop_token stop) {
    std::vector<analysis::PromptDeviation> prompts;
    for (std::size_t index = 0; index < plan.entries().size(); ++index) {
        if (!usedForDeviation(plan.entries()[index])) continue;
        const auto tokens = plan.tokens(index);
        if (!tokens) return fail(tokens.error());
        auto compared = session.compareRepresentations((*tokens)->prompt, {}, method, stop);
        if (!compared) return fail(compared.error());
        prompts.push_back({std::move(compared->deviation), std::move(compared->rsa), std::move(compared->meanCosine)});
        if (auto told = observer.chunkDone(1, 0); !told) return fail(told.error());
    }
    return analysis::summariseDeviation(variant, prompts, seed);
}

std::int64_t deviationPrompts(const PromptPlan& plan) {
    std::int64_t count = 0;
    for (const PromptPlan::Entry& entry : plan.entries()) count += usedForDeviation(entry) ? 1 : 0;
    return count;
}

std::vector<store::AttentionRow> attentionRows(const analysis::AttentionSummary& summary, std::int64_t variantId) {
    std::vector<store::AttentionRow> rows;
    // Means per token are kept for the mean over layers, which is what the definition asks for; NaN is stored as NULL.
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    int ordinal = 0;
    for (const analysis::AttentionPlot::Position& position : summary.positions) {
        for (std::size_t span = 0; span < position.share.size(); ++span) {
            rows.push_back({variantId, ordinal, position.label, -1, static_cast<int>(span), position.share[span],
                            position.meanPerToken[span]});
        }
        for (std::size_t layer = 0; layer < position.shareByLayer.size(); ++layer) {
            for (std::size_t span = 0; span < position.shareByLayer[layer].size(); ++span) {
                rows.push_back({variantId, ordinal, position.label, static_cast<int>(layer), static_cast<int>(span),
                                position.shareByLayer[layer][span], kNone});
            }
        }
        ++ordinal;
    }
    const std::pair<int, double> whole[] = {
        {-1, summary.sink}, {-2, summary.instructionShare}, {-3, summary.questionShare}};
    for (const auto& [span, share] : whole) rows.push_back({variantId, -1, "all", -1, span, share, kNone});
    return rows;
}

std::vector<store::DeviationRow> deviationRows(const analysis::DeviationSummary& summary, std::int64_t variantId) {
    std::vector<store::DeviationRow> rows;
    for (const analysis::DeviationSummary::Layer& layer : summary.layers) {
        rows.push_back({variantId, layer.layer, layer.deviation, layer.interval.low, layer.interval.high, layer.rsa,
                        layer.cosine, summary.prompts});
    }
    return rows;
}

}  // namespace lpes::studies
