#include "core/tasks/short_questions.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/tasks/choice_exam.h"

namespace lpes::resources {
extern const std::string_view shortQuestionsText;
}

namespace lpes::tasks {

Result<std::vector<ShortQuestion>> shortQuestions() {
    const auto format = mmluFormat();
    std::vector<ShortQuestion> questions;
    std::string_view rest = resources::shortQuestionsText;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty()) continue;
        try {
            const auto object = nlohmann::json::parse(line);
            ExamQuestion exam;
            exam.question = object.at("question").get<std::string>();
            exam.choices = object.at("choices").get<std::array<std::string, 4>>();
            exam.answer = static_cast<char>('A' + object.at("answer").get<int>());
            ShortQuestion question;
            question.subject = object.at("subject").get<std::string>();
            question.prompt = format->header(question.subject) + format->ask(exam);
            for (std::size_t i = 0; i < question.choices.size(); ++i)
                question.choices[i] = fmt::format("{}{}", format->answerPrefix(), static_cast<char>('A' + i));
            question.answer = fmt::format("{}{}", format->answerPrefix(), exam.answer);
            question.solved = format->ask(exam) + question.answer;
            questions.push_back(std::move(question));
        } catch (const nlohmann::json::exception& error) {
            return fail(ErrorCode::Failed, "the built-in short questions are damaged", error.what());
        }
    }
    return questions;
}

}  // namespace lpes::tasks
