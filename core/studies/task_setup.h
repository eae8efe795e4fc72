#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/store/rows.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/position.h"
#include "core/text/chat_preset.h"
#include "core/text/tokenizer.h"

namespace lpes::studies {

class JsonFields;

/// Which items are asked, and how, as the user says it (cli.md, Tasks).
struct TaskSpec {
    std::string task;                 ///< "kv", "leval:quality", …
    std::optional<std::string> data;  ///< file, folder or archive; unset: the items are generated
    std::optional<int> pairs;         ///< kv: unset: as many as the file has, 20 when generated
    std::optional<std::string> keys;  ///< kv, generated; unset: "uuid"
    std::optional<int> docs;          ///< document tasks; unset: as many as the file has, 20 when they are put together
    std::optional<int> shots;         ///< mmlu, ceval; unset: 5
    std::optional<std::string> subjects;    ///< mmlu, ceval; unset: all
    std::optional<std::string> positions;   ///< unset: begin,middle,end where the evidence can be moved
    std::optional<std::int64_t> limit;      ///< items at most (file), items to generate (default 100)
    std::optional<std::uint64_t> itemSeed;  ///< of items that are drawn; unset: tasks::kDefaultItemSeed
    std::optional<std::string> chat;        ///< chat preset around the prompt; unset: none
    std::string bos = "none";  ///< "none", as the benchmarks' own scripts, or "model": as the tokenizer's files say
    std::string truncation = "none";  ///< "official": long documents are cut as the benchmark's script cuts them
    tasks::NiahSpec niah;

    [[nodiscard]] std::uint64_t seedOfItems() const { return itemSeed.value_or(tasks::kDefaultItemSeed); }
};

/// Where evidence that can be moved stands when nothing is said.
inline constexpr const char* kDefaultPositions = "begin,middle,end";

/// A chat preset as users name it: "none" is none.
[[nodiscard]] std::optional<std::string> namedPreset(std::optional<std::string> chat);

/// Keys as on the command line, without dashes ("item_seed"). Unknown keys are errors. Round-trips.
[[nodiscard]] nlohmann::json toJson(const TaskSpec& spec);
[[nodiscard]] Result<TaskSpec> taskSpecFromJson(const nlohmann::json& json);
/// Reads a task's keys out of an object that has others beside them.
void readTask(JsonFields& fields, TaskSpec& spec);
/// Takes the default seed for none in settings of runs that were stored when every task had one.
void forgetDefaultSeed(TaskSpec& spec);

/// What items are wanted for: those without a published reference can be looked at and not scored.
enum class Purpose { Scored, Shown };

/// Items and positions, ready to be asked. Copies share the items.
struct PreparedTask {
    TaskSpec spec;
    std::shared_ptr<const tasks::Benchmark> benchmark;
    std::vector<tasks::PositionSpec> positions;  ///< one that says nothing where the evidence cannot be moved
    std::vector<std::string> labels;             ///< per position
    const text::ChatPreset* chat = nullptr;

    [[nodiscard]] const tasks::BenchmarkInfo& info() const { return benchmark->info(); }
    /// Ids of all items, in their order.
    [[nodiscard]] std::vector<std::string> ids() const;
    /// No value when there is no such item.
    [[nodiscard]] std::optional<std::int64_t> find(const std::string& itemId) const;
    /// tasks::Benchmark::contentHash of an item by its id, and of several in their order. Failed where an id is none of
    /// the items'.
    [[nodiscard]] Result<std::string> contentHash(const std::string& itemId) const;
    [[nodiscard]] Result<std::vector<std::string>> contentHashes(std::span<const std::string> ids) const;
    /// Where the evidence of an item stands at a position; Usage when the item has too few places.
    [[nodiscard]] Result<int> goldIndex(std::int64_t item, int position) const;

    /// Depth of each position, 0 … 1; that of an absolute gold index in the first item.
    [[nodiscard]] std::vector<double> relativePositions() const;

  private:
    friend Result<PreparedTask> prepareTask(const TaskSpec& spec, std::int64_t generateCount,
                                            const text::Tokenizer* tokenizer, Purpose purpose, std::stop_token stop);
    std::shared_ptr<const std::unordered_map<std::string, std::int64_t>> m_byId;
};

/// What a run that is taken up again tells other prompts by: the hashes of the items and of their template.
[[nodiscard]] std::string hashOfPrompts(const tasks::BenchmarkInfo& info);

/// The content hashes of a task's items, each made once: it costs a reading of the item. thread-compatible; the task
/// must outlive it.
class ItemHashes {
  public:
    explicit ItemHashes(const PreparedTask& task) : m_task(task) {}
    [[nodiscard]] const PreparedTask& task() const { return m_task; }
    /// PreparedTask::contentHash and contentHashes.
    [[nodiscard]] Result<std::string> of(const std::string& itemId);
    [[nodiscard]] Result<std::vector<std::string>> of(std::span<const std::string> ids);

  private:
    const PreparedTask& m_task;
    std::unordered_map<std::string, std::string> m_known;
};

inline constexpr const char* kUnmovedLabel = "as given";  ///< the position of evidence that cannot be moved

/// What is wrong with the value of each key (as toJson names it) that can be told without the items; all of them, so
/// that a file's reader can name the key. Rules that depend on the task are left out where it is empty.
[[nodiscard]] std::vector<std::pair<const char*, Result<void>>> checkTaskKeys(const TaskSpec& spec);

/// `generateCount`: items to generate when spec.limit is unset. `tokenizer` may be null unless the task counts its
/// items in tokens (niah) or has a chat preset: Unsupported where the vocabulary lacks a token that the preset needs.
/// Usage where two positions of an item that is to be scored are the same gold index: it would count twice.
/// kStoppedMessage when stopped while the data is read.
[[nodiscard]] Result<PreparedTask> prepareTask(const TaskSpec& spec, std::int64_t generateCount,
                                               const text::Tokenizer* tokenizer = nullptr,
                                               Purpose purpose = Purpose::Scored, std::stop_token stop = {});

/// Usage for a score that is none, before anything is read: a typing error should cost no time.
[[nodiscard]] Result<void> checkScoreName(const std::optional<std::string>& asked);

/// `asked`, else the benchmark's own. Usage for a rule that the task does not have: a generated answer where only
/// likelihoods count, a choice where there is nothing to choose from.
[[nodiscard]] Result<tasks::ScoreKind> scoreFor(const PreparedTask& task, const std::optional<std::string>& asked);

[[nodiscard]] store::DatasetRow datasetRow(const PreparedTask& task);

}  // namespace lpes::studies
