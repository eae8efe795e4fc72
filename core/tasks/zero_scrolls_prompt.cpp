#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/tasks/longest_fit.h"
#include "core/tasks/text_units.h"
#include "core/tasks/zero_scrolls.h"

namespace lpes::tasks {

namespace {

constexpr std::array<ZeroScrollsTask, 10> kTasks{{
    {"gov_report", Metric::RougeGeometric, 1024, false},
    {"summ_screen_fd", Metric::RougeGeometric, 512, false},
    {"qmsum", Metric::RougeGeometric, 512, false},
    {"squality", Metric::RougeGeometric, 512, false},
    {"qasper", Metric::F1, 128, true},
    {"narrative_qa", Metric::F1, 64, true},
    {"quality", Metric::ChoiceLetter, 10, true},
    {"musique", Metric::F1, 32, true},
    {"space_digest", Metric::ExpSimilarity, 36, true},
    {"book_sum_sort", Metric::Concordance, 256, true},
}};

constexpr std::string_view kBlankLine = "\n\n";
constexpr std::string_view kNoExplanation = "Do not provide any explanation.";

/// The format request of the official chat scripts (insert_format_request in experiments/api/api.py).
void askForNoExplanation(ZeroScrollsText& text) {
    const std::size_t end = text.input.find(kBlankLine);
    const std::string instruction =
        fmt::format("{} {}", strippedAsPython(std::string_view(text.input).substr(0, end)), kNoExplanation);
    text.input.replace(0, end, instruction);
    // The indices stand behind the instruction: move them by what it has grown, or shrunk by white space.
    for (std::size_t* index : {&text.documentBegin, &text.documentEnd, &text.queryBegin, &text.queryEnd}) {
        if (*index >= end) *index = *index - end + instruction.size();
    }
}

/// The prompt whose document ends at `cut`.
TaskPrompt assemble(const ZeroScrollsText& text, std::size_t cut) {
    TaskPrompt prompt;
    prompt.instruction = {0, text.documentBegin};
    prompt.records = {{text.documentBegin, cut}};
    prompt.evidence = prompt.records;
    if (cut == text.documentEnd) {
        prompt.text = text.input;
        prompt.question = {text.queryBegin, text.input.size()};
        return prompt;
    }
    prompt.text = text.input.substr(0, cut) + text.separator;
    prompt.question.begin = prompt.text.size();
    prompt.text.append(text.input, text.queryBegin);
    prompt.question.end = prompt.text.size();
    return prompt;
}

}  // namespace

const ZeroScrollsTask* zeroScrollsTask(std::string_view name) {
    const auto* found =
        std::find_if(kTasks.begin(), kTasks.end(), [&](const ZeroScrollsTask& task) { return task.name == name; });
    return found == kTasks.end() ? nullptr : found;
}

std::vector<std::string> zeroScrollsNames() {
    std::vector<std::string> names;
    for (const ZeroScrollsTask& task : kTasks) names.emplace_back(task.name);
    return names;
}

Result<ZeroScrollsText> readZeroScrollsText(const JsonRecord& record, const ZeroScrollsTask& task) {
    ZeroScrollsText text;
    auto input = record.text("input");
    if (!input) return fail(input.error());
    text.input = std::move(*input);
    auto separator = record.text("truncation_seperator");
    if (!separator) return fail(separator.error());
    text.separator = std::move(*separator);

    const std::size_t blankLine = text.input.find(kBlankLine);
    if (task.noExplanation && blankLine == std::string::npos) {
        return record.refuse("'input' has no blank line behind its instruction");
    }
    text.documentBegin = blankLine == std::string::npos ? 0 : blankLine + kBlankLine.size();
    struct Index {
        std::string_view field;
        std::size_t& byte;
    };
    std::size_t last = 0;
    for (const Index& index :
         {Index{"document_start_index", text.documentBegin}, Index{"document_end_index", text.documentEnd},
          Index{"query_start_index", text.queryBegin}, Index{"query_end_index", text.queryEnd}}) {
        // The first is missing in some copies of the data.
        if (index.field != "document_start_index" || record.has(index.field)) {
            const auto character = record.integer(index.field);
            if (!character) return fail(character.error());
            const auto byte = byteOfCharacter(text.input, *character);
            if (!byte) {
                return record.refuse(fmt::format("'{}' is {}, but 'input' has {} characters", index.field, *character,
                                                 characterCount(text.input)));
            }
            index.byte = *byte;
        }
        if (index.byte < last) {
            return record.refuse(fmt::format("'{}' lies ahead of the index that comes before it", index.field));
        }
        last = index.byte;
    }
    return text;
}

TaskPrompt zeroScrollsPrompt(ZeroScrollsText text, const ZeroScrollsTask& task, const PromptOptions& options) {
    if (options.chat) {
        if (task.noExplanation) askForNoExplanation(text);
        text.input.resize(text.queryEnd);
    }
    TaskPrompt whole = assemble(text, text.documentEnd);
    if (!options.officialTruncation || !options.fits || options.fits(whole)) return whole;

    const std::size_t length = text.documentEnd - text.documentBegin;
    const auto cutAt = [&](std::size_t bytes) {
        return std::max(text.documentBegin, characterStart(text.input, text.documentBegin + bytes));
    };
    const auto kept = length == 0 ? std::nullopt : longestThatFits(length - 1, [&](std::size_t bytes) {
        return options.fits(assemble(text, cutAt(bytes)));
    });
    // An item that does not fit without its document either comes back whole, to be left out and counted.
    if (!kept) return whole;
    TaskPrompt prompt = assemble(text, cutAt(*kept));
    const std::string_view document = std::string_view(text.input).substr(text.documentBegin, length);
    prompt.note =
        fmt::format("document cut to {} of {} characters",
                    characterCount(document.substr(0, cutAt(*kept) - text.documentBegin)), characterCount(document));
    return prompt;
}

}  // namespace lpes::tasks
