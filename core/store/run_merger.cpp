#include "core/store/run_merger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace lpes::store {

namespace {

constexpr const char* kNotEnded = "it had not ended when its rows were copied";

bool isLive(const std::string& state) {
    return state == "running" || state == "paused";
}

/// Whether the other copy's row of a run is the later one.
bool isNewer(const std::string& state, std::int64_t heartbeatMs, const std::string& knownState,
             std::int64_t knownHeartbeatMs) {
    const bool finished = state == "finished", knownFinished = knownState == "finished";
    // Of two copies with one sign of life the arriving one may have more: rows come more often than signs of life.
    return finished != knownFinished ? finished : heartbeatMs >= knownHeartbeatMs;
}

}  // namespace

std::vector<std::string> RunMerger::tablesOfRuns() {
    return {"split_items", "generations", "candidates", "training_steps", "profiles"};
}

std::vector<std::string> RunMerger::tablesOfVariants() {
    return {"outcomes", "slopes", "positions", "attention", "deviations"};
}

std::vector<MergedRun> RunMerger::mergeAll() {
    for (const char* table : {"models", "datasets"}) {
        const std::string columns = fmt::format("{}", fmt::join(columnsOf(table, {"id"}), ", "));
        m_connection.database().exec(
            fmt::format("INSERT OR IGNORE INTO main.{0} ({1}) SELECT {1} FROM other.{0} ORDER BY id", table, columns));
    }
    std::vector<Other> others = readOthers();
    for (Other& other : others) mergeOne(other);
    std::vector<MergedRun> merged;
    for (Other& other : others) {
        copyProfiles(other);
        renumberTexts(other);
        merged.push_back(std::move(other.merged));
    }
    return merged;
}

std::vector<RunMerger::Other> RunMerger::readOthers() {
    std::vector<Other> others;
    Query query = m_connection.query(
        "SELECT o.id, o.kind, o.label, o.state, o.heartbeat_ms, o.settings_json, m.id, d.id FROM other.runs o "
        "LEFT JOIN other.models om ON om.id = o.model_id LEFT JOIN main.models m ON m.fingerprint = om.fingerprint AND "
        "m.weights_hash = om.weights_hash AND m.tokenizer_fingerprint = om.tokenizer_fingerprint AND m.path = om.path "
        "LEFT JOIN other.datasets od ON od.id = o.dataset_id LEFT JOIN main.datasets d ON d.hash = od.hash AND "
        "d.task = od.task AND d.template_hash = od.template_hash ORDER BY o.id");
    while (query.next()) {
        Other other;
        other.merged.from = query.integer(0);
        other.merged.kind = query.text(1);
        other.merged.label = query.text(2);
        other.state = query.text(3);
        other.merged.ended = !isLive(other.state);
        other.heartbeatMs = query.integer(4);
        other.settingsJson = query.text(5);
        if (!query.null(6)) other.modelId = query.integer(6);
        if (!query.null(7)) other.datasetId = query.integer(7);
        others.push_back(std::move(other));
    }
    return others;
}

std::optional<RunMerger::Known> RunMerger::find(const Other& other) {
    const std::string settings = comparableSettings(other.settingsJson);
    Query query = m_connection.query(
        "SELECT r.id, r.heartbeat_ms, r.state, r.settings_json FROM main.runs r JOIN other.runs o ON o.id = ? "
        "WHERE r.kind = o.kind AND r.created_ms = o.created_ms AND r.seed = o.seed AND r.model_id IS ? AND "
        "r.dataset_id IS ? ORDER BY r.id");
    query.bind(other.merged.from, other.modelId, other.datasetId);
    while (query.next()) {
        if (comparableSettings(query.text(3)) == settings)
            return Known{query.integer(0), query.integer(1), query.text(2)};
    }
    return std::nullopt;
}

void RunMerger::mergeOne(Other& other) {
    const std::optional<Known> known = find(other);
    const std::int64_t before = known ? rowsOf(known->id) : 0;
    const bool newer = !known || isNewer(other.state, other.heartbeatMs, known->state, known->heartbeatMs);
    if (newer) {
        copyRun(other, known);
    } else {
        other.merged.to = known->id;
    }
    m_numbers[other.merged.from] = other.merged.to;
    copyRows(other, newer ? "REPLACE" : "IGNORE");
    using Change = MergedRun::Change;
    if (!known) {
        other.merged.change = Change::Added;
        return;
    }
    const std::string& state = isLive(other.state) ? std::string("interrupted") : other.state;
    const bool sameRow = !newer || (other.heartbeatMs == known->heartbeatMs && state == known->state);
    other.merged.change = sameRow && rowsOf(known->id) == before ? Change::Unchanged : Change::Updated;
}

void RunMerger::copyRun(Other& other, const std::optional<Known>& known) {
    std::vector<std::string> without{"id", "model_id", "dataset_id"};
    // The settings of two copies differ in the number of the whole alone, and ours is right.
    if (known) without.push_back("settings_json");
    const std::string columns = fmt::format("{}", fmt::join(columnsOf("runs", without), ", "));
    if (known) {
        other.merged.to = known->id;
        execute(fmt::format("UPDATE main.runs SET ({0}) = (SELECT {0} FROM other.runs WHERE id = ?1) WHERE id = ?2",
                            columns),
                other.merged.from, known->id);
    } else {
        SQLite::Statement insert(
            m_connection.database(),
            fmt::format("INSERT INTO main.runs ({0}) SELECT {0} FROM other.runs WHERE id = ?1", columns));
        insert.bind(1, other.merged.from);
        insert.exec();
        other.merged.to = m_connection.database().getLastInsertRowid();
        m_connection.query("UPDATE main.runs SET model_id = ?, dataset_id = ? WHERE id = ?")
            .bind(other.modelId, other.datasetId, other.merged.to)
            .run();
    }
    if (!other.merged.ended) {
        m_connection
            .query("UPDATE main.runs SET state = 'interrupted', ended_ms = heartbeat_ms, end_reason = ? WHERE id = ?")
            .bind(std::string_view(kNotEnded), other.merged.to)
            .run();
    }
}

void RunMerger::copyRows(const Other& other, const std::string& verb) {
    const std::int64_t from = other.merged.from, to = other.merged.to;
    execute(
        "INSERT OR IGNORE INTO main.variants (run_id, name, scales_json, scales_key) "
        "SELECT ?2, name, scales_json, scales_key FROM other.variants WHERE run_id = ?1 ORDER BY id",
        from, to);
    // From a variant of the other run to the same one of ours.
    constexpr const char* kVariants =
        "other.variants ov JOIN main.variants mv ON mv.run_id = ?2 AND mv.scales_key = ov.scales_key";
    for (const std::string& table : tablesOfRuns()) {
        if (table == "profiles") continue;  // copyProfiles
        const std::vector<std::string> columns = columnsOf(table, {"run_id", "variant_id"});
        const bool hasVariant = table == "candidates";
        execute(fmt::format("INSERT OR {} INTO main.{} (run_id, {}{}) SELECT ?2, {}t.{} FROM other.{} t "
                            "WHERE t.run_id = ?1",
                            verb, table, hasVariant ? "variant_id, " : "", fmt::join(columns, ", "),
                            hasVariant ? fmt::format("(SELECT mv.id FROM {} WHERE ov.id = t.variant_id), ", kVariants)
                                       : std::string(),
                            fmt::join(columns, ", t."), table),
                from, to);
    }
    for (const std::string& table : tablesOfVariants()) {
        const std::vector<std::string> columns = columnsOf(table, {"variant_id"});
        execute(fmt::format("INSERT OR {} INTO main.{} (variant_id, {}) SELECT mv.id, t.{} FROM {} "
                            "JOIN other.{} t ON t.variant_id = ov.id WHERE ov.run_id = ?1",
                            verb, table, fmt::join(columns, ", "), fmt::join(columns, ", t."), kVariants, table),
                from, to);
    }
}

void RunMerger::copyProfiles(const Other& other) {
    std::vector<std::pair<std::int64_t, std::string>> profiles;
    {
        Query query = m_connection.query("SELECT created_ms, json FROM other.profiles WHERE run_id = ? ORDER BY id");
        query.bind(other.merged.from);
        while (query.next()) profiles.emplace_back(query.integer(0), renumbered(query.text(1), m_numbers));
    }
    for (const auto& [createdMs, json] : profiles) {
        m_connection
            .query(
                "INSERT INTO main.profiles (run_id, created_ms, json) SELECT ?1, ?2, ?3 WHERE NOT EXISTS "
                "(SELECT 1 FROM main.profiles WHERE run_id = ?1 AND json = ?3)")
            .bind(other.merged.to, createdMs, json)
            .run();
    }
}

void RunMerger::renumberTexts(const Other& other) {
    std::string settings, result;
    {
        Query query = m_connection.query("SELECT settings_json, result_json FROM main.runs WHERE id = ?");
        if (!query.bind(other.merged.to).next()) return;
        settings = query.text(0);
        result = query.text(1);
    }
    std::string otherResult;
    {
        Query query = m_connection.query("SELECT result_json FROM other.runs WHERE id = ?");
        if (query.bind(other.merged.from).next()) otherResult = query.text(0);
    }
    // A row of ours that was kept, because it is the later one, has our numbers already.
    const bool arrived = result == otherResult;
    if (arrived) result = renumbered(result, m_numbers);
    if (const std::optional<std::int64_t> whole = wholeOf(other.settingsJson)) {
        const auto number = m_numbers.find(*whole);
        const bool known = number != m_numbers.end();
        // A part that comes without its whole is a run of its own, unless it was here as a part before.
        if (known || other.merged.change == MergedRun::Change::Added) {
            const auto name = known ? std::optional<std::int64_t>(number->second) : std::nullopt;
            settings = withWhole(settings, name);
            if (arrived) result = withWhole(result, name);
        }
    }
    m_connection.query("UPDATE main.runs SET settings_json = ?, result_json = ? WHERE id = ?")
        .bind(settings, result, other.merged.to)
        .run();
}

std::vector<std::string> RunMerger::columnsOf(const std::string& table, const std::vector<std::string>& without) {
    std::vector<std::string> columns;
    Query query = m_connection.query("SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid");
    query.bind(table);
    while (query.next()) {
        std::string name = query.text(0);
        if (std::find(without.begin(), without.end(), name) == without.end()) columns.push_back(std::move(name));
    }
    return columns;
}

std::int64_t RunMerger::rowsOf(std::int64_t runId) {
    std::int64_t rows = 0;
    const auto count = [&](const std::string& sql) {
        SQLite::Statement statement(m_connection.database(), sql);
        statement.bind(1, runId);
        if (statement.executeStep()) rows += statement.getColumn(0).getInt64();
    };
    for (const std::string& table : tablesOfRuns()) {
        count(fmt::format("SELECT count(*) FROM main.{} WHERE run_id = ?", table));
    }
    for (const std::string& table : tablesOfVariants()) {
        count(
            fmt::format("SELECT count(*) FROM main.variants v JOIN main.{} t ON t.variant_id = v.id "
                        "WHERE v.run_id = ?",
                        table));
    }
    return rows;
}

void RunMerger::execute(const std::string& sql, std::int64_t first, std::int64_t second) {
    SQLite::Statement statement(m_connection.database(), sql);
    statement.bind(1, first);
    statement.bind(2, second);
    statement.exec();
}

}  // namespace lpes::store
