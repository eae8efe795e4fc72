#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/tasks/scoring.h"

namespace lpes::tasks {

/// Byte range in a prompt's text.
struct ByteSpan {
    std::size_t begin = 0, end = 0;
};

/// What is asked of a model for one item with its evidence at one place, as the benchmark's own script asks it.
struct TaskPrompt {
    /// What stands in a chat's system turn. Without a chat preset it stands in front of `text` with a line break.
    std::string system;
    std::string text;  ///< the user's turn, or the whole of the plain prompt behind `system`
    int goldIndex = 0;
    std::vector<ByteSpan> records;   ///< documents, pairs, haystack pieces in prompt order, in `text`
    std::vector<ByteSpan> evidence;  ///< what the answer stands in; usually records[goldIndex]; may be empty
    ByteSpan instruction;            ///< ahead of the records
    ByteSpan question;               ///< behind them, to the end

    /// Teacher-forced continuation of the plain prompt, with its leading space where the benchmark has one. In a chat
    /// the leading white space falls away.
    std::string answer;
    /// Multiple choice: the continuations of which the likeliest is the model's answer; `answer` is one of them.
    std::vector<std::string> choices;
    std::vector<std::string> references;  ///< what a generated answer is held against
    ScoringRule rule;
    std::string note;  ///< what was left out by the benchmark's own rule ("3 of 5 shots"), for the record; or empty
};

/// How a prompt is to be made.
struct PromptOptions {
    /// A chat preset is put around it: ZeroSCROLLS then leaves the response header out and asks for no explanation.
    bool chat = false;
    /// Does it fit into the model's context, the answer included? Unset: everything does. Asked where the benchmark's
    /// own rule makes a prompt shorter: few-shot examples are dropped from the end until it fits (MMLU, C-Eval), and
    /// documents are cut with `officialTruncation`.
    std::function<bool(const TaskPrompt&)> fits;
    /// Cut long documents as ZeroSCROLLS and L-Eval do (methods.md §3.2, §3.3). Never by default: an item that does not
    /// fit is left out and counted.
    bool officialTruncation = false;
};

}  // namespace lpes::tasks
