#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/rows.h"

namespace lpes::store {

inline constexpr int kSchemaVersion = 6;           ///< PRAGMA user_version
inline constexpr int kApplicationId = 0x4C504553;  ///< PRAGMA application_id: "LPES"

/// $LPES_DB, else userDataFolder()/lpes.db.
[[nodiscard]] std::filesystem::path defaultDatabasePath();

/// Whether a process holds the data base for writing. Database error when that cannot be found out.
[[nodiscard]] Result<bool> isBeingWritten(const std::filesystem::path& path);

/// A run that was copied from one data base into another.
struct MergedRun {
    enum class Change { Added, Updated, Unchanged };
    std::int64_t from = 0, to = 0;  ///< its number in the other data base and in this one
    Change change = Change::Added;
    bool ended = true;  ///< false: it was running or paused when it was copied
    std::string kind, label;
};

/// Writes one run of a data base into a file of its own, a data base again: a run that is a suite or a study with its
/// parts. The snapshot is consistent while somebody writes; the file appears when it is complete.
/// Usage when there is no such run, or when the file exists; Database error as StoreReader::open (an older schema is
/// accepted) or when the file cannot be written. Leaves the data base as it is.
[[nodiscard]] Result<void> extractRun(const std::filesystem::path& database, std::int64_t runId,
                                      const std::filesystem::path& file);

/// Reads a data base; never writes, needs no lock, and works while another process writes. Set-based queries.
/// thread-compatible: one connection, one owner at a time (open another one per thread).
///
/// Every call may return a Database error (damaged file, disk trouble) that names the file.
class StoreReader {
  public:
    /// Database error when the file is missing, is no data base of ours, is damaged, or has a newer schema (names both
    /// versions). An older schema is readable only after a writer migrated it; says so.
    [[nodiscard]] static Result<std::unique_ptr<StoreReader>> open(const std::filesystem::path& path);
    virtual ~StoreReader() = default;

    /// A number that changes whenever another connection (of this process or another) committed something. Cheap: ask
    /// it before asking anything else again.
    [[nodiscard]] virtual Result<std::int64_t> dataVersion() = 0;
    /// Newest first. A run that says running or paused while nobody holds the writer lock is given as Interrupted.
    [[nodiscard]] virtual Result<std::vector<RunRow>> runs() = 0;
    [[nodiscard]] virtual Result<RunRow> run(std::int64_t id) = 0;  ///< Usage when there is none
    /// The newest run, of one kind unless empty; Usage when there is none.
    [[nodiscard]] virtual Result<RunRow> lastRun(const std::string& kind = {}) = 0;
    [[nodiscard]] virtual Result<ModelRow> model(std::int64_t id) = 0;
    [[nodiscard]] virtual Result<DatasetRow> dataset(std::int64_t id) = 0;
    /// Item ids of a split in their order.
    [[nodiscard]] virtual Result<std::vector<std::string>> split(std::int64_t runId, const std::string& split) = 0;
    [[nodiscard]] virtual Result<std::vector<VariantRow>> variants(std::int64_t runId) = 0;
    /// Ordered by item (in the split's order), then position.
    [[nodiscard]] virtual Result<std::vector<OutcomeRow>> outcomes(std::int64_t variantId,
                                                                   const std::string& split) = 0;
    /// Ordered as outcomes.
    [[nodiscard]] virtual Result<std::vector<SlopeRow>> slopes(std::int64_t variantId, const std::string& split) = 0;
    /// Ordered by (generation, index).
    [[nodiscard]] virtual Result<std::vector<CandidateRow>> candidates(std::int64_t runId) = 0;
    [[nodiscard]] virtual Result<std::vector<GenerationRow>> generations(std::int64_t runId) = 0;
    /// Ordered by step.
    [[nodiscard]] virtual Result<std::vector<TrainingStepRow>> trainingSteps(std::int64_t runId) = 0;
    [[nodiscard]] virtual Result<std::vector<PositionRow>> positions(std::int64_t runId) = 0;
    [[nodiscard]] virtual Result<std::vector<AttentionRow>> attention(std::int64_t runId) = 0;
    [[nodiscard]] virtual Result<std::vector<DeviationRow>> deviations(std::int64_t runId) = 0;
    [[nodiscard]] virtual Result<std::vector<ProfileRow>> profiles(std::int64_t runId) = 0;
};

/// Writes a data base. Exactly one exists per data base, across processes: it holds an exclusive lock on the file
/// "<data base>.lock" from open to destruction, and the kernel drops the lock when the process dies.
/// thread-safe: calls are serialised by an internal mutex; each mutating call is one transaction, committed when it
/// returns. Workers of a search may call it at the same time.
class StoreWriter {
  public:
    struct Options {
        std::string holder;  ///< who writes, for the error message of a second writer ("lpes search")
    };
    /// Creates the data base (and its folder), or migrates an older one after a backup beside it
    /// ("<name>.v<old>-backup", made with SQLite's own backup). Runs that were left running or paused by a process
    /// that died are marked Interrupted: whoever has the lock knows that nobody else runs.
    /// WAL, synchronous NORMAL, busy timeout 5 s, foreign keys on. On a network file system (NFS, SMB, …) a rollback
    /// journal is used instead and `warnings()` says so.
    /// Database error: locked (names holder, process and host), newer schema, damaged, not writable, no data base of
    /// ours.
    [[nodiscard]] static Result<std::unique_ptr<StoreWriter>> open(const std::filesystem::path& path,
                                                                   const Options& options);
    virtual ~StoreWriter() = default;
    [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;
    /// A reader on the same connection's committed state, for resume; owned by the writer, serialised with it.
    [[nodiscard]] virtual StoreReader& reader() = 0;

    /// Existing id where the unique key is known, else a new row. id fields of the argument are ignored.
    [[nodiscard]] virtual Result<std::int64_t> ensureModel(const ModelRow& row) = 0;
    [[nodiscard]] virtual Result<std::int64_t> ensureDataset(const DatasetRow& row) = 0;
    /// host, pid, createdMs and heartbeatMs are filled in here.
    [[nodiscard]] virtual Result<std::int64_t> addRun(const RunRow& row) = 0;
    /// Takes a stopped, interrupted, failed or paused run up again: state running, this process, new heartbeat; the
    /// number of workers may differ from before. Usage for a finished or running one.
    [[nodiscard]] virtual Result<void> reopenRun(std::int64_t runId, int workers) = 0;
    [[nodiscard]] virtual Result<void> heartbeat(std::int64_t runId, double elapsedSeconds) = 0;
    /// Ends a run in `state` with its reason, error text and result; sets endedMs, except for Paused, which is no end.
    /// Usage for the state Running or a run that does not exist. heartbeat() after it changes nothing.
    [[nodiscard]] virtual Result<void> endRun(std::int64_t runId, RunState state, double elapsedSeconds,
                                              const std::string& endReason, const std::string& error,
                                              const std::string& resultJson) = 0;
    /// Replaces the split's list.
    [[nodiscard]] virtual Result<void> setSplit(std::int64_t runId, const std::string& split,
                                                std::span<const std::string> itemIds) = 0;
    [[nodiscard]] virtual Result<std::int64_t> ensureVariant(std::int64_t runId, const std::string& name,
                                                             std::span<const double> scales) = 0;
    /// One transaction for all of them: the items of one forward pass. A row that exists is replaced.
    [[nodiscard]] virtual Result<void> recordOutcomes(std::int64_t variantId, const std::string& split,
                                                      std::span<const OutcomeRow> rows) = 0;
    /// One transaction for all of them, as outcomes.
    [[nodiscard]] virtual Result<void> recordSlopes(std::int64_t variantId, const std::string& split,
                                                    std::span<const SlopeRow> rows) = 0;
    [[nodiscard]] virtual Result<void> recordCandidate(std::int64_t runId, const CandidateRow& row) = 0;
    [[nodiscard]] virtual Result<void> recordGeneration(std::int64_t runId, const GenerationRow& row) = 0;
    /// One transaction for all of them. A row that exists is replaced.
    [[nodiscard]] virtual Result<void> recordTrainingSteps(std::int64_t runId,
                                                           std::span<const TrainingStepRow> rows) = 0;
    [[nodiscard]] virtual Result<void> recordPositions(std::int64_t runId, std::span<const PositionRow> rows) = 0;
    [[nodiscard]] virtual Result<void> recordAttention(std::int64_t runId, std::span<const AttentionRow> rows) = 0;
    [[nodiscard]] virtual Result<void> recordDeviations(std::int64_t runId, std::span<const DeviationRow> rows) = 0;
    [[nodiscard]] virtual Result<std::int64_t> saveProfile(std::int64_t runId, const std::string& profileJson) = 0;

    /// Copies every run of another data base into this one, all or none. Runs get numbers of this data base, also where
    /// their settings, results and profiles name one; models and data sets that are known are shared. A run that is
    /// here already (FORMAT.md says what makes two runs one) is brought up to date and never doubled: rows of both are
    /// kept, and where both have a row, that of the later sign of life counts. A run that had not ended is stored as
    /// interrupted, for nobody here works on it. The other file is read as it is at one moment, whoever writes to it,
    /// may have an older schema, and is left alone; a copy of it stands beside this data base meanwhile.
    /// Usage when it is this data base; Database error as StoreReader::open, or when either disk refuses.
    [[nodiscard]] virtual Result<std::vector<MergedRun>> merge(const std::filesystem::path& other) = 0;
};

}  // namespace lpes::store
