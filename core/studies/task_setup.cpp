#include "core/studies/task_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/studies/json_rows.h"

namespace lpes::studies {

namespace {

/// First token that begins at or after `byte`.
int tokenAt(const text::Encoding& encoding, std::size_t byte) {
    const auto it = std::lower_bound(encoding.byteBegin.begin(), encoding.byteBegin.end(), byte);
    return static_cast<int>(it - encoding.byteBegin.begin());
}

Result<void> checkTaskName(const std::string& task) {
    if (task == "kv") return {};
    static constexpr const char* kLater[] = {"mdqa", "mdqa-random", "mmlu", "ceval", "niah", "jsonl"};
    const bool known = std::find(std::begin(kLater), std::end(kLater), task) != std::end(kLater) ||
                       task.starts_with("zeroscrolls:") || task.starts_with("leval:");
    if (known) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("task '{}' is not available in this version; available: kv", task));
    }
    return fail(ErrorCode::Usage, fmt::format("unknown task '{}'; available: kv", task));
}

}  // namespace

nlohmann::json toJson(const TaskSpec& spec) {
    return {{"task", spec.task},
            {"data", optionalJson(spec.data)},
            {"pairs", optionalJson(spec.pairs)},
            {"keys", optionalJson(spec.keys)},
            {"positions", spec.positions},
            {"limit", optionalJson(spec.limit)},
            {"item_seed", spec.itemSeed}};
}

Result<TaskSpec> taskSpecFromJson(const nlohmann::json& json) {
    TaskSpec spec;
    JsonFields fields(json, "task");
    fields.read("task", spec.task);
    fields.read("data", spec.data);
    fields.read("pairs", spec.pairs);
    fields.read("keys", spec.keys);
    fields.read("positions", spec.positions);
    fields.read("limit", spec.limit);
    fields.read("item_seed", spec.itemSeed);
    if (auto done = fields.finish(); !done) return fail(done.error());
    return spec;
}

const tasks::KvItem* PreparedTask::find(const std::string& itemId) const {
    const auto it = m_byId.find(itemId);
    return it == m_byId.end() ? nullptr : &dataset.items[it->second];
}

Result<PreparedTask> prepareTask(const TaskSpec& spec, std::int64_t generateCount) {
    if (auto known = checkTaskName(spec.task); !known) return fail(known.error());
    if (spec.pairs && *spec.pairs < 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("--pairs {} is too small; a prompt needs at least 1 pair", *spec.pairs));
    }
    if (spec.limit && *spec.limit < 1) {
        return fail(ErrorCode::Usage, fmt::format("--limit {} leaves no items; give at least 1", *spec.limit));
    }
    PreparedTask task;
    task.spec = spec;
    if (spec.data) {
        if (spec.keys) {
            return fail(ErrorCode::Usage,
                        "--keys generates items and --data reads them from a file; give one of the two");
        }
        auto dataset = tasks::readKvFile(*spec.data, spec.pairs, spec.limit);
        if (!dataset) return fail(dataset.error());
        task.dataset = std::move(*dataset);
    } else {
        auto keys = tasks::parseKeyKind(spec.keys.value_or("uuid"));
        if (!keys) return fail(keys.error());
        auto dataset = tasks::generateKv(*keys, spec.pairs.value_or(20), spec.limit.value_or(generateCount),
                                         spec.itemSeed, tasks::commonWords());
        if (!dataset) return fail(dataset.error());
        task.dataset = std::move(*dataset);
    }
    auto positions = tasks::parsePositions(spec.positions);
    if (!positions) return fail(positions.error());
    task.positions = std::move(*positions);
    for (const tasks::PositionSpec& position : task.positions) {
        auto gold = position.goldIndex(task.dataset.pairs);
        if (!gold) return fail(gold.error());
        task.goldIndices.push_back(*gold);
        task.labels.push_back(position.label);
    }
    for (std::size_t i = 0; i < task.dataset.items.size(); ++i) task.m_byId.emplace(task.dataset.items[i].id, i);
    return task;
}

store::DatasetRow datasetRow(const PreparedTask& task) {
    store::DatasetRow row;
    row.hash = task.dataset.hash;
    row.task = task.spec.task;
    row.name = task.dataset.name;
    row.templateHash = tasks::kvTemplateHash();
    row.items = static_cast<std::int64_t>(task.dataset.items.size());
    row.specJson = toJson(task.spec).dump();
    return row;
}

Result<TokenizedPrompt> tokenizeItem(const text::Tokenizer& tokenizer, const tasks::KvItem& item, int goldIndex) {
    const tasks::RenderedPrompt rendered = tasks::renderKvPrompt(item, goldIndex);
    auto prompt = tokenizer.encode(rendered.prompt);
    if (!prompt) return fail(prompt.error());
    auto answer = tokenizer.encode(rendered.answer);
    if (!answer) return fail(answer.error());
    const auto span = [&](const tasks::ByteSpan& bytes) {
        return std::pair<int, int>(tokenAt(*prompt, bytes.begin), tokenAt(*prompt, bytes.end));
    };
    TokenizedPrompt tokens;
    tokens.value = rendered.value;
    tokens.goldIndex = rendered.goldIndex;
    for (const tasks::ByteSpan& record : rendered.records) tokens.records.push_back(span(record));
    tokens.instruction = span(rendered.instruction);
    tokens.question = span(rendered.question);
    tokens.prompt = std::move(prompt->ids);
    tokens.answer = std::move(answer->ids);
    return tokens;
}

}  // namespace lpes::studies
