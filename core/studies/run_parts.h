#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/studies.h"

// Private to core/studies: runs that are made of other runs, one after another (suites, studies of a search).
namespace lpes::studies {

/// What a part's setting "part_of" says: "RUN/LABEL".
[[nodiscard]] std::string partName(std::int64_t wholeRun, const std::string& label);
/// Label → the newest run of `kind` that is this part. Those that have not begun are not there.
[[nodiscard]] Result<std::map<std::string, store::RunRow>> partsOf(store::StoreReader& reader, std::int64_t wholeRun,
                                                                   const std::string& kind);

/// A part as it stands in the data base: the stored result of a finished one, else `resume` of what was begun, else
/// `begin`.
[[nodiscard]] Result<StudyOutcome> takeUpPart(store::StoreReader& reader, std::int64_t wholeRun,
                                              const std::string& label, const std::string& kind,
                                              const std::function<Result<StudyOutcome>(std::int64_t)>& resume,
                                              const std::function<Result<StudyOutcome>()>& begin);

/// A part's progress as a part of the whole's, and the whole's own heartbeat. thread-safe.
class PartObserver final : public ProgressObserver {
  public:
    PartObserver(ProgressObserver& whole, store::StoreWriter& store, std::int64_t runId, std::size_t parts,
                 double elapsedBefore);

    void begin(std::size_t part, const std::string& label);
    void progressed(const Progress& progress) override;
    void warned(const std::string& message) override { m_whole.warned(message); }
    [[nodiscard]] double elapsed() const;

  private:
    ProgressObserver& m_whole;
    store::StoreWriter& m_store;
    const std::int64_t m_runId;
    const std::size_t m_parts;
    const double m_before, m_start;
    std::mutex m_mutex;
    std::size_t m_part = 0;
    std::string m_label;
    double m_lastHeartbeat = 0.0;
};

/// How the parts of a whole went.
struct PartsRun {
    std::vector<std::pair<std::string, Result<StudyOutcome>>> parts;  ///< by label, those that were begun
    int failed = 0;
    bool stopped = false;  ///< by the user

    /// Left open for the parts that failed: resuming tries them again.
    [[nodiscard]] bool unfinished() const { return stopped || failed > 0; }
    [[nodiscard]] const char* state() const { return unfinished() ? "stopped" : "finished"; }
    /// `failedParts`: what is said where parts failed ("failed benchmarks").
    [[nodiscard]] std::string endReason(const char* failedParts) const;
    /// Without its result.
    [[nodiscard]] StudyOutcome outcome(std::int64_t runId) const;
};
/// Runs every part in turn until the user stops. A part that fails is told as a warning, and the others go on; its
/// error is the whole's where all of them fail. Database errors end the whole.
[[nodiscard]] Result<PartsRun> runParts(std::span<const std::string> labels, PartObserver& observer,
                                        const std::function<Result<StudyOutcome>(std::size_t)>& runPart);

}  // namespace lpes::studies
