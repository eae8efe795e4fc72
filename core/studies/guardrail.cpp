#include "core/studies/guardrail.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "core/studies/continuations.h"
#include "core/studies/json_rows.h"
#include "core/studies/prompt_maker.h"
#include "core/studies/task_setup.h"
#include "core/tasks/short_questions.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

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
        answers.choiceNll.push_back(judgement.choiceNll);
    }
    return {};
}

}  // namespace

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
        guardrail.m_dataHashes[name] = hashOfPrompts(task->info());
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
        side.textNll.push_back(-std::accumulate(scored->logProbs.begin(), scored->logProbs.end(), 0.0));
        side.textTokens.push_back(static_cast<std::int64_t>(scored->logProbs.size()));
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
    json judged = judgeShortContexts(baseline, method);
    judged["left_out"] = m_leftOut;
    return judged;
}

}  // namespace lpes::studies
