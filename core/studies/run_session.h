#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/item_evaluator.h"
#include "core/studies/model_setup.h"
#include "core/studies/run_settings.h"
#include "core/studies/studies.h"

/// What every study that writes a run has in common: loading, the run's row, progress with heartbeat, and its end.
namespace lpes::studies {

/// A loaded model and its items.
struct Workbench {
    LoadedModel model;
    PreparedTask task;
    int threads = 1;  ///< per worker, resolved
    PassSize pass;    ///< resolved
};

/// A model whose weights are not read yet, and the items: enough to check all that a run can refuse, and to make its
/// prompts.
struct OpenedBench {
    OpenedModel model;
    PreparedTask task;
    model::ComputeType computeType;  ///< resolved
    int threads = 1;                 ///< per worker, resolved

    [[nodiscard]] const model::ModelConfig& config() const { return model.config(); }
    [[nodiscard]] const text::Tokenizer& tokenizer() const { return *model.tokenizer; }
};

/// Checks the settings, opens the model and the items, so that a typing error costs no time. `generateCount`: items to
/// generate when the task says no number. `loaded`: a model in memory, which is taken when it is the one that the
/// settings name, in their compute type and on their device. Lowers the calling thread's priority.
/// kStoppedMessage when stopped while the items are read.
[[nodiscard]] Result<OpenedBench> openBench(const ComputeSettings& compute, const TaskSpec& task,
                                            std::int64_t generateCount, std::stop_token stop,
                                            const LoadedModel* loaded = nullptr);
/// Reads the weights, unless openBench took `loaded`. Plans that were made with the bench's tokenizer stay good.
[[nodiscard]] Result<Workbench> loadBench(OpenedBench bench, const ComputeSettings& compute, PassSize pass,
                                          ProgressObserver& observer, std::stop_token stop,
                                          const LoadedModel* loaded = nullptr);

/// All items of the task; BadInput when every one is longer than `context` tokens, kStoppedMessage when stopped.
[[nodiscard]] Result<PromptPlan> planOfAllItems(const OpenedBench& bench, int context, PassSize pass,
                                                std::stop_token stop);

/// What a study of one position method needs: the method is resolved for this model, the plan holds all items.
struct MethodBench {
    Workbench bench;
    rope::PositionMethod method;
    PromptPlan plan;
    tasks::ScoreKind score;
    MethodHashes methodHashes;
};
/// `generates`: answers are generated besides, whatever the score; Usage where the task has no rule for them.
[[nodiscard]] Result<MethodBench> prepareMethod(const std::string& method, const ComputeSettings& compute,
                                                const TaskSpec& task, const std::optional<std::string>& score,
                                                bool generates, std::int64_t generateCount, ProgressObserver& observer,
                                                std::stop_token stop);

/// Writes what was resolved into the settings that are stored: threads, batch size, compute type, and absolute paths,
/// so that a resumed run on another machine or from another folder computes the same.
void storeResolved(ComputeSettings& compute, TaskSpec& task, const Workbench& bench);

/// Applies a method to a session and reads it back up to the longest prompt; Failed when a layer does not use its own
/// tables.
[[nodiscard]] Result<void> requireApplied(model::ModelSession& session, const rope::PositionMethod& method,
                                          int longestPrompt);

/// Adds model, data set and run to the data base. beginModelRun is for runs of several tasks.
[[nodiscard]] Result<std::int64_t> beginModelRun(store::StoreWriter& store, const LoadedModel& model,
                                                 const store::DatasetRow& dataset, const ComputeSettings& compute,
                                                 int threads, const std::string& kind, const std::string& label,
                                                 const nlohmann::json& settings, std::uint64_t seed);
[[nodiscard]] Result<std::int64_t> beginRun(store::StoreWriter& store, const Workbench& bench,
                                            const ComputeSettings& compute, const std::string& kind,
                                            const std::string& label, const nlohmann::json& settings,
                                            std::uint64_t seed);

/// Progress of a run in prompts, with rate and estimate, and its heartbeat in the data base. thread-safe.
class RunProgress final : public ChunkObserver {
  public:
    /// `elapsedBefore`: seconds of earlier sittings of a resumed run.
    RunProgress(store::StoreWriter& store, std::int64_t runId, ProgressObserver& observer, double elapsedBefore = 0.0);

    /// What is done now, in words, and how many prompts the run has in all (done ones included).
    void setStage(const std::string& stage);
    void setTotal(std::int64_t prompts);
    Result<void> chunkDone(std::int64_t computed, std::int64_t reused) override;
    /// Stores the time that the run has taken so far; while prompts are done, that happens every second.
    Result<void> keepTime();
    /// Something that the user should read and that does not end the run.
    void warn(const std::string& message) { m_observer.warned(message); }
    /// Prompts of the total that are not asked after all: they count as done, never as asked.
    void addSkipped(std::int64_t prompts);

    [[nodiscard]] double elapsedSeconds() const;
    [[nodiscard]] std::int64_t promptsDone() const;      ///< reused and skipped ones included
    [[nodiscard]] std::int64_t promptsAsked() const;     ///< reused ones included
    [[nodiscard]] std::int64_t promptsComputed() const;  ///< in this sitting
    [[nodiscard]] double secondsThisSitting() const;

  private:
    void tell();

    store::StoreWriter& m_store;
    const std::int64_t m_runId;
    ProgressObserver& m_observer;
    const double m_elapsedBefore;
    const double m_start;
    mutable std::mutex m_mutex;
    std::string m_stage;
    std::int64_t m_total = 0, m_done = 0, m_skipped = 0, m_computed = 0;
    double m_lastHeartbeat = 0.0, m_lastTold = 0.0;
};

/// Runs `work` and ends the run in the data base as it ended: finished, stopped, interrupted (a lost peer) or failed,
/// with the error's text.
[[nodiscard]] Result<StudyOutcome> conductRun(store::StoreWriter& store, std::int64_t runId, RunProgress& progress,
                                              const std::function<Result<StudyOutcome>()>& work);

}  // namespace lpes::studies
