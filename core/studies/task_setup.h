#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/store/rows.h"
#include "core/tasks/kv_retrieval.h"
#include "core/tasks/position.h"
#include "core/text/tokenizer.h"

namespace lpes::studies {

/// Which items are asked, as the user says it (cli.md: --task --data --pairs --keys --positions --limit --item-seed).
struct TaskSpec {
    std::string task;                 ///< "kv"; the other tasks of cli.md are refused by name
    std::optional<std::string> data;  ///< file; unset: the items are generated
    std::optional<int> pairs;         ///< unset: as many as the file has, 20 when generated
    std::optional<std::string> keys;  ///< generator; unset: "uuid". With a file: Usage
    std::string positions = "begin,middle,end";
    std::optional<std::int64_t> limit;  ///< items at most (file), items to generate (default 100)
    std::uint64_t itemSeed = 1;
};

/// Keys as on the command line, without dashes ("item_seed"). Unknown keys are errors. Round-trips.
[[nodiscard]] nlohmann::json toJson(const TaskSpec& spec);
[[nodiscard]] Result<TaskSpec> taskSpecFromJson(const nlohmann::json& json);

/// Items and positions, ready to be asked.
struct PreparedTask {
    TaskSpec spec;
    tasks::KvDataset dataset;
    std::vector<tasks::PositionSpec> positions;
    std::vector<int> goldIndices;     ///< per position
    std::vector<std::string> labels;  ///< per position

    /// nullptr when there is no such item.
    [[nodiscard]] const tasks::KvItem* find(const std::string& itemId) const;

  private:
    friend Result<PreparedTask> prepareTask(const TaskSpec& spec, std::int64_t generateCount);
    std::unordered_map<std::string, std::size_t> m_byId;
};

/// `generateCount`: items to generate when spec.limit is unset.
[[nodiscard]] Result<PreparedTask> prepareTask(const TaskSpec& spec, std::int64_t generateCount);

[[nodiscard]] store::DatasetRow datasetRow(const PreparedTask& task);

/// A prompt in tokens, with where its parts stand.
struct TokenizedPrompt {
    std::vector<text::TokenId> prompt;
    std::vector<text::TokenId> answer;
    std::string value;  ///< expected answer
    int goldIndex = 0;
    std::vector<std::pair<int, int>> records;   ///< token spans [begin, end) of the records, in prompt order
    std::pair<int, int> instruction, question;  ///< token spans
    /// First token of the gold record.
    [[nodiscard]] int goldToken() const { return records[static_cast<std::size_t>(goldIndex)].first; }
};

/// Tokenizes prompt and answer apart, without special tokens (methods.md §2, §3.1: the benchmark adds none).
/// A record's span is the tokens that begin inside `"key": "value"`.
[[nodiscard]] Result<TokenizedPrompt> tokenizeItem(const text::Tokenizer& tokenizer, const tasks::KvItem& item,
                                                   int goldIndex);

}  // namespace lpes::studies
