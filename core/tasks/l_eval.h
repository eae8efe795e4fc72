#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/prompt.h"

// L-Eval (arXiv 2307.11088; OpenLMLab/LEval, Baselines/ and Evaluation/): 7 closed and 13 open tasks, opened by
// openLEval.
//
// Data: the official JSON Lines, plain or gzip: a file, or a folder with NAME.jsonl, also below Closed-ended-tasks/ and
// Open-ended-tasks/. Every instruction of a record is an item: "quality/3/0" is the first of line 4.
// A record whose `source` is another task's is refused; what the field does not tell is taken.
//
// Prompts (Baselines/llama2-chat-test.py, vicuna-test.py, longchat-test.py; where these differ, methods.md §3.3):
//   gsm100, codeU, topic_retrieval_longchat   {document}\n\n{instruction}
//   other closed tasks                        Document is as follows. {document} \nQuestion: {instruction} \nAnswer:
//   open tasks   Document is as follows. {document} \nInstruction: {instruction} The suggested output length is around
//                N words. [\nAnswer:]          N: words of the reference; the last line stands in plain prompts alone,
//                as
//                                              the scripts put an assistant's turn there
// with the task's system prompt. gsm100's worked examples stand in its document.
//
// Scores: closed tasks are exams. Open tasks have f1 or rouge, as each record's `evaluation` says. Records that only a
// judge scores ("LLM", "human") are left out, as in the official n-gram evaluation; a file that holds no other is
// scored with the task's n-gram metric. Topic retrieval's groups are the first, second and third of three questions in
// turn, of which the official score is the mean.
//
// sci_fi asks twice: "sci_fi/3/0" for loyalty to the document, "sci_fi/3/0/fact" for what is true in the world, closed
// book and without a system prompt. References are "True [fact: False]"; a reference without the second part (an older
// release) gives the first item alone, but a file must not mix both. The mean over all items is the official score.
//
// Multiple choice (coursera, quality, tpo): the reference is the letters A to D of its first word, as the official
// scorer reads it. Other references are as they stand.
//
// Official truncation: whole words (split at spaces) from the end, for codeU from the beginning, 250 at a time. The
// official scripts begin at as many words as the model's context has tokens; here it is the document's own number.

namespace lpes::tasks {

struct LEvalTask {
    enum class Layout { Examples, Topics, Question, Instruction };
    enum class Reference { AsIs, Letters, LoyaltyAndFact };
    std::string_view name;
    Layout layout;
    Metric metric;  ///< of records whose evaluation does not say
    Reference reference = Reference::AsIs;
    bool keepEnd = false;  ///< truncation cuts the beginning
    /// What `source` says in the official records, or begins with where this ends with '*'. Empty: the task's name.
    std::string_view source = {};
};

inline constexpr int kLEvalNewTokens = 512;

[[nodiscard]] const LEvalTask* lEvalTask(std::string_view name);
[[nodiscard]] std::vector<std::string> lEvalNames();
/// The task that a record is of by its `source`; null where that does not tell.
[[nodiscard]] const LEvalTask* lEvalTaskOfSource(std::string_view source);
[[nodiscard]] std::string_view lEvalSystemPrompt(const LEvalTask& task);

/// An instruction with what it is asked of.
struct LEvalQuestion {
    std::string document, instruction, reference;
    bool fact = false;  ///< sci_fi's second question
};
/// The prompt with its teacher-forced answer, without rule.
[[nodiscard]] TaskPrompt lEvalPrompt(const LEvalQuestion& question, const LEvalTask& task,
                                     const PromptOptions& options);

/// The references of an output: one, or loyalty and fact. Nothing where the official scorer could not read it; `what`
/// then says why.
[[nodiscard]] std::optional<std::vector<std::string>> lEvalReferences(const LEvalTask& task, std::string_view output,
                                                                      std::string& what);

}  // namespace lpes::tasks
