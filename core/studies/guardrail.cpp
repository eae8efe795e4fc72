#include "core/studies/guardrail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "core/analysis/statistics.h"
#include "core/analysis/verdict.h"
#include "core/studies/continuations.h"
#include "core/studies/json_rows.h"
#include "core/studies/prompt_maker.h"
#include "core/studies/task_setup.h"
#include "core/tasks/short_questions.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

// Our defaults (guardrail.h).
constexpr double kAmberRatio = 1.01, kRedRatio = 1.05, kAmberFall = 0.02;

Result<TokenizedPrompt> questionTokens(const tasks::ShortQuestion& question, const text::Tokenizer& tokenizer) {
    TokenizedPrompt tokens;
    auto prompt = tokenizer.encode(question.prompt);
    if (!prompt) return fail(prompt.error());
    tokens.prompt = std::move(prompt->ids);
    for (const std::string& choice : question.choices) {
        auto ids = tokenizer.encode(choice);
        if (!ids) return fail(ids.error());
        if (choice == question.answer) tokens.answer = ids->ids;
        tokens.choices.push_back(std::move(ids->ids));
    }
    return tokens;
}

/// Questions in one pass: they are short, and a pass reads all weights.
constexpr std::size_t kQuestionsPerPass = 8;

/// Is the right choice the likeliest of each question, and how likely is it?
Result<void> ask(std::span<const TokenizedPrompt> questions, model::ModelSession& session,
                 const rope::PositionMethod& method, const std::stop_token& stop, GuardrailSide::Exam& answers) {
    std::vector<model::ScoredPrompt> batch;
    for (const TokenizedPrompt& question : questions) addContinuations(question, batch);
    const auto scores = session.scoreAnswers(batch, method, stop, {true});
    if (!scores) return fail(scores.error());
    std::span<const model::AnswerScore> left(*scores);
    for (const TokenizedPrompt& question : questions) {
        const std::size_t count = continuationCount(question);
        const Judgement judgement = judge(question, left.first(count));
        left = left.subspan(count);
        answers.right.push_back(judgement.chosen);
        answers.answerNll.push_back(judgement.answerNll);
    }
    return {};
}

double share(const std::vector<bool>& right) {
    return right.empty() ? 0.0
                         : static_cast<double>(std::ranges::count(right, true)) / static_cast<double>(right.size());
}

/// The worse of two.
void raise(Light& light, std::string& reason, Light found, std::string why) {
    if (static_cast<int>(found) <= static_cast<int>(light)) return;
    light = found;
    reason = std::move(why);
}

}  // namespace

double GuardrailSide::perplexity() const {
    return std::exp(-logLikelihood / static_cast<double>(std::max<std::int64_t>(tokens, 1)));
}

std::string lightName(Light light) {
    switch (light) {
        case Light::Green:
            return "green";
        case Light::Amber:
            return "amber";
        case Light::Red:
            break;
    }
    return "red";
}

Result<Guardrail> Guardrail::make(const GuardrailSettings& settings, const text::Tokenizer& tokenizer,
                                  int contextLength, std::stop_token stop) {
    Guardrail guardrail;
    if (settings.items <= 0) return guardrail;
    const auto context = static_cast<std::size_t>(contextLength);
    const auto questions = tasks::shortQuestions();
    if (!questions) return fail(questions.error());
    Exam bundled{"short questions", {}};
    for (const tasks::ShortQuestion& question : *questions) {
        if (static_cast<int>(guardrail.m_texts.size()) >= settings.items) break;
        auto tokens = questionTokens(question, tokenizer);
        if (!tokens) return fail(tokens.error());
        auto text = tokenizer.encode(question.solved);
        if (!text) return fail(text.error());
        if (tokens->tokens() > context || text->ids.size() > context || text->ids.size() < 2) {
            ++guardrail.m_leftOut;
            continue;
        }
        bundled.questions.push_back(std::move(*tokens));
        guardrail.m_texts.push_back(std::move(text->ids));
    }
    if (guardrail.m_texts.empty()) return guardrail;
    guardrail.m_exams.push_back(std::move(bundled));
    for (const auto& [name, data] : {std::pair{"mmlu", settings.mmlu}, std::pair{"ceval", settings.ceval}}) {
        if (!data) continue;
        TaskSpec spec;
        spec.task = name;
        spec.data = *data;
        spec.limit = settings.items;
        auto task = prepareTask(spec, settings.items, nullptr, Purpose::Scored, stop);
        if (!task) return fail(task.error());
        const PromptMaker maker(std::move(*task), tokenizer, contextLength);
        Exam exam{name, {}};
        for (std::int64_t item = 0; item < maker.task().benchmark->size(); ++item) {
            auto tokens = maker.tokens(item, 0);
            if (!tokens) return fail(tokens.error());
            if (tokens->tokens() > context) {
                ++guardrail.m_leftOut;
                continue;
            }
            exam.questions.push_back(std::move(*tokens));
        }
        guardrail.m_exams.push_back(std::move(exam));
    }
    return guardrail;
}

std::int64_t Guardrail::prompts() const {
    auto count = static_cast<std::int64_t>(m_texts.size());
    for (const Exam& exam : m_exams) count += static_cast<std::int64_t>(exam.questions.size());
    return count;
}

std::int64_t Guardrail::tokens() const {
    std::size_t count = 0;
    for (const auto& text : m_texts) count += text.size();
    for (const Exam& exam : m_exams) {
        for (const TokenizedPrompt& question : exam.questions) count += question.scored();
    }
    return static_cast<std::int64_t>(count);
}

Result<GuardrailSide> Guardrail::measure(model::ModelSession& session, const rope::PositionMethod& method,
                                         ChunkObserver& observer, std::stop_token stop) const {
    GuardrailSide side;
    for (const auto& text : m_texts) {
        const auto scored = session.scoreText(text, method, 1, stop);
        if (!scored) return fail(scored.error());
        side.logLikelihood += std::accumulate(scored->logProbs.begin(), scored->logProbs.end(), 0.0);
        side.tokens += static_cast<std::int64_t>(scored->logProbs.size());
        if (auto told = observer.chunkDone(1, 0); !told) return fail(told.error());
    }
    for (const Exam& exam : m_exams) {
        GuardrailSide::Exam& answers = side.exams.emplace_back();
        answers.name = exam.name;
        const std::span<const TokenizedPrompt> all(exam.questions);
        for (std::size_t first = 0; first < all.size(); first += kQuestionsPerPass) {
            const auto some = all.subspan(first, std::min(kQuestionsPerPass, all.size() - first));
            if (auto asked = ask(some, session, method, stop, answers); !asked) return fail(asked.error());
            if (auto told = observer.chunkDone(static_cast<std::int64_t>(some.size()), 0); !told)
                return fail(told.error());
        }
    }
    return side;
}

json Guardrail::judge(const GuardrailSide& baseline, const GuardrailSide& method) const {
    const double ratio = method.perplexity() / baseline.perplexity();
    Light light = Light::Green;
    std::string reason = fmt::format("short-context perplexity × {:.3f}, no exam falls", ratio);
    if (ratio > kAmberRatio || !std::isfinite(ratio)) {
        raise(light, reason, ratio > kRedRatio || !std::isfinite(ratio) ? Light::Red : Light::Amber,
              fmt::format("short-context perplexity rises to {:.3f} times the baseline's", ratio));
    }
    json exams = json::array();
    for (std::size_t i = 0; i < m_exams.size(); ++i) {
        const GuardrailSide::Exam &before = baseline.exams[i], &after = method.exams[i];
        std::int64_t lost = 0, won = 0;
        for (std::size_t q = 0; q < before.right.size(); ++q) {
            lost += before.right[q] && !after.right[q] ? 1 : 0;
            won += !before.right[q] && after.right[q] ? 1 : 0;
        }
        const double difference = share(after.right) - share(before.right);
        const bool tested = static_cast<std::int64_t>(before.right.size()) >= analysis::kFewestItems;
        const auto p = tested ? std::optional(analysis::mcnemarExact(lost, won)) : std::nullopt;
        exams.push_back({{"name", before.name},
                         {"n", before.right.size()},
                         {"baseline", share(before.right)},
                         {"method", share(after.right)},
                         {"difference", difference},
                         {"answer_nll_difference", analysis::mean(after.answerNll) - analysis::mean(before.answerNll)},
                         {"p_value", optionalJson(p)}});
        if (difference < 0.0 && p && *p < analysis::kSignificance) {
            raise(light, reason, Light::Red,
                  fmt::format("{}: accuracy falls by {:.1f} points (p = {:.3g})", before.name, -100 * difference, *p));
        } else if (difference < -kAmberFall) {
            raise(light, reason, Light::Amber,
                  fmt::format("{}: accuracy falls by {:.1f} points, {}", before.name, -100 * difference,
                              p ? fmt::format("which chance could explain (p = {:.2g})", *p)
                                : fmt::format("of {} questions, too few for a test", before.right.size())));
        }
    }
    return {{"light", lightName(light)},
            {"reason", reason},
            {"perplexity",
             {{"baseline", baseline.perplexity()},
              {"method", method.perplexity()},
              {"ratio", ratio},
              {"texts", m_texts.size()},
              {"tokens", baseline.tokens},
              {"window", "each text alone"},
              {"bos", "none"}}},
            {"exams", std::move(exams)},
            {"left_out", m_leftOut}};
}

}  // namespace lpes::studies
