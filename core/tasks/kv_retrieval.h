#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/prompt.h"

namespace lpes::tasks {

/// One key–value retrieval item: the pair that is asked for and the distractors, in order.
struct KvItem {
    std::string id;  ///< stable name within its data set: "<data set's name>/<index>"
    std::pair<std::string, std::string> gold;
    std::vector<std::pair<std::string, std::string>> distractors;
};

/// A prompt with its answer, as methods.md §2 and §3.1 define them.
struct RenderedPrompt {
    std::string prompt;
    std::string answer;  ///< ` "value"`, tokenized apart from the prompt
    std::string value;   ///< what a generated answer must contain
    int goldIndex = 0;
    std::vector<ByteSpan> records;  ///< `"key": "value"` of every pair, in prompt order
    ByteSpan instruction;           ///< up to the first record
    ByteSpan question;              ///< from `Key:` to the end
};

/// The official prompt of nelson-liu/lost-in-the-middle: instruction, JSON-like block with the gold pair at goldIndex,
/// `Key: "…"`, `Corresponding value:`. Keys and values are written as they are. 0 ≤ goldIndex ≤ distractors.
[[nodiscard]] RenderedPrompt renderKvPrompt(const KvItem& item, int goldIndex);

/// The prompt template with placeholders, and the answer behind it.
[[nodiscard]] std::string kvTemplateText();
/// Hash of the prompt template, stored with every run.
[[nodiscard]] std::string kvTemplateHash();

/// What keys and values are made of: "uuid" (version 4 layout), "hex:N" (N hexadecimal digits), "words" (from `words`).
struct KeyKind {
    enum class Kind { Uuid, Hex, Words } kind = Kind::Uuid;
    int digits = 0;
    std::string text;
};
[[nodiscard]] Result<KeyKind> parseKeyKind(const std::string& text);  ///< Usage for anything else

/// The bundled word list (resources/demo/common-words.txt).
[[nodiscard]] const std::vector<std::string>& commonWords();

}  // namespace lpes::tasks
