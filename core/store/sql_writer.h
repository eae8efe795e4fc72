#pragma once

// Private to core/store.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/store/connection.h"
#include "core/store/sql_reader.h"
#include "core/store/store.h"
#include "core/store/writer_lock.h"

namespace lpes::store {

/// StoreWriter over one connection. Invariant: m_lock is held for the whole life of m_connection.
class SqlWriter final : public StoreWriter {
  public:
    SqlWriter(WriterLock lock, std::unique_ptr<Connection> connection, std::vector<std::string> warnings);

    /// Marks what a dead process left running or paused.
    Result<void> interruptStaleRuns();

    const std::vector<std::string>& warnings() const override { return m_warnings; }
    StoreReader& reader() override { return m_reader; }
    Result<std::int64_t> ensureModel(const ModelRow& row) override;
    Result<std::int64_t> ensureDataset(const DatasetRow& row) override;
    Result<std::int64_t> addRun(const RunRow& row) override;
    Result<void> reopenRun(std::int64_t runId, int workers) override;
    Result<void> heartbeat(std::int64_t runId, double elapsedSeconds) override;
    Result<void> endRun(std::int64_t runId, RunState state, double elapsedSeconds, const std::string& endReason,
                        const std::string& error, const std::string& resultJson) override;
    Result<void> setSplit(std::int64_t runId, const std::string& split, std::span<const std::string> itemIds) override;
    Result<std::int64_t> ensureVariant(std::int64_t runId, const std::string& name,
                                       std::span<const double> scales) override;
    Result<void> recordOutcomes(std::int64_t variantId, const std::string& split,
                                std::span<const OutcomeRow> rows) override;
    Result<void> recordSlopes(std::int64_t variantId, const std::string& split,
                              std::span<const SlopeRow> rows) override;
    Result<void> recordCandidate(std::int64_t runId, const CandidateRow& row) override;
    Result<void> recordGeneration(std::int64_t runId, const GenerationRow& row) override;
    Result<void> recordTrainingSteps(std::int64_t runId, std::span<const TrainingStepRow> rows) override;
    Result<void> recordPositions(std::int64_t runId, std::span<const PositionRow> rows) override;
    Result<void> recordAttention(std::int64_t runId, std::span<const AttentionRow> rows) override;
    Result<void> recordDeviations(std::int64_t runId, std::span<const DeviationRow> rows) override;
    Result<std::int64_t> saveProfile(std::int64_t runId, const std::string& profileJson) override;
    Result<std::vector<MergedRun>> merge(const std::filesystem::path& other) override;

  private:
    /// One transaction under the mutex.
    template <class Work>
    std::invoke_result_t<Work> write(Work&& work) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        return m_connection->transaction(std::forward<Work>(work));
    }
    /// Runs an INSERT and gives the id of the new row. Throws.
    std::int64_t inserted(Query& query);
    /// Usage error when there is no such run. Inside a transaction.
    Result<RunState> stateOf(std::int64_t runId);
    /// Usage error when the variant does not belong to the run. Inside a transaction.
    Result<void> checkVariant(std::int64_t runId, std::int64_t variantId);

    // Destroyed from the last to the first: the connection closes (and checkpoints) before the lock is given up.
    WriterLock m_lock;
    std::mutex m_mutex;
    std::unique_ptr<Connection> m_connection;
    std::vector<std::string> m_warnings;
    SqlReader m_reader;
};

}  // namespace lpes::store
