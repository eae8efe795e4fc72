#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
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

struct KvDataset {
    std::string name;  ///< the file's name or the generator's spelling
    std::string hash;  ///< SHA-256 over the items (ids, pairs, gold), independent of file compression
    int pairs = 0;     ///< pairs in a prompt
    std::vector<KvItem> items;
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

/// Score of the benchmark on a generated text: the value occurs in it, both lower-cased (whole text).
[[nodiscard]] bool kvGeneratedCorrect(std::string_view generated, std::string_view value);

/// Reads the official file (.jsonl or .jsonl.gz), line by line. With `pairs` the item is cut down: the gold pair is
/// taken out, the first pairs−1 others are kept (methods.md §3.1). `limit`: at most that many items, in file order.
/// BadInput with file, line and field for malformed JSON, a missing field, a key that is not among the records, records
/// of unequal number between lines, fewer records than `pairs`, an empty file, a damaged gzip stream.
[[nodiscard]] Result<KvDataset> readKvFile(const std::filesystem::path& path, std::optional<int> pairs,
                                           std::optional<std::int64_t> limit);

/// What keys and values are made of: "uuid" (version 4 layout), "hex:N" (N hexadecimal digits), "words" (from `words`).
struct KeyKind {
    enum class Kind { Uuid, Hex, Words } kind = Kind::Uuid;
    int digits = 0;
    std::string text;
};
[[nodiscard]] Result<KeyKind> parseKeyKind(const std::string& text);  ///< Usage for anything else

/// Generates `count` items. Item i depends on (seed, i) alone. Keys are distinct within a prompt, and so are values.
/// Usage when there are not enough different keys for `pairs` (names both numbers).
[[nodiscard]] Result<KvDataset> generateKv(const KeyKind& keys, int pairs, std::int64_t count, std::uint64_t seed,
                                           std::span<const std::string> words);

/// The bundled word list (resources/demo/common-words.txt).
[[nodiscard]] const std::vector<std::string>& commonWords();

}  // namespace lpes::tasks
