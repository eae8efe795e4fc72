#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/json_record.h"
#include "core/tasks/prompt.h"

// ZeroSCROLLS (arXiv 2305.14196; tau-nlp/zero_scrolls, experiments/): ten tasks, opened by openZeroScrolls.
//
// Data: the official JSON Lines, plain or gzip: a file, or a folder with NAME.jsonl, NAME/validation.jsonl or
// NAME/test.jsonl. A record's `input` is the whole prompt already; its indices count characters as Python does, not
// bytes. Validation files repeat a record for each of its references (same `id`): that is one item, with all of them.
// An item is called "<task>/<id>".
//
// References of the test files are private. A record without one is refused, unless BenchmarkSpec::promptsOnly says
// that only prompts are wanted: its references and teacher-forced answer are then empty.
//
// Chat: as in the official API scripts the response header is left out, and tasks other than summarization get
// "Do not provide any explanation." at the end of their instruction.
//
// Official truncation: the document is cut at its end, `truncation_seperator` [sic] and the query follow. The official
// scripts cut at a token of the prompt; here the cut is at the last character that fits, which keeps what the tokens
// of the part ahead of the query hold, up to one token.

namespace lpes::tasks {

/// One of the ten tasks.
struct ZeroScrollsTask {
    std::string_view name;
    Metric metric;
    int maxNewTokens;    ///< dataset_to_leave_tokens_for_generations
    bool noExplanation;  ///< QA and aggregation: a chat is asked for none
};

/// The task of a name; null for any other.
[[nodiscard]] const ZeroScrollsTask* zeroScrollsTask(std::string_view name);
[[nodiscard]] std::vector<std::string> zeroScrollsNames();

/// A record's prompt with its parts as byte offsets: 0 ≤ documentBegin ≤ documentEnd ≤ queryBegin ≤ queryEnd ≤ size.
struct ZeroScrollsText {
    std::string input;
    std::string separator;  ///< what stands in place of the end of a document that was cut
    std::size_t documentBegin = 0, documentEnd = 0, queryBegin = 0, queryEnd = 0;
};

/// BadInput for missing fields, indices outside the input or out of order, and a task that wants it without a blank
/// line behind the instruction. Without `document_start_index` the document begins behind the first blank line.
[[nodiscard]] Result<ZeroScrollsText> readZeroScrollsText(const JsonRecord& record, const ZeroScrollsTask& task);

/// The prompt without answer, references and rule.
[[nodiscard]] TaskPrompt zeroScrollsPrompt(ZeroScrollsText text, const ZeroScrollsTask& task,
                                           const PromptOptions& options);

}  // namespace lpes::tasks
