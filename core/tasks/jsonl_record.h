#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/jsonl.h"
#include "core/tasks/prompt.h"

/// The user's own JSON Lines, line by line (format: core/tasks/README.md).
namespace lpes::tasks {

/// How a prompt is made and scored; the first line of a file may set it for all lines.
struct JsonlForm {
    std::string layout;    ///< "template"; empty: chosen by what the item has
    std::string document;  ///< "document"; empty: with a title where there is one
    std::string scoring = "contains";
    int maxNewTokens = 100;
    std::string system;
};

/// One item, checked.
struct JsonlItem {
    std::optional<std::string> id;
    std::string group;
    JsonlForm form;
    std::vector<std::string> documents;  ///< with their number still to be put in: `{index}` is kNumberMark
    std::vector<std::size_t> gold;       ///< ascending; empty: the evidence cannot be moved
    std::string evidenceHash;            ///< of the gold documents as the file has them; of all where none is gold
    std::string question;
    std::vector<std::string> answers;  ///< with choices: none
    std::vector<std::string> choices;
    std::size_t right = 0;  ///< of the choices

    /// Places at which the gold documents, kept together in their order, can stand.
    [[nodiscard]] int places() const;
};

/// Stands in a document for its number in the prompt. No JSON text holds it: it is no UTF-8.
inline constexpr char kNumberMark = '\xff';

/// Where faults of one line go.
using FaultSink = std::function<void(std::string field, std::string what)>;

/// What of `form` the object of a first line {"lpes_task": {…}} sets.
void readDefaults(const nlohmann::json& object, JsonlForm& form, const FaultSink& fault);
/// The item of a line. Without a fault it is complete.
[[nodiscard]] JsonlItem readJsonlItem(const nlohmann::json& object, const JsonlForm& defaults, const FaultSink& fault);

/// Placeholders of a template.
inline constexpr std::array<std::string_view, 3> kLayoutNames{"documents", "question", "choices"};
/// The default format of a document with a title.
inline constexpr std::string_view kTitledDocument = "Document [{index}](Title: {title}) {text}";
/// The default template for what an item has.
[[nodiscard]] std::string defaultLayout(bool documents, bool choices);

/// What the data set's hash is made of: what stands in prompts and scores.
[[nodiscard]] std::string packItem(const JsonlItem& item);
/// What a spool keeps: the same, and behind it what an item is told by.
[[nodiscard]] std::string spoolRecord(const JsonlItem& item);
[[nodiscard]] JsonlItem unpackJsonlItem(std::string_view bytes);

/// Benchmark::contentHash: question, answers or choices with the right one, and evidence.
[[nodiscard]] std::string contentHash(const JsonlItem& item);

/// 0 ≤ goldIndex < item.places().
[[nodiscard]] TaskPrompt renderJsonlPrompt(const JsonlItem& item, int goldIndex);

/// Names of items in one block of memory.
class IdList {
  public:
    void add(std::string_view id);
    [[nodiscard]] std::string_view at(std::size_t index) const;
    [[nodiscard]] std::size_t size() const { return m_ends.size(); }
    /// Pairs (earlier, later) of equal names, by the later one.
    [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> repeated() const;

  private:
    std::string m_text;
    std::vector<std::size_t> m_ends;
};

/// What all lines of a file have in common, and their names where they have some.
struct JsonlScan {
    JsonlReport report;
    JsonlForm form;
    bool choices = false, gold = false;
    IdList ids;  ///< empty: the lines have none
};

/// Reads the file, `limit` items of it at most, and hands on every item of a line without faults. kStoppedMessage
/// when stopped.
[[nodiscard]] Result<JsonlScan> scanJsonl(const std::filesystem::path& path, std::optional<std::int64_t> limit,
                                          const std::function<Result<void>(JsonlItem&& item)>& take,
                                          std::stop_token stop = {});

}  // namespace lpes::tasks
