#include <fmt/format.h>

#include "core/tasks/c_eval_subjects.h"
#include "core/tasks/choice_exam.h"

// C-Eval (arXiv 2305.08322; hkust-nlp/ceval, code/evaluator_series/evaluators/llama.py, answer only). Questions come
// from val/: the labels of the test split are private. Files have the header "id,question,A,B,C,D,answer", the dev
// files "explanation" behind it, which the prompt does not hold.

namespace lpes::tasks {

namespace {

const std::vector<std::string> kColumns{"id", "question", "A", "B", "C", "D", "answer"};
constexpr std::string_view kExplanation = "explanation";

class CEvalRows : public ExamFormat::Rows {
  public:
    Result<std::optional<ExamQuestion>> read(CsvRow& row) override {
        if (m_columns == 0) {
            if (auto header = readHeader(row); !header) return fail(header.error());
            return std::nullopt;
        }
        if (row.fields.size() != m_columns) {
            return fail(ErrorCode::BadInput,
                        fmt::format("the row has {} columns, the header {}", row.fields.size(), m_columns));
        }
        const std::string& answer = row.fields[6];
        if (answer.size() != 1 || answer[0] < 'A' || answer[0] > 'D') {
            return fail(ErrorCode::BadInput, fmt::format("the answer is '{}'; A to D is expected", answer));
        }
        ExamQuestion question;
        question.answer = answer[0];
        question.question = std::move(row.fields[1]);
        for (std::size_t i = 0; i < 4; ++i) question.choices[i] = std::move(row.fields[i + 2]);
        return question;
    }

  private:
    Result<void> readHeader(const CsvRow& row) {
        const bool explained = row.fields.size() == kColumns.size() + 1 && row.fields.back() == kExplanation;
        const bool complete = row.fields.size() == kColumns.size() || explained;
        if (!complete || !std::equal(kColumns.begin(), kColumns.end(), row.fields.begin())) {
            return fail(ErrorCode::BadInput,
                        "the header is not 'id,question,A,B,C,D,answer' with or without 'explanation'");
        }
        m_columns = row.fields.size();
        return {};
    }

    std::size_t m_columns = 0;
};

class CEval : public ExamFormat {
  public:
    [[nodiscard]] std::string_view task() const override { return "ceval"; }
    [[nodiscard]] std::vector<std::string> questionSplits() const override { return {"val"}; }
    [[nodiscard]] std::string header(const std::string& subject) const override {
        const std::string_view name = cEvalSubjectName(subject);
        // The template itself is made of a placeholder.
        return fmt::format("以下是中国关于{}考试的单项选择题，请选出其中的正确答案。\n\n",
                           name.empty() ? subject : name);
    }
    [[nodiscard]] std::string_view answerCue() const override { return "\n答案："; }
    [[nodiscard]] std::string_view answerPrefix() const override { return ""; }
    [[nodiscard]] Result<void> checkSubject(const std::string& subject, const std::string& where) const override {
        if (!cEvalSubjectName(subject).empty()) return {};
        return fail(ErrorCode::BadInput,
                    fmt::format("{} holds '{}', which is none of C-Eval's 52 subjects; leave it out", where, subject));
    }
    [[nodiscard]] std::unique_ptr<Rows> rows() const override { return std::make_unique<CEvalRows>(); }
};

}  // namespace

Result<std::shared_ptr<const Benchmark>> openCEval(const BenchmarkSpec& spec) {
    return openChoiceExam(spec, std::make_shared<CEval>());
}

}  // namespace lpes::tasks
