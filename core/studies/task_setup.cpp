#include "core/studies/task_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/studies/json_rows.h"

namespace lpes::studies {

namespace {

tasks::BenchmarkSpec benchmarkSpec(const TaskSpec& spec, std::int64_t generateCount) {
    tasks::BenchmarkSpec out;
    out.task = spec.task;
    if (spec.data) out.data = *spec.data;
    out.limit = spec.limit;
    out.generateCount = generateCount;
    out.seed = spec.itemSeed;
    out.pairs = spec.pairs;
    out.keys = spec.keys;
    out.docs = spec.docs;
    out.shots = spec.shots;
    out.subjects = spec.subjects;
    out.niah = spec.niah;
    return out;
}

Result<void> checkBos(const TaskSpec& spec) {
    if (spec.bos != "none" && spec.bos != "model") {
        return fail(ErrorCode::Usage, fmt::format("--bos '{}' is not understood; use none (as the benchmarks' own "
                                                  "scripts) or model (as the tokenizer's files say)",
                                                  spec.bos));
    }
    if (spec.bos == "model" && spec.chat) {
        return fail(ErrorCode::Usage, fmt::format("--bos model and --chat {}: a chat preset has its own rule for the "
                                                  "beginning of a sequence; leave --bos out",
                                                  *spec.chat));
    }
    return {};
}

Result<void> checkTruncation(const TaskSpec& spec) {
    if (spec.truncation != "none" && spec.truncation != "official") {
        return fail(ErrorCode::Usage, fmt::format("--truncation '{}' is not understood; use none (an item that is too "
                                                  "long is left out and counted) or official",
                                                  spec.truncation));
    }
    const bool cuts = spec.task.empty() || spec.task.starts_with("zeroscrolls:") || spec.task.starts_with("leval:");
    if (spec.truncation == "official" && !cuts) {
        return fail(ErrorCode::Usage,
                    fmt::format("--truncation official: {} has no rule for cutting documents; ZeroSCROLLS and L-Eval "
                                "have one",
                                spec.task));
    }
    return {};
}

/// What is wrong with a result, without its value.
template <class T>
Result<void> verdictOn(const Result<T>& result) {
    if (result) return {};
    return fail(result.error());
}

/// Positions where evidence is asked for; a single one without a place where it cannot be moved.
Result<std::vector<tasks::PositionSpec>> positionsOf(const TaskSpec& spec, bool movable) {
    if (movable) return tasks::parsePositions(*spec.positions);
    if (spec.positions) {
        return fail(ErrorCode::Usage, fmt::format("--positions {}: the evidence of {} cannot be moved; leave "
                                                  "--positions out",
                                                  *spec.positions, spec.task));
    }
    return std::vector<tasks::PositionSpec>{{kUnmovedLabel, std::nullopt, 0}};
}

/// Those positions of a task that are another place than each before them, in every item, as --positions takes them.
std::string distinctPositions(const PreparedTask& task) {
    std::set<int> records;
    for (std::int64_t item = 0; item < task.benchmark->size(); ++item) records.insert(task.benchmark->places(item));
    std::vector<std::size_t> kept;
    const auto isTaken = [&](std::size_t position, int count) {
        const auto gold = task.positions[position].goldIndex(count);
        return !gold || std::ranges::any_of(
                            kept, [&](std::size_t other) { return task.positions[other].goldIndex(count) == *gold; });
    };
    std::string list;
    for (std::size_t position = 0; position < task.positions.size(); ++position) {
        if (std::ranges::any_of(records, [&](int count) { return isTaken(position, count); })) continue;
        kept.push_back(position);
        list += (list.empty() ? "" : ",") + task.labels[position];
    }
    return list;
}

/// What makes a prompt with more records, where the user has a say in it.
std::string moreRecords(const TaskSpec& spec) {
    if (spec.task == "kv" && !spec.data) return ", or ask for more records with --pairs";
    if (spec.task == "mdqa-random") return ", or ask for more records with --docs";
    if (spec.task == "niah") return ", or ask for more records with --length";
    return {};
}

/// Gold indices are there, and each is another one: a prompt that is counted twice is not two measurements.
Result<void> checkPlaces(const PreparedTask& task, std::int64_t item, bool scored) {
    std::vector<int> taken;
    for (std::size_t position = 0; position < task.positions.size(); ++position) {
        const auto gold = task.goldIndex(item, static_cast<int>(position));
        if (!gold) return fail(gold.error());
        const auto same = std::ranges::find(taken, *gold);
        if (scored && same != taken.end()) {
            return fail(ErrorCode::Usage,
                        fmt::format("positions '{}' and '{}' are one place, #{}, among the {} records of item '{}'; "
                                    "each stands at a place of its own with --positions {}{}",
                                    task.labels[static_cast<std::size_t>(same - taken.begin())], task.labels[position],
                                    *gold, task.benchmark->places(item), task.benchmark->id(item),
                                    distinctPositions(task), moreRecords(task.spec)));
        }
        taken.push_back(*gold);
    }
    return {};
}

}  // namespace

nlohmann::json toJson(const TaskSpec& spec) {
    return {{"task", spec.task},
            {"data", optionalJson(spec.data)},
            {"pairs", optionalJson(spec.pairs)},
            {"keys", optionalJson(spec.keys)},
            {"docs", optionalJson(spec.docs)},
            {"shots", optionalJson(spec.shots)},
            {"subjects", optionalJson(spec.subjects)},
            {"positions", optionalJson(spec.positions)},
            {"limit", optionalJson(spec.limit)},
            {"item_seed", optionalJson(spec.itemSeed)},
            {"chat", optionalJson(spec.chat)},
            {"bos", spec.bos},
            {"truncation", spec.truncation},
            {"haystack", spec.niah.haystack},
            {"length", spec.niah.length},
            {"needle_keys", spec.niah.keys},
            {"needle_values", spec.niah.values},
            {"needle_queries", spec.niah.queries},
            {"needle_key_kind", spec.niah.keyKind},
            {"needle_value_kind", spec.niah.valueKind}};
}

std::optional<std::string> namedPreset(std::optional<std::string> chat) {
    if (chat == text::kNoChatPreset) chat.reset();
    return chat;
}

void readTask(JsonFields& fields, TaskSpec& spec) {
    fields.read("task", spec.task);
    fields.read("data", spec.data);
    fields.read("pairs", spec.pairs);
    fields.read("keys", spec.keys);
    fields.read("docs", spec.docs);
    fields.read("shots", spec.shots);
    fields.read("subjects", spec.subjects);
    fields.read("positions", spec.positions);
    fields.read("limit", spec.limit);
    fields.read("item_seed", spec.itemSeed);
    fields.read("chat", spec.chat);
    spec.chat = namedPreset(spec.chat);
    fields.read("bos", spec.bos);
    fields.read("truncation", spec.truncation);
    fields.read("haystack", spec.niah.haystack);
    fields.read("length", spec.niah.length);
    fields.read("needle_keys", spec.niah.keys);
    fields.read("needle_values", spec.niah.values);
    fields.read("needle_queries", spec.niah.queries);
    fields.read("needle_key_kind", spec.niah.keyKind);
    fields.read("needle_value_kind", spec.niah.valueKind);
}

void forgetDefaultSeed(TaskSpec& spec) {
    if (spec.itemSeed == tasks::kDefaultItemSeed) spec.itemSeed.reset();
}

Result<TaskSpec> taskSpecFromJson(const nlohmann::json& json) {
    TaskSpec spec;
    JsonFields fields(json, "task");
    readTask(fields, spec);
    if (auto done = fields.finish(); !done) return fail(done.error());
    return spec;
}

std::vector<std::string> PreparedTask::ids() const {
    std::vector<std::string> ids;
    ids.reserve(static_cast<std::size_t>(benchmark->size()));
    for (std::int64_t i = 0; i < benchmark->size(); ++i) ids.push_back(benchmark->id(i));
    return ids;
}

std::optional<std::int64_t> PreparedTask::find(const std::string& itemId) const {
    const auto it = m_byId->find(itemId);
    return it == m_byId->end() ? std::nullopt : std::optional(it->second);
}

Result<std::string> PreparedTask::contentHash(const std::string& itemId) const {
    const auto item = find(itemId);
    if (!item) return fail(ErrorCode::Failed, fmt::format("'{}' has no item '{}'", info().name, itemId));
    return benchmark->contentHash(*item);
}

std::string hashOfPrompts(const tasks::BenchmarkInfo& info) {
    return info.hash + ":" + info.templateHash;
}

Result<std::vector<std::string>> PreparedTask::contentHashes(std::span<const std::string> ids) const {
    std::vector<std::string> hashes;
    hashes.reserve(ids.size());
    for (const std::string& id : ids) {
        auto hash = contentHash(id);
        if (!hash) return fail(hash.error());
        hashes.push_back(std::move(*hash));
    }
    return hashes;
}

Result<std::string> ItemHashes::of(const std::string& itemId) {
    if (const auto known = m_known.find(itemId); known != m_known.end()) return known->second;
    auto hash = m_task.contentHash(itemId);
    if (hash) m_known.emplace(itemId, *hash);
    return hash;
}

Result<std::vector<std::string>> ItemHashes::of(std::span<const std::string> ids) {
    std::vector<std::string> hashes;
    hashes.reserve(ids.size());
    for (const std::string& id : ids) {
        auto hash = of(id);
        if (!hash) return fail(hash.error());
        hashes.push_back(std::move(*hash));
    }
    return hashes;
}

Result<int> PreparedTask::goldIndex(std::int64_t item, int position) const {
    auto index = positions[static_cast<std::size_t>(position)].goldIndex(benchmark->places(item));
    if (!index) index.error().context = "item " + benchmark->id(item);
    return index;
}

std::vector<double> PreparedTask::relativePositions() const {
    std::vector<double> depths;
    const double last = benchmark->size() > 0 ? std::max(1, benchmark->places(0) - 1) : 1;
    for (const tasks::PositionSpec& position : positions)
        depths.push_back(position.relative.value_or(position.index.value_or(0) / last));
    return depths;
}

std::vector<std::pair<const char*, Result<void>>> checkTaskKeys(const TaskSpec& spec) {
    std::vector<std::pair<const char*, Result<void>>> keys;
    if (spec.limit && *spec.limit < 1) {
        keys.emplace_back(
            "limit", fail(ErrorCode::Usage, fmt::format("--limit {} leaves no items; give at least 1", *spec.limit)));
    }
    keys.emplace_back("bos", checkBos(spec));
    keys.emplace_back("truncation", checkTruncation(spec));
    if (spec.chat) keys.emplace_back("chat", verdictOn(text::findChatPreset(*spec.chat)));
    if (spec.positions) keys.emplace_back("positions", verdictOn(tasks::parsePositions(*spec.positions)));
    return keys;
}

Result<PreparedTask> prepareTask(const TaskSpec& spec, std::int64_t generateCount, const text::Tokenizer* tokenizer,
                                 Purpose purpose, std::stop_token stop) {
    // Ahead of the data, which may take a while: a typing error should cost no time.
    for (const auto& [key, valid] : checkTaskKeys(spec)) {
        if (!valid) return fail(valid.error());
    }
    PreparedTask task;
    task.spec = spec;
    if (spec.chat) {
        const auto preset = text::findChatPreset(*spec.chat);
        if (!preset) return fail(preset.error());
        if (tokenizer != nullptr) {
            if (auto known = text::checkChatPreset(*tokenizer, **preset); !known) return fail(known.error());
        }
        task.chat = *preset;
    }
    tasks::BenchmarkSpec wanted = benchmarkSpec(spec, generateCount);
    wanted.promptsOnly = purpose == Purpose::Shown;
    wanted.stop = std::move(stop);
    auto benchmark = tasks::openBenchmark(wanted, tokenizer);
    if (!benchmark) return fail(benchmark.error());
    task.benchmark = std::move(*benchmark);
    // Resolved, so that what is stored with a run says which items it drew and where their evidence stood.
    if (tasks::drawsItems(wanted)) task.spec.itemSeed = spec.seedOfItems();
    if (task.info().movable && !spec.positions) task.spec.positions = kDefaultPositions;
    auto positions = positionsOf(task.spec, task.info().movable);
    if (!positions) return fail(positions.error());
    task.positions = std::move(*positions);
    for (const tasks::PositionSpec& position : task.positions) task.labels.push_back(position.label);
    auto byId = std::make_shared<std::unordered_map<std::string, std::int64_t>>();
    for (std::int64_t i = 0; i < task.benchmark->size(); ++i) {
        if (auto places = checkPlaces(task, i, purpose == Purpose::Scored); !places) return fail(places.error());
        byId->emplace(task.benchmark->id(i), i);
    }
    task.m_byId = std::move(byId);
    return task;
}

Result<void> checkScoreName(const std::optional<std::string>& asked) {
    if (!asked || *asked == "auto") return {};
    const auto score = tasks::parseScoreKind(*asked);
    if (!score) return fail(score.error());
    return {};
}

Result<tasks::ScoreKind> scoreFor(const PreparedTask& task, const std::optional<std::string>& asked) {
    using Kind = tasks::ScoreKind::Kind;
    const tasks::ScoreKind& own = task.info().defaultScore;
    if (!asked || *asked == "auto") return own;
    auto score = tasks::parseScoreKind(*asked);
    if (!score) return score;
    const bool byChoice = own.kind == Kind::Choice;
    if (score->kind == Kind::Choice && !byChoice) {
        return fail(ErrorCode::Usage,
                    fmt::format("--score choice: {} has no choices; its own score is {}", task.spec.task, own.text));
    }
    if (score->kind == Kind::Generate && byChoice) {
        return fail(ErrorCode::Usage, fmt::format("--score generate: {} is scored by the likeliest choice and not by a "
                                                  "generated text; use --score choice",
                                                  task.spec.task));
    }
    return score;
}

store::DatasetRow datasetRow(const PreparedTask& task) {
    const tasks::BenchmarkInfo& info = task.info();
    store::DatasetRow row;
    row.hash = info.hash;
    row.task = task.spec.task;
    row.name = info.name;
    row.templateHash = info.templateHash;
    row.items = task.benchmark->size();
    row.specJson = toJson(task.spec).dump();
    return row;
}

}  // namespace lpes::studies
