#include <algorithm>

#include "app/presenters.h"
#include "core/studies/plot_queries.h"

namespace lpes::app {

namespace {

QString text(const std::string& words) {
    return QString::fromStdString(words);
}

QStringList texts(const std::vector<std::string>& many) {
    QStringList out;
    for (const std::string& one : many) out << text(one);
    return out;
}

/// Bytes of UTF-8 ahead of a place as UTF-16 units.
int unitsAhead(const std::string& utf8, std::size_t bytes) {
    return static_cast<int>(QString::fromUtf8(utf8.data(), static_cast<qsizetype>(bytes)).size());
}

}  // namespace

widgets::GuardrailFacts guardrailOf(const nlohmann::json& result) {
    if (!result.is_object()) return {};
    const nlohmann::json guardrail = result.value("guardrail", nlohmann::json());
    if (!guardrail.is_object()) return {};
    const auto words = [&](const char* key) {
        const auto it = guardrail.find(key);
        return it != guardrail.end() && it->is_string() ? text(it->get<std::string>()) : QString();
    };
    return {words("light"), words("reason"), text(studies::guardrailLines(guardrail))};
}

widgets::GuardrailFacts guardrailOf(const RunDetail& detail) {
    return guardrailOf(nlohmann::json::parse(detail.run.resultJson, nullptr, false));
}

widgets::PromptFacts promptFactsOf(const studies::ShownPrompt& shown) {
    widgets::PromptFacts facts;
    facts.data = text(shown.benchmark.name);
    facts.item = text(shown.item);
    facts.position = text(shown.position);
    facts.text = text(shown.text.text);
    for (const tasks::ByteSpan& span : shown.text.prompt.evidence) {
        facts.spans.emplace_back(unitsAhead(shown.text.text, span.begin), unitsAhead(shown.text.text, span.end));
    }
    QStringList tokens;
    for (const auto& [begin, end] : shown.tokens.evidence) tokens << QStringLiteral("%1–%2").arg(begin).arg(end - 1);
    facts.evidenceTokens = tokens.join(QStringLiteral(", "));
    facts.answer = text(shown.text.answer);
    facts.references = texts(shown.tokens.references);
    facts.choices = texts(shown.text.choices);
    facts.rule = text(std::string(tasks::metricName(shown.tokens.rule.metric)));
    facts.promptTokens = static_cast<std::int64_t>(shown.tokens.prompt.size());
    facts.answerTokens = static_cast<std::int64_t>(shown.tokens.tokens()) - facts.promptTokens;
    facts.context = shown.contextLength;
    facts.fits = shown.fits;
    facts.note = text(shown.tokens.note);
    facts.templateText = text(shown.benchmark.templateText);
    facts.templateHash = text(shown.benchmark.templateHash);
    return facts;
}

}  // namespace lpes::app
