#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "core/store/names.h"
#include "core/store/number_text.h"
#include "core/store/sql_reader.h"

namespace lpes::store {

namespace {

const std::string kSelectRuns =
    "SELECT id, kind, state, model_id, dataset_id, label, settings_json, seed, tool_version, libtorch_version, device, "
    "device_description, compute_type, threads_per_worker, workers, batch_size, host, pid, created_ms, ended_ms, "
    "heartbeat_ms, elapsed_seconds, end_reason, error, result_json FROM runs ";
const std::string kSelectAllRuns = kSelectRuns + "ORDER BY id DESC";
const std::string kSelectOneRun = kSelectRuns + "WHERE id = ?";

bool seedFromText(const std::string& text, std::uint64_t& seed) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

SqlReader::SqlReader(std::unique_ptr<Connection> connection, WriterAlive writerAlive)
    : m_owned(std::move(connection)), m_connection(m_owned.get()), m_writerAlive(std::move(writerAlive)) {}

SqlReader::SqlReader(Connection& connection, std::mutex& mutex)
    : m_connection(&connection), m_mutex(&mutex), m_writerAlive([] { return Result<bool>(true); }) {}

Error SqlReader::nonsense(const std::string& what) const {
    return {ErrorCode::Database,
            fmt::format("the data base '{}' is damaged: {}; restore a backup of it or name another one with --db",
                        m_connection->path().string(), what),
            {},
            {}};
}

Result<std::int64_t> SqlReader::dataVersion() {
    return serialised([&]() -> Result<std::int64_t> {
        Query query = m_connection->query("PRAGMA data_version");
        return query.next() ? query.integer(0) : 0;
    });
}

Result<RunRow> SqlReader::readRun(Query& query) const {
    RunRow row;
    row.id = query.integer(0);
    row.kind = query.text(1);
    const std::optional<RunState> state = runStateFromName(query.text(2));
    if (!state) return fail(nonsense(fmt::format("run {} has the unknown state '{}'", row.id, query.text(2))));
    row.state = *state;
    row.modelId = query.integer(3);
    row.datasetId = query.integer(4);
    row.label = query.text(5);
    row.settingsJson = query.text(6);
    if (!seedFromText(query.text(7), row.seed)) {
        return fail(nonsense(fmt::format("run {} has the seed '{}'", row.id, query.text(7))));
    }
    row.toolVersion = query.text(8);
    row.libTorchVersion = query.text(9);
    row.device = query.text(10);
    row.deviceDescription = query.text(11);
    row.computeType = query.text(12);
    row.threadsPerWorker = query.smallInteger(13);
    row.workers = query.smallInteger(14);
    row.batchSize = query.smallInteger(15);
    row.host = query.text(16);
    row.pid = query.integer(17);
    row.createdMs = query.integer(18);
    row.endedMs = query.integer(19);
    row.heartbeatMs = query.integer(20);
    row.elapsedSeconds = query.real(21);
    row.endReason = query.text(22);
    row.error = query.text(23);
    row.resultJson = query.text(24);
    return row;
}

Result<std::vector<RunRow>> SqlReader::readRuns(const std::function<Result<std::vector<RunRow>>()>& read) {
    // A writer may end its run or appear between two looks, so a run counts as dead only if the lock was free both
    // before and after the rows were read.
    Result<bool> alive = m_writerAlive();
    if (!alive) return fail(alive.error());
    Result<std::vector<RunRow>> all = serialised(read);
    if (!all || *alive) return all;
    alive = m_writerAlive();
    if (!alive) return fail(alive.error());
    if (*alive) return all;
    for (RunRow& row : *all) {
        if (row.state == RunState::Running || row.state == RunState::Paused) row.state = RunState::Interrupted;
    }
    return all;
}

Result<std::vector<RunRow>> SqlReader::runs() {
    return readRuns([&] {
        return rows<RunRow>(m_connection->query(kSelectAllRuns.c_str()), [&](Query& query) { return readRun(query); });
    });
}

Result<RunRow> SqlReader::run(std::int64_t id) {
    Result<std::vector<RunRow>> found = readRuns([&] {
        Query query = m_connection->query(kSelectOneRun.c_str());
        query.bind(id);
        std::vector<RunRow> one;
        if (!query.next()) return Result<std::vector<RunRow>>(one);
        Result<RunRow> row = readRun(query);
        if (!row) return Result<std::vector<RunRow>>(fail(row.error()));
        one.push_back(std::move(*row));
        return Result<std::vector<RunRow>>(one);
    });
    if (!found) return fail(found.error());
    if (!found->empty()) return std::move(found->front());
    return fail(ErrorCode::Usage, fmt::format("the data base '{}' has no run {}; `lpes db list` shows its runs",
                                              m_connection->path().string(), id));
}

Result<RunRow> SqlReader::lastRun(const std::string& kind) {
    Result<std::int64_t> id = serialised([&]() -> Result<std::int64_t> {
        Query query = kind.empty() ? m_connection->query("SELECT max(id) FROM runs")
                                   : m_connection->query("SELECT max(id) FROM runs WHERE kind = ?");
        if (!kind.empty()) query.bind(kind);
        return query.next() ? query.integer(0) : 0;
    });
    if (!id) return fail(id.error());
    if (*id > 0) return run(*id);
    return fail(ErrorCode::Usage,
                fmt::format("the data base '{}' holds no run{}; start one first, or name another data base with --db",
                            m_connection->path().string(), kind.empty() ? "" : fmt::format(" of the kind '{}'", kind)));
}

Result<ModelRow> SqlReader::model(std::int64_t id) {
    return serialised([&]() -> Result<ModelRow> {
        Query query = m_connection->query(
            "SELECT id, fingerprint, name, path, architecture, format, layers, head_dim, context_length, parameters, "
            "config_json, tokenizer_fingerprint, weights_hash FROM models WHERE id = ?");
        query.bind(id);
        if (!query.next()) {
            return fail(ErrorCode::Usage,
                        fmt::format("the data base '{}' has no model {}", m_connection->path().string(), id));
        }
        ModelRow row;
        row.id = query.integer(0);
        row.fingerprint = query.text(1);
        row.name = query.text(2);
        row.path = query.text(3);
        row.architecture = query.text(4);
        row.format = query.text(5);
        row.layers = query.smallInteger(6);
        row.headDim = query.smallInteger(7);
        row.contextLength = query.smallInteger(8);
        row.parameters = query.integer(9);
        row.configJson = query.text(10);
        row.tokenizerFingerprint = query.text(11);
        row.weightsHash = query.text(12);
        return row;
    });
}

Result<DatasetRow> SqlReader::dataset(std::int64_t id) {
    return serialised([&]() -> Result<DatasetRow> {
        Query query = m_connection->query(
            "SELECT id, hash, task, template_hash, name, items, spec_json FROM datasets WHERE id = ?");
        query.bind(id);
        if (!query.next()) {
            return fail(ErrorCode::Usage,
                        fmt::format("the data base '{}' has no data set {}", m_connection->path().string(), id));
        }
        DatasetRow row;
        row.id = query.integer(0);
        row.hash = query.text(1);
        row.task = query.text(2);
        row.templateHash = query.text(3);
        row.name = query.text(4);
        row.items = query.integer(5);
        row.specJson = query.text(6);
        return row;
    });
}

Result<std::vector<std::string>> SqlReader::split(std::int64_t runId, const std::string& split) {
    return serialised([&]() -> Result<std::vector<std::string>> {
        Query query =
            m_connection->query("SELECT item_id FROM split_items WHERE run_id = ? AND split = ? ORDER BY ord");
        query.bind(runId, split);
        std::vector<std::string> items;
        while (query.next()) items.push_back(query.text(0));
        return items;
    });
}

Result<std::vector<VariantRow>> SqlReader::variants(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<VariantRow>> {
        Query query =
            m_connection->query("SELECT id, run_id, name, scales_json FROM variants WHERE run_id = ? ORDER BY id");
        query.bind(runId);
        std::vector<VariantRow> all;
        while (query.next()) {
            VariantRow row;
            row.id = query.integer(0);
            row.runId = query.integer(1);
            row.name = query.text(2);
            std::optional<std::vector<double>> scales = numbersFromText(query.text(3));
            if (!scales) return fail(nonsense(fmt::format("the scales of variant {} are not numbers", row.id)));
            row.scales = std::move(*scales);
            all.push_back(std::move(row));
        }
        return all;
    });
}

Result<std::vector<ProfileRow>> SqlReader::profiles(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<ProfileRow>> {
        Query query = m_connection->query("SELECT id, run_id, json FROM profiles WHERE run_id = ? ORDER BY id");
        query.bind(runId);
        std::vector<ProfileRow> all;
        while (query.next()) all.push_back({query.integer(0), query.integer(1), query.text(2)});
        return all;
    });
}

}  // namespace lpes::store
