#include <fmt/format.h>

#include <vector>

#include "core/tasks/answer_text.h"
#include "core/tasks/l_eval.h"
#include "core/tasks/longest_fit.h"

namespace lpes::tasks {

namespace {

using Layout = LEvalTask::Layout;

constexpr std::string_view kDocument = "Document is as follows. ";
constexpr std::string_view kAnswer = "\nAnswer:";
constexpr std::size_t kWordsAtOnce = 250;

/// What stands behind the document.
std::string behindDocument(const LEvalQuestion& question, const LEvalTask& task, bool chat) {
    switch (task.layout) {
        case Layout::Examples:
        case Layout::Topics:
            return "\n\n" + question.instruction;
        case Layout::Question:
            return fmt::format(" \nQuestion: {} {}", question.instruction, kAnswer);
        case Layout::Instruction:
            break;
    }
    return fmt::format(" \nInstruction: {} The suggested output length is around {} words. {}", question.instruction,
                       wordCountAsPython(question.reference), chat ? "" : kAnswer);
}

/// sci_fi's second question: no document, no system prompt.
TaskPrompt closedBook(const LEvalQuestion& question) {
    constexpr std::string_view kWorld = "based on the world described in the document.";
    constexpr std::string_view kReal = "based on the real-world knowledge and facts up until your last training";
    TaskPrompt prompt;
    prompt.text = question.instruction;
    for (std::size_t at = 0; (at = prompt.text.find(kWorld, at)) != std::string::npos; at += kReal.size()) {
        prompt.text.replace(at, kWorld.size(), kReal);
    }
    prompt.text += kAnswer;
    prompt.question = {0, prompt.text.size()};
    return prompt;
}

TaskPrompt assemble(std::string_view document, const std::string& behind, const LEvalTask& task) {
    TaskPrompt prompt;
    prompt.system = lEvalSystemPrompt(task);
    if (task.layout == Layout::Question || task.layout == Layout::Instruction) prompt.text = kDocument;
    prompt.instruction = {0, prompt.text.size()};
    prompt.text += document;
    prompt.records = {{prompt.instruction.end, prompt.text.size()}};
    prompt.evidence = prompt.records;
    prompt.question.begin = prompt.text.size();
    prompt.text += behind;
    prompt.question.end = prompt.text.size();
    return prompt;
}

/// Where the words of " ".split begin, and behind them the end of the text with its would-be space.
std::vector<std::size_t> wordBegins(std::string_view text) {
    std::vector<std::size_t> begins{0};
    for (std::size_t at = 0; (at = text.find(' ', at)) != std::string_view::npos;) begins.push_back(++at);
    begins.push_back(text.size() + 1);
    return begins;
}

TaskPrompt truncated(const LEvalQuestion& question, const std::string& behind, const LEvalTask& task,
                     const PromptOptions& options, TaskPrompt whole) {
    const std::string_view document = question.document;
    const auto begins = wordBegins(document);
    const std::size_t words = begins.size() - 1;
    const std::size_t mostCuts = (words - 1) / kWordsAtOnce;  // at least a word stays
    if (mostCuts == 0) return whole;
    const auto kept = [&](std::size_t count) {
        return task.keepEnd ? document.substr(begins[words - count]) : document.substr(0, begins[count] - 1);
    };
    // The fewest cuts: the most steps of 250 words that are left above the least.
    const auto count = [&](std::size_t steps) { return words - (mostCuts - steps) * kWordsAtOnce; };
    const auto steps = longestThatFits(
        mostCuts - 1, [&](std::size_t left) { return options.fits(assemble(kept(count(left)), behind, task)); });
    // An item that does not fit without its document either comes back whole, to be left out and counted.
    if (!steps) return whole;
    TaskPrompt prompt = assemble(kept(count(*steps)), behind, task);
    prompt.note = fmt::format("document cut to {} of {} words", count(*steps), words);
    return prompt;
}

}  // namespace

TaskPrompt lEvalPrompt(const LEvalQuestion& question, const LEvalTask& task, const PromptOptions& options) {
    TaskPrompt prompt;
    if (question.fact) {
        prompt = closedBook(question);
    } else {
        const std::string behind = behindDocument(question, task, options.chat);
        prompt = assemble(question.document, behind, task);
        if (options.officialTruncation && options.fits && !options.fits(prompt)) {
            prompt = truncated(question, behind, task, options, std::move(prompt));
        }
    }
    prompt.answer = continuation(prompt.text, question.reference);
    return prompt;
}

}  // namespace lpes::tasks
