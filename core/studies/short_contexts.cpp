#include "core/studies/short_contexts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

namespace lpes::studies {

namespace {

/// Numbers of equal length, so that their order as text is that of the texts.
std::string idOf(std::size_t text) {
    return fmt::format("{:06}", text);
}

}  // namespace

Result<std::vector<double>> shortTextNlls(model::AnswerSession& session, const rope::PositionMethod& method,
                                          std::span<const std::vector<text::TokenId>> texts, std::stop_token stop) {
    std::vector<model::ScoredPrompt> batch;
    for (const auto& text : texts) batch.push_back({{text.front()}, {text.begin() + 1, text.end()}});
    const auto scores = session.scoreAnswers(batch, method, std::move(stop), {});
    if (!scores) return fail(scores.error());
    std::vector<double> nlls;
    for (const model::AnswerScore& score : *scores) nlls.push_back(score.meanNll);
    return nlls;
}

ShortContexts::Reading heldAgainst(double nll, double baseline, std::optional<double> percent) {
    ShortContexts::Reading reading;
    reading.nll = nll;
    reading.rise = 100.0 * std::expm1(nll - baseline);
    if (!percent) return reading;
    if (!std::isfinite(reading.rise)) {
        reading.violation = std::numeric_limits<double>::infinity();
        reading.reason = "short-context perplexity is not a finite number, so it breaks the guardrail's limit";
    } else if (reading.rise > *percent) {
        reading.violation = reading.rise - *percent;
        reading.reason = fmt::format(
            "short-context perplexity rises by {:.2f} % against the model as it is, {:.2f} points beyond the limit of "
            "{} %",
            reading.rise, reading.violation, *percent);
    }
    return reading;
}

ShortContexts::ShortContexts(const Guardrail& guardrail, std::optional<double> percent, bool wanted,
                             store::StoreWriter& store, std::int64_t runId)
    : m_guardrail(guardrail),
      m_percent(percent),
      m_measured(percent.has_value() || wanted),
      m_store(store),
      m_runId(runId) {}

std::int64_t ShortContexts::prompts() const {
    return m_measured ? static_cast<std::int64_t>(m_guardrail.texts().size()) : 0;
}

Result<double> ShortContexts::meanNll(SessionPool& pool, const rope::PositionMethod& method, std::int64_t variantId,
                                      ChunkObserver& observer, std::stop_token stop) const {
    const auto stored = m_store.reader().outcomes(variantId, kGuardrailSplit);
    if (!stored) return fail(stored.error());
    std::map<std::string, double> known;
    for (const store::OutcomeRow& row : *stored) known.emplace(row.itemId, row.nll);
    const std::span all(m_guardrail.texts());
    std::vector<double> nlls(all.size());
    const auto pass = [&](std::size_t number, model::AnswerSession& session, const std::stop_token& halt) {
        const std::size_t first = number * kShortTextsPerPass;
        const std::span some(nlls.begin() + static_cast<std::ptrdiff_t>(first),
                             std::min(kShortTextsPerPass, all.size() - first));
        return measurePass(session, method, variantId, first, known, some, observer, halt);
    };
    const std::size_t passes = (all.size() + kShortTextsPerPass - 1) / kShortTextsPerPass;
    if (auto done = pool.run(passes, pass, std::move(stop)); !done) return fail(done.error());
    double sum = 0.0, tokens = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto scored = static_cast<double>(all[i].size() - 1);
        sum += scored * nlls[i];
        tokens += scored;
    }
    return sum / tokens;
}

Result<void> ShortContexts::measurePass(model::AnswerSession& session, const rope::PositionMethod& method,
                                        std::int64_t variantId, std::size_t first,
                                        const std::map<std::string, double>& known, std::span<double> nlls,
                                        ChunkObserver& observer, const std::stop_token& stop) const {
    const auto count = std::ssize(nlls);
    std::size_t found = 0;
    for (std::size_t i = 0; i < nlls.size(); ++i) {
        const auto it = known.find(idOf(first + i));
        if (it == known.end()) continue;
        nlls[i] = it->second;
        ++found;
    }
    if (found == nlls.size()) return observer.chunkDone(0, count);
    const auto texts = std::span(m_guardrail.texts()).subspan(first, nlls.size());
    auto computed = shortTextNlls(session, method, texts, stop);
    if (!computed) return fail(computed.error());
    std::vector<store::OutcomeRow> rows(nlls.size());
    for (std::size_t i = 0; i < nlls.size(); ++i) {
        nlls[i] = (*computed)[i];
        rows[i].itemId = idOf(first + i);
        rows[i].promptTokens = static_cast<int>(texts[i].size());
        rows[i].nll = nlls[i];
    }
    if (auto done = m_store.recordOutcomes(variantId, kGuardrailSplit, rows); !done) return done;
    return observer.chunkDone(count, 0);
}

Result<void> ShortContexts::measureBaseline(SessionPool& pool, ChunkObserver& observer, std::stop_token stop) {
    if (!m_measured) return {};
    const auto variant = m_store.ensureVariant(m_runId, "baseline", {});
    if (!variant) return fail(variant.error());
    const auto nll = meanNll(pool, {}, *variant, observer, std::move(stop));
    if (!nll) return fail(nll.error());
    m_baselineNll = *nll;
    if (std::isfinite(m_baselineNll)) return {};
    return fail(ErrorCode::Failed,
                fmt::format("the short-context perplexity of the model as it is is {}, so no limit can be held against "
                            "it; leave --guardrail-limit and the objective short out",
                            std::exp(m_baselineNll)));
}

Result<ShortContexts::Reading> ShortContexts::measure(SessionPool& pool, const rope::PositionMethod& method,
                                                      const std::vector<double>& scales, ChunkObserver& observer,
                                                      std::stop_token stop) const {
    const auto variant = m_store.ensureVariant(m_runId, "candidate", scales);
    if (!variant) return fail(variant.error());
    const auto nll = meanNll(pool, method, *variant, observer, std::move(stop));
    if (!nll) return fail(nll.error());
    Reading reading = heldAgainst(*nll, m_baselineNll, m_percent);
    if (std::isfinite(reading.nll) || m_percent) return reading;
    return fail(ErrorCode::Failed,
                fmt::format("the likelihood of short texts is {}, which is not a finite number", -reading.nll));
}

}  // namespace lpes::studies
