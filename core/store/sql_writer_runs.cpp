#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/host.h"
#include "core/store/names.h"
#include "core/store/sql_writer.h"

namespace lpes::store {

namespace {

/// Foreign keys and times: 0 in a row is NULL in the data base.
std::optional<std::int64_t> unlessZero(std::int64_t value) {
    return value == 0 ? std::nullopt : std::optional<std::int64_t>(value);
}

}  // namespace

SqlWriter::SqlWriter(WriterLock lock, std::unique_ptr<Connection> connection, std::vector<std::string> warnings)
    : m_lock(std::move(lock)),
      m_connection(std::move(connection)),
      m_warnings(std::move(warnings)),
      m_reader(*m_connection, m_mutex) {}

Result<void> SqlWriter::interruptStaleRuns() {
    Result<void> ready = m_connection->guarded([&]() -> Result<void> {
        m_connection->query("PRAGMA foreign_keys = ON").run();
        return {};
    });
    if (!ready) return ready;
    return write([&]() -> Result<void> {
        m_connection
            ->query(
                "UPDATE runs SET state = 'interrupted', ended_ms = heartbeat_ms, "
                "end_reason = 'the process ended without closing the run' WHERE state IN ('running', 'paused')")
            .run();
        return {};
    });
}

std::int64_t SqlWriter::inserted(Query& query) {
    query.run();
    return m_connection->database().getLastInsertRowid();
}

Result<std::int64_t> SqlWriter::ensureModel(const ModelRow& row) {
    return write([&]() -> Result<std::int64_t> {
        Query known = m_connection->query(
            "SELECT id FROM models WHERE fingerprint = ? AND weights_hash = ? AND tokenizer_fingerprint = ? AND path = "
            "?");
        if (known.bind(row.fingerprint, row.weightsHash, row.tokenizerFingerprint, row.path).next())
            return known.integer(0);
        return inserted(
            m_connection
                ->query("INSERT INTO models (fingerprint, name, path, architecture, format, layers, head_dim, "
                        "context_length, parameters, config_json, tokenizer_fingerprint, weights_hash) VALUES "
                        "(?,?,?,?,?,?,?,?,?,?,?,?)")
                .bind(row.fingerprint, row.name, row.path, row.architecture, row.format, row.layers, row.headDim,
                      row.contextLength, row.parameters, row.configJson, row.tokenizerFingerprint, row.weightsHash));
    });
}

Result<std::int64_t> SqlWriter::ensureDataset(const DatasetRow& row) {
    return write([&]() -> Result<std::int64_t> {
        Query known = m_connection->query("SELECT id FROM datasets WHERE hash = ? AND task = ? AND template_hash = ?");
        if (known.bind(row.hash, row.task, row.templateHash).next()) return known.integer(0);
        return inserted(m_connection
                            ->query("INSERT INTO datasets (hash, task, template_hash, name, items, spec_json) "
                                    "VALUES (?,?,?,?,?,?)")
                            .bind(row.hash, row.task, row.templateHash, row.name, row.items, row.specJson));
    });
}

Result<std::int64_t> SqlWriter::addRun(const RunRow& row) {
    const std::int64_t now = nowUtcMs();
    return write([&]() -> Result<std::int64_t> {
        return inserted(
            m_connection
                ->query(
                    "INSERT INTO runs (kind, state, model_id, dataset_id, label, settings_json, seed, tool_version, "
                    "libtorch_version, device, device_description, compute_type, threads_per_worker, workers, "
                    "batch_size, host, pid, created_ms, ended_ms, heartbeat_ms, elapsed_seconds, end_reason, error, "
                    "result_json) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
                .bind(row.kind, runStateName(row.state), unlessZero(row.modelId), unlessZero(row.datasetId), row.label,
                      row.settingsJson, std::to_string(row.seed), row.toolVersion, row.libTorchVersion, row.device,
                      row.deviceDescription, row.computeType, row.threadsPerWorker, row.workers, row.batchSize,
                      hostName(), ::getpid(), now, unlessZero(row.endedMs), now, row.elapsedSeconds, row.endReason,
                      row.error, row.resultJson));
    });
}

Result<RunState> SqlWriter::stateOf(std::int64_t runId) {
    Query query = m_connection->query("SELECT state FROM runs WHERE id = ?");
    if (!query.bind(runId).next()) {
        return fail(ErrorCode::Usage, fmt::format("the data base '{}' has no run {}; `lpes db list` shows its runs",
                                                  m_connection->path().string(), runId));
    }
    const std::optional<RunState> state = runStateFromName(query.text(0));
    if (state) return *state;
    return fail(ErrorCode::Database,
                fmt::format("the data base '{}' is damaged: run {} has the unknown state '{}'; restore a backup of it",
                            m_connection->path().string(), runId, query.text(0)));
}

Result<void> SqlWriter::reopenRun(std::int64_t runId, int workers) {
    return write([&]() -> Result<void> {
        const Result<RunState> state = stateOf(runId);
        if (!state) return fail(state.error());
        if (*state == RunState::Running || *state == RunState::Finished) {
            return fail(
                ErrorCode::Usage,
                fmt::format("run {} is {} and cannot be resumed; only a paused, stopped, interrupted or failed run "
                            "can",
                            runId, runStateName(*state)));
        }
        if (*state == RunState::Failed) {
            // What made them fail is mended: they are tried again, also when this sitting is interrupted in its turn.
            m_connection->query("DELETE FROM candidates WHERE run_id = ? AND state = 'failed'").bind(runId).run();
        }
        m_connection
            ->query(
                "UPDATE runs SET state = 'running', workers = ?, host = ?, pid = ?, heartbeat_ms = ?, ended_ms = NULL, "
                "end_reason = '', error = '', result_json = '' WHERE id = ?")
            .bind(workers, hostName(), ::getpid(), nowUtcMs(), runId)
            .run();
        return {};
    });
}

Result<void> SqlWriter::heartbeat(std::int64_t runId, double elapsedSeconds) {
    return write([&]() -> Result<void> {
        const Result<RunState> state = stateOf(runId);
        if (!state) return fail(state.error());
        // A timer may fire once more after endRun; what endRun stored stays.
        m_connection
            ->query(
                "UPDATE runs SET heartbeat_ms = ?, elapsed_seconds = ? WHERE id = ? AND state IN ('running', 'paused')")
            .bind(nowUtcMs(), elapsedSeconds, runId)
            .run();
        return {};
    });
}

Result<void> SqlWriter::endRun(std::int64_t runId, RunState state, double elapsedSeconds, const std::string& endReason,
                               const std::string& error, const std::string& resultJson) {
    return write([&]() -> Result<void> {
        const Result<RunState> before = stateOf(runId);
        if (!before) return fail(before.error());
        if (state == RunState::Running) {
            return fail(ErrorCode::Usage, fmt::format("run {} cannot end in the state 'running'", runId));
        }
        const std::int64_t now = nowUtcMs();
        m_connection
            ->query(
                "UPDATE runs SET state = ?, elapsed_seconds = ?, end_reason = ?, error = ?, result_json = ?, "
                "heartbeat_ms = ?, ended_ms = ? WHERE id = ?")
            .bind(runStateName(state), elapsedSeconds, endReason, error, resultJson, now,
                  state == RunState::Paused ? std::nullopt : std::optional<std::int64_t>(now), runId)
            .run();
        return {};
    });
}

}  // namespace lpes::store
