#include <cassert>

#include "core/base/checksum.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::tasks {

namespace {

// The text of prompts/kv_retrieval.prompt in nelson-liu/lost-in-the-middle, around the records and the key.
constexpr std::string_view kInstruction =
    "Extract the value corresponding to the specified key in the JSON object below.\n\nJSON data:\n";
constexpr std::string_view kBeforeKey = "\n\nKey: \"";
constexpr std::string_view kAfterKey = "\"\nCorresponding value:";
constexpr std::size_t kBlankLine = 2;  // "\n\n" ahead of the question

}  // namespace

RenderedPrompt renderKvPrompt(const KvItem& item, int goldIndex) {
    const auto records = item.distractors.size() + 1;
    assert(goldIndex >= 0 && static_cast<std::size_t>(goldIndex) < records);
    RenderedPrompt rendered;
    rendered.goldIndex = goldIndex;
    rendered.value = item.gold.second;
    rendered.answer = " \"" + item.gold.second + "\"";
    rendered.instruction = {0, kInstruction.size()};
    rendered.records.reserve(records);

    std::string& prompt = rendered.prompt;
    prompt = kInstruction;
    for (std::size_t i = 0; i < records; ++i) {
        const auto gold = static_cast<std::size_t>(goldIndex);
        const auto& record = i == gold ? item.gold : item.distractors[i < gold ? i : i - 1];
        prompt += i == 0 ? '{' : ' ';
        const std::size_t begin = prompt.size();
        // The benchmark writes quotes and backslashes as they are, although the block is called JSON.
        prompt += '"';
        prompt += record.first;
        prompt += "\": \"";
        prompt += record.second;
        prompt += '"';
        rendered.records.push_back({begin, prompt.size()});
        prompt += i + 1 < records ? ",\n" : "}";
    }
    rendered.question.begin = prompt.size() + kBlankLine;
    prompt += kBeforeKey;
    prompt += item.gold.first;
    prompt += kAfterKey;
    rendered.question.end = prompt.size();
    return rendered;
}

namespace {

/// A prompt whose every part is known stands for the template: whatever changes in the text changes the hash.
RenderedPrompt renderedTemplate() {
    KvItem item;
    item.gold = {"{gold_key}", "{gold_value}"};
    item.distractors = {{"{key_1}", "{value_1}"}, {"{key_2}", "{value_2}"}};
    return renderKvPrompt(item, 1);
}

}  // namespace

std::string kvTemplateText() {
    const RenderedPrompt rendered = renderedTemplate();
    return rendered.prompt + rendered.answer;
}

std::string kvTemplateHash() {
    const RenderedPrompt rendered = renderedTemplate();
    Sha256 hash;
    hash.add(rendered.prompt);
    hash.add(std::string_view("\0", 1));
    hash.add(rendered.answer);
    return hash.hex();
}

}  // namespace lpes::tasks
