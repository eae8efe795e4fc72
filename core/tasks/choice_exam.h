#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/csv_rows.h"

// Exams in subjects with four choices, asked with a few solved examples: what MMLU and C-Eval share.
//
// Data: a folder or an archive as ExamFiles reads it. Subjects come in alphabetical order, their questions in file
// order; an item is "<subject>/<row>", row from 0. BenchmarkSpec::limit takes the
// first question of every subject, then the second, …
//
// The examples are the first rows of the subject's dev file. As the official scripts do, they are dropped from the end
// until PromptOptions::fits agrees; the note then says "3 of 5 shots". A text is written as the file has it; the
// official scripts read with pandas, which rewrites columns of numbers ("1.50" → "1.5") and empty fields ("nan").

namespace lpes::tasks {

/// A question with its solution.
struct ExamQuestion {
    std::string question;
    std::array<std::string, 4> choices;
    char answer = 'A';  ///< A to D
};

/// How an exam is written and asked.
class ExamFormat {
  public:
    virtual ~ExamFormat() = default;
    [[nodiscard]] virtual std::string_view task() const = 0;
    /// Where the questions are looked for, in this order.
    [[nodiscard]] virtual std::vector<std::string> questionSplits() const = 0;
    /// First line of the prompt with its blank line.
    [[nodiscard]] virtual std::string header(const std::string& subject) const = 0;
    [[nodiscard]] virtual std::string_view answerCue() const = 0;     ///< "\nAnswer:"
    [[nodiscard]] virtual std::string_view answerPrefix() const = 0;  ///< ahead of the letter: " " or nothing
    /// BadInput, with `where`, for a subject that the exam does not have.
    [[nodiscard]] virtual Result<void> checkSubject(const std::string& subject, const std::string& where) const = 0;

    /// Reads the rows of one file.
    class Rows {
      public:
        virtual ~Rows() = default;
        /// The question of a row; nothing for a header. What is wrong as a clause that names the column.
        [[nodiscard]] virtual Result<std::optional<ExamQuestion>> read(CsvRow& row) = 0;
    };
    [[nodiscard]] virtual std::unique_ptr<Rows> rows() const = 0;

    /// Question, choices and cue: what stands at the end of a prompt.
    [[nodiscard]] std::string ask(const ExamQuestion& question) const;
};

/// MMLU's.
[[nodiscard]] std::shared_ptr<const ExamFormat> mmluFormat();

/// Opens an exam. Usage without data, for unknown or repeated `subjects` (names those that there are), and for more
/// `shots` than a dev file has; BadInput for malformed files and a subject without its dev file.
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openChoiceExam(const BenchmarkSpec& spec,
                                                                      std::shared_ptr<const ExamFormat> format);

}  // namespace lpes::tasks
