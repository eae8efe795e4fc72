#include <utf8proc.h>

#include <algorithm>
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

/// Lower case as the benchmark's Python does it (str.lower), code point by code point. A final sigma counts as any
/// other sigma, so that a value is found whatever follows it. Bytes that are no UTF-8 stay as they are.
std::string lowerCase(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        utf8proc_int32_t code = -1;
        const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                           static_cast<utf8proc_ssize_t>(text.size()), &code);
        if (size <= 0) {
            out += text.front();
            text.remove_prefix(1);
            continue;
        }
        constexpr utf8proc_int32_t kCapitalDottedI = 0x130, kFinalSigma = 0x3c2, kSigma = 0x3c3;
        if (code == kCapitalDottedI) {
            out += "i\u0307";  // the one letter whose lower case takes two code points
        } else {
            code = utf8proc_tolower(code);
            if (code == kFinalSigma) code = kSigma;
            utf8proc_uint8_t bytes[4];
            const auto written = utf8proc_encode_char(code, bytes);
            out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(written));
        }
        text.remove_prefix(static_cast<std::size_t>(size));
    }
    return out;
}

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

std::string kvTemplateHash() {
    // A prompt whose every part is known stands for the template: whatever changes in the text changes the hash.
    KvItem item;
    item.gold = {"{gold_key}", "{gold_value}"};
    item.distractors = {{"{key_1}", "{value_1}"}, {"{key_2}", "{value_2}"}};
    const RenderedPrompt rendered = renderKvPrompt(item, 1);
    Sha256 hash;
    hash.add(rendered.prompt);
    hash.add(std::string_view("\0", 1));
    hash.add(rendered.answer);
    return hash.hex();
}

bool kvGeneratedCorrect(std::string_view generated, std::string_view value) {
    return lowerCase(generated).find(lowerCase(value)) != std::string::npos;
}

}  // namespace lpes::tasks
