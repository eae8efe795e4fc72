#pragma once

// Private to core/store.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/store/connection.h"
#include "core/store/run_numbers.h"
#include "core/store/store.h"

namespace lpes::store {

/// Copies the runs of the data base that is attached to a connection as "other", of the same schema, into its "main".
/// To be used once, inside a transaction. Columns are those that the tables have, so a newer schema needs nothing here
/// but its new tables. Throws SQLite::Exception.
class RunMerger {
  public:
    explicit RunMerger(Connection& connection) : m_connection(connection) {}

    [[nodiscard]] std::vector<MergedRun> mergeAll();

    /// Tables whose rows belong to a run or to a variant of one; with models, datasets, runs and variants all there
    /// are.
    [[nodiscard]] static std::vector<std::string> tablesOfRuns();
    [[nodiscard]] static std::vector<std::string> tablesOfVariants();

  private:
    struct Other {
        MergedRun merged;
        std::int64_t heartbeatMs = 0;
        std::string state, settingsJson;
        std::optional<std::int64_t> modelId, datasetId;  ///< as they are called in main
    };
    /// The copy of a run that main has already.
    struct Known {
        std::int64_t id = 0, heartbeatMs = 0;
        std::string state;
    };

    [[nodiscard]] std::vector<Other> readOthers();
    [[nodiscard]] std::optional<Known> find(const Other& other);
    void mergeOne(Other& other);
    /// The row of table runs, without what depends on the data base; a new one where `known` is empty.
    void copyRun(Other& other, const std::optional<Known>& known);
    /// `verb`: what happens to a row that both have, REPLACE or IGNORE.
    void copyRows(const Other& other, const std::string& verb);
    void copyProfiles(const Other& other);
    /// Numbers in the texts of a run, once every run has its own.
    void renumberTexts(const Other& other);

    [[nodiscard]] std::vector<std::string> columnsOf(const std::string& table, const std::vector<std::string>& without);
    [[nodiscard]] std::int64_t rowsOf(std::int64_t runId);
    void execute(const std::string& sql, std::int64_t first, std::int64_t second);

    Connection& m_connection;
    RunNumbers m_numbers;
};

}  // namespace lpes::store
