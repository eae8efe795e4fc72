#include <fmt/format.h>

#include "core/tasks/choice_exam.h"

// MMLU (arXiv 2009.03300; hendrycks/test, evaluate_hf.py). Two spellings of the files: the original release without a
// header and with a letter, and the later one with "question,choice0,choice1,choice2,choice3,answer" and a number from
// 0. Questions come from test/, or from val/ where there is no test/.

namespace lpes::tasks {

namespace {

const std::vector<std::string> kHeader{"question", "choice0", "choice1", "choice2", "choice3", "answer"};

class MmluRows : public ExamFormat::Rows {
  public:
    Result<std::optional<ExamQuestion>> read(CsvRow& row) override {
        const bool first = std::exchange(m_first, false);
        if (row.fields.size() != kHeader.size()) {
            return fail(ErrorCode::BadInput,
                        fmt::format("the row has {} columns; question, four choices and answer are "
                                    "expected",
                                    row.fields.size()));
        }
        if (first && row.fields == kHeader) {
            m_firstAnswer = '0';
            return std::nullopt;
        }
        const std::string& answer = row.fields.back();
        if (answer.size() != 1 || answer[0] < m_firstAnswer || answer[0] > m_firstAnswer + 3) {
            return fail(ErrorCode::BadInput, fmt::format("the answer is '{}'; {} to {} is expected", answer,
                                                         m_firstAnswer, static_cast<char>(m_firstAnswer + 3)));
        }
        ExamQuestion question;
        question.answer = static_cast<char>('A' + (answer[0] - m_firstAnswer));
        question.question = std::move(row.fields[0]);
        for (std::size_t i = 0; i < 4; ++i) question.choices[i] = std::move(row.fields[i + 1]);
        return question;
    }

  private:
    bool m_first = true;
    char m_firstAnswer = 'A';
};

class Mmlu : public ExamFormat {
  public:
    [[nodiscard]] std::string_view task() const override { return "mmlu"; }
    [[nodiscard]] std::vector<std::string> questionSplits() const override { return {"test", "val"}; }
    [[nodiscard]] std::string header(const std::string& subject) const override {
        std::string words = subject;
        for (char& character : words) {
            if (character == '_') character = ' ';
        }
        // Two spaces: format_subject puts one ahead of every word.
        return fmt::format("The following are multiple choice questions (with answers) about  {}.\n\n", words);
    }
    [[nodiscard]] std::string_view answerCue() const override { return "\nAnswer:"; }
    [[nodiscard]] std::string_view answerPrefix() const override { return " "; }
    [[nodiscard]] Result<void> checkSubject(const std::string&, const std::string&) const override { return {}; }
    [[nodiscard]] std::unique_ptr<Rows> rows() const override { return std::make_unique<MmluRows>(); }
};

}  // namespace

std::shared_ptr<const ExamFormat> mmluFormat() {
    return std::make_shared<Mmlu>();
}

Result<std::shared_ptr<const Benchmark>> openMmlu(const BenchmarkSpec& spec) {
    return openChoiceExam(spec, mmluFormat());
}

}  // namespace lpes::tasks
