#pragma once

// Private to core/store.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/store/connection.h"
#include "core/store/store.h"

namespace lpes::store {

/// StoreReader over a connection that it owns (a viewer) or borrows from a writer, whose mutex it then shares.
class SqlReader final : public StoreReader {
  public:
    /// Whether the writer lock of the data base is held by anybody.
    using WriterAlive = std::function<Result<bool>()>;

    SqlReader(std::unique_ptr<Connection> connection, WriterAlive writerAlive);
    SqlReader(Connection& connection, std::mutex& mutex);

    Result<std::int64_t> dataVersion() override;
    Result<std::vector<RunRow>> runs() override;
    Result<RunRow> run(std::int64_t id) override;
    Result<RunRow> lastRun(const std::string& kind) override;
    Result<ModelRow> model(std::int64_t id) override;
    Result<DatasetRow> dataset(std::int64_t id) override;
    Result<std::vector<std::string>> split(std::int64_t runId, const std::string& split) override;
    Result<std::vector<VariantRow>> variants(std::int64_t runId) override;
    Result<std::vector<OutcomeRow>> outcomes(std::int64_t variantId, const std::string& split) override;
    Result<std::vector<SlopeRow>> slopes(std::int64_t variantId, const std::string& split) override;
    Result<std::vector<CandidateRow>> candidates(std::int64_t runId) override;
    Result<std::vector<GenerationRow>> generations(std::int64_t runId) override;
    Result<std::vector<TrainingStepRow>> trainingSteps(std::int64_t runId) override;
    Result<std::vector<PositionRow>> positions(std::int64_t runId) override;
    Result<std::vector<AttentionRow>> attention(std::int64_t runId) override;
    Result<std::vector<DeviationRow>> deviations(std::int64_t runId) override;
    Result<std::vector<ProfileRow>> profiles(std::int64_t runId) override;

  private:
    /// Every row of `query` through `read`, which returns a Result of one row.
    template <class Row, class Read>
    Result<std::vector<Row>> rows(Query query, Read read) {
        std::vector<Row> all;
        while (query.next()) {
            Result<Row> row = read(query);
            if (!row) return fail(row.error());
            all.push_back(std::move(*row));
        }
        return all;
    }
    template <class Work>
    std::invoke_result_t<Work> serialised(Work&& work) {
        std::unique_lock<std::mutex> lock;
        if (m_mutex != nullptr) lock = std::unique_lock(*m_mutex);
        return m_connection->guarded(std::forward<Work>(work));
    }
    Result<RunRow> readRun(Query& query) const;
    /// Reads runs and gives those as interrupted that cannot be alive.
    Result<std::vector<RunRow>> readRuns(const std::function<Result<std::vector<RunRow>>()>& read);
    /// "… of the data base is damaged": a value that this program cannot have written.
    [[nodiscard]] Error nonsense(const std::string& what) const;

    std::unique_ptr<Connection> m_owned;
    Connection* m_connection;
    std::mutex* m_mutex = nullptr;
    WriterAlive m_writerAlive;
};

}  // namespace lpes::store
