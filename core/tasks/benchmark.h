#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/prompt.h"
#include "core/tasks/score_kind.h"
#include "core/text/tokenizer.h"

namespace lpes::tasks {

/// What a set of items is, as it is stored with every run.
struct BenchmarkInfo {
    std::string task;          ///< "mdqa", "leval:quality": as cli.md spells it
    std::string name;          ///< data set's name: the file's name, or what the generator makes ("MDQA-random …")
    std::string hash;          ///< SHA-256 over the items, independent of file compression and of `limit`s beyond them
    std::string templateHash;  ///< SHA-256 over the texts of the prompt template
    std::string templateText;  ///< the template, readable, with its placeholders; what templateHash is made of
    bool movable = false;      ///< the evidence can stand at several places of one item
    ScoreKind defaultScore;    ///< the benchmark's own: Generate, Strict or Choice
};

/// The items of one task, ready to be asked for their prompts. Memory is bounded whatever the file's size: an index of
/// the items is held, their texts are not (RecordSpool).
/// thread-safe: prompt() may be called by several workers at the same time.
class Benchmark {
  public:
    virtual ~Benchmark() = default;
    [[nodiscard]] virtual const BenchmarkInfo& info() const = 0;
    [[nodiscard]] virtual std::int64_t size() const = 0;
    /// Stable within its data set and different for every item: "<data set>/<index>", "anatomy/17".
    [[nodiscard]] virtual std::string id(std::int64_t item) const = 0;
    /// What items are summed up by beside the whole: MMLU's subject, a topic-retrieval question's kind; empty: nothing.
    [[nodiscard]] virtual std::string group(std::int64_t item) const {
        static_cast<void>(item);
        return {};
    }
    /// Places at which the evidence can stand; 1 where it cannot be moved.
    [[nodiscard]] virtual int places(std::int64_t item) const = 0;
    /// What tells the item from others whatever its file is called, wherever it stands in it and however it is asked:
    /// 32 hexadecimal digits over question, answers and evidence. The same question among other distractors, with other
    /// examples or under another template is the same item (core/tasks/README.md says what counts in which task). Costs
    /// a reading of the item, so it is asked of those that matter alone. Failed as prompt().
    [[nodiscard]] virtual Result<std::string> contentHash(std::int64_t item) const = 0;
    /// 0 ≤ goldIndex < places(item). Failed when the spool cannot be read back.
    [[nodiscard]] virtual Result<TaskPrompt> prompt(std::int64_t item, int goldIndex,
                                                    const PromptOptions& options = {}) const = 0;
};

/// Needle in a haystack: RULER's kinds (methods.md names them; NVIDIA/RULER, niah).
struct NiahSpec {
    std::string haystack =
        "noise";        ///< "noise" (RULER's repeated sentences), "needle" (other needles), "essay" (--data)
    int length = 2000;  ///< tokens of the prompt with this tokenizer and of the answer's room (128), at most
    int keys = 1;       ///< needles of different keys hidden in the text
    int values = 1;     ///< needles with the asked key
    int queries = 1;    ///< keys that are asked for
    std::string keyKind = "words", valueKind = "numbers";  ///< "words", "numbers", "uuids"
    bool operator==(const NiahSpec&) const = default;
};

inline constexpr std::uint64_t kDefaultItemSeed = 1;

/// Which items are wanted.
struct BenchmarkSpec {
    std::string task;                           ///< "kv", "mdqa", … (cli.md, Tasks)
    std::optional<std::filesystem::path> data;  ///< file, folder or archive; unset: the items are generated
    std::optional<std::int64_t> limit;          ///< items at most
    std::int64_t generateCount = 100;           ///< items to generate when `limit` is unset
    std::optional<std::uint64_t> seed;          ///< of items that are drawn; unset: kDefaultItemSeed
    std::optional<int> pairs;                   ///< kv
    std::optional<std::string> keys;            ///< kv, generated: uuid, hex:N, words
    std::optional<int> docs;                    ///< mdqa-random: documents in a prompt (20 when unset); mdqa: checked
    std::optional<int> shots;                   ///< mmlu, ceval: few-shot examples (5 when unset)
    std::optional<std::string> subjects;        ///< mmlu, ceval: comma-separated; unset: all
    /// zeroscrolls: take items without a reference (the official test files have none); they cannot be scored.
    bool promptsOnly = false;
    NiahSpec niah;
    std::stop_token stop;  ///< ends the reading of `data` with kStoppedMessage
};

/// Does a seed decide on the items?
[[nodiscard]] bool drawsItems(const BenchmarkSpec& spec);

/// Has the task (an unknown one: no) an option: "data", "pairs", "keys", "docs", "shots", "subjects", or "niah" for all
/// that decide on needles and haystack?
[[nodiscard]] bool hasTaskOption(const BenchmarkSpec& spec, std::string_view option);

/// Usage for an option that the task does not have, which would be ignored (a seed where nothing is drawn, too), and
/// for a limit below 1.
[[nodiscard]] Result<void> checkTaskOptions(const BenchmarkSpec& spec);

/// Opens a task's items. `tokenizer` is needed by niah alone (Usage without one). Usage for an unknown task, with the
/// names that there are, and for an option that the task does not have; BadInput with file, line and field for
/// malformed data; kStoppedMessage when spec.stop was stopped meanwhile.
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openBenchmark(const BenchmarkSpec& spec,
                                                                     const text::Tokenizer* tokenizer = nullptr);

// One function per family of tasks; openBenchmark chooses.
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openKv(const BenchmarkSpec& spec);
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openMdqa(const BenchmarkSpec& spec);        ///< official files
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openMdqaRandom(const BenchmarkSpec& spec);  ///< oracle file
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openNiah(const BenchmarkSpec& spec,
                                                                const text::Tokenizer& tokenizer);
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openJsonl(const BenchmarkSpec& spec);  ///< the user's own
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openZeroScrolls(const BenchmarkSpec& spec);
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openLEval(const BenchmarkSpec& spec);
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openMmlu(const BenchmarkSpec& spec);
[[nodiscard]] Result<std::shared_ptr<const Benchmark>> openCEval(const BenchmarkSpec& spec);

}  // namespace lpes::tasks
