#include "core/studies/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>

#include "core/base/clock.h"
#include "core/base/thread_priority.h"
#include "core/base/version.h"
#include "core/cluster/channel.h"
#include "core/model/torch/torch_runtime.h"
#include "core/studies/resuming.h"

namespace lpes::studies {

namespace {

/// The model in memory where it is the one that the settings name, else that of the file.
Result<OpenedModel> openOrTake(const ComputeSettings& compute, model::ComputeType type, const LoadedModel* loaded) {
    if (loaded != nullptr && loaded->opened.tokenizer) {
        const auto path = resolveModelPath(compute.model);
        if (!path) return fail(path.error());
        if (loaded->opened.path == *path && loaded->lm->computeType() == type && loaded->lm->device() == compute.device)
            return loaded->opened;
    }
    return openModel(compute.model, true);
}

}  // namespace

Result<OpenedBench> openBench(const ComputeSettings& compute, const TaskSpec& task, std::int64_t generateCount,
                              std::stop_token stop, const LoadedModel* loaded) {
    for (const auto& [key, valid] : checkComputeKeys(compute)) {
        if (!valid) return fail(valid.error());
    }
    const auto type = resolveComputeType(compute.dtype, compute.device);
    if (!type) return fail(type.error());
    const auto threads = resolveThreads(compute.workers, compute.threadsPerWorker);
    if (!threads) return fail(threads.error());
    lowerThreadPriority();
    auto opened = openOrTake(compute, *type, loaded);
    if (!opened) return fail(opened.error());
    auto prepared = prepareTask(task, generateCount, opened->tokenizer.get(), Purpose::Scored, std::move(stop));
    if (!prepared) return fail(prepared.error());
    return OpenedBench{std::move(*opened), std::move(*prepared), *type, *threads};
}

Result<Workbench> loadBench(OpenedBench bench, const ComputeSettings& compute, PassSize pass,
                            ProgressObserver& observer, std::stop_token stop, const LoadedModel* loaded) {
    if (loaded != nullptr && loaded->opened.weights == bench.model.weights)
        return Workbench{*loaded, std::move(bench.task), bench.threads, pass};
    auto read = loadWeights(std::move(bench.model), bench.computeType, compute.device, observer, stop);
    if (!read) return fail(read.error());
    return Workbench{std::move(*read), std::move(bench.task), bench.threads, pass};
}

Result<PromptPlan> planOfAllItems(const OpenedBench& bench, int context, PassSize pass, std::stop_token stop) {
    auto plan = PromptPlan::make(bench.task, bench.task.ids(), bench.tokenizer(), context, pass, std::move(stop));
    if (!plan) return plan;
    if (plan->prompts() == 0) {
        return fail(ErrorCode::BadInput,
                    fmt::format("every item of {} is longer than the context of {} tokens; use shorter "
                                "items or another model",
                                bench.task.info().name, context));
    }
    return plan;
}

Result<MethodBench> prepareMethod(const std::string& method, const ComputeSettings& compute, const TaskSpec& task,
                                  const std::optional<std::string>& score, bool generates, std::int64_t generateCount,
                                  ProgressObserver& observer, std::stop_token stop) {
    auto spec = rope::parseMethod(method);
    if (!spec) return fail(spec.error());
    if (auto known = checkScoreName(score); !known) return fail(known.error());
    auto bench = openBench(compute, task, generateCount, stop);
    if (!bench) return fail(bench.error());
    auto resolved = methodFor(*spec, *bench->model.weights, observer);
    if (!resolved) return fail(resolved.error());
    auto rule = scoreFor(bench->task, score);
    if (!rule) return fail(rule.error());
    if (generates && bench->task.info().defaultScore.kind == tasks::ScoreKind::Kind::Choice) {
        return fail(ErrorCode::Usage,
                    fmt::format("--agreement: {} has no rule for a generated text; leave it out", task.task));
    }
    const int context = contextLength(*resolved, bench->config());
    auto pass = passSize(compute, bench->task, *rule, bench->tokenizer(), context);
    if (!pass) return fail(pass.error());
    pass->generates = pass->generates || generates;
    auto plan = planOfAllItems(*bench, context, *pass, stop);
    if (!plan) return fail(plan.error());
    auto ready = loadBench(std::move(*bench), compute, *pass, observer, stop);
    if (!ready) return fail(ready.error());
    MethodHashes hashes;
    noteMethodHash(hashes, *spec, *resolved);
    return MethodBench{std::move(*ready), std::move(*resolved), std::move(*plan), std::move(*rule), std::move(hashes)};
}

void storeResolved(ComputeSettings& compute, TaskSpec& task, const Workbench& bench) {
    compute.threadsPerWorker = bench.threads;
    compute.batchSize = bench.pass.prompts;
    compute.batchTokens = bench.pass.tokens;
    compute.sharePrefixes = bench.pass.sharePrefixes;
    compute.dtype = model::computeTypeName(bench.model.lm->computeType());
    if (std::filesystem::exists(compute.model)) compute.model = bench.model.opened.path.string();
    task.positions = bench.task.spec.positions;
    task.itemSeed = bench.task.spec.itemSeed;
    if (task.data) task.data = std::filesystem::absolute(*task.data).lexically_normal().string();
}

Result<void> requireApplied(model::ModelSession& session, const rope::PositionMethod& method, int longestPrompt) {
    // The last token of the longest prompt stands at position longestPrompt − 1.
    auto applied = session.verifyApplied(method, std::max(0, longestPrompt - 1));
    if (!applied) return fail(applied.error());
    if (applied->verified) return {};
    return fail(ErrorCode::Failed,
                fmt::format("the method was set but layer {} does not use its tables (off by {:.3g}); please "
                            "report this with the model's name",
                            applied->worstLayer, applied->maxAbsError));
}

Result<std::int64_t> beginRun(store::StoreWriter& store, const Workbench& bench, const ComputeSettings& compute,
                              const std::string& kind, const std::string& label, const nlohmann::json& settings,
                              std::uint64_t seed) {
    ComputeSettings resolved = compute;
    resolved.batchSize = bench.pass.prompts;
    return beginModelRun(store, bench.model, datasetRow(bench.task), resolved, bench.threads, kind, label, settings,
                         seed);
}

Result<std::int64_t> beginModelRun(store::StoreWriter& store, const LoadedModel& model,
                                   const store::DatasetRow& dataset, const ComputeSettings& compute, int threads,
                                   const std::string& kind, const std::string& label, const nlohmann::json& settings,
                                   std::uint64_t seed) {
    auto modelId = store.ensureModel(modelRow(model.opened));
    if (!modelId) return fail(modelId.error());
    auto datasetId = store.ensureDataset(dataset);
    if (!datasetId) return fail(datasetId.error());
    store::RunRow run;
    run.kind = kind;
    run.modelId = *modelId;
    run.datasetId = *datasetId;
    run.label = label;
    run.settingsJson = settings.dump();
    run.seed = seed;
    run.toolVersion = kVersion;
    run.libTorchVersion = model::libTorchVersion();
    run.device = model.lm->device();
    run.deviceDescription = model::deviceDescription(run.device);
    run.computeType = model::computeTypeName(model.lm->computeType());
    run.threadsPerWorker = threads;
    run.workers = compute.workers;
    run.batchSize = compute.batchSize.value_or(0);
    return store.addRun(run);
}

RunProgress::RunProgress(store::StoreWriter& store, std::int64_t runId, ProgressObserver& observer,
                         double elapsedBefore)
    : m_store(store), m_runId(runId), m_observer(observer), m_elapsedBefore(elapsedBefore), m_start(steadySeconds()) {}

void RunProgress::setStage(const std::string& stage) {
    const std::lock_guard lock(m_mutex);
    m_stage = stage;
    tell();
}

void RunProgress::setTotal(std::int64_t prompts) {
    const std::lock_guard lock(m_mutex);
    m_total = prompts;
}

Result<void> RunProgress::chunkDone(std::int64_t computed, std::int64_t reused) {
    const std::lock_guard lock(m_mutex);
    m_done += computed + reused;
    m_computed += computed;
    const double now = steadySeconds();
    if (now - m_lastTold >= 1.0 / 30) tell();
    if (now - m_lastHeartbeat >= 1.0) {
        m_lastHeartbeat = now;
        return m_store.heartbeat(m_runId, m_elapsedBefore + now - m_start);
    }
    return {};
}

Result<void> RunProgress::keepTime() {
    return m_store.heartbeat(m_runId, elapsedSeconds());
}

void RunProgress::addSkipped(std::int64_t prompts) {
    const std::lock_guard lock(m_mutex);
    m_done += prompts;
    m_skipped += prompts;
    tell();
}

void RunProgress::tell() {
    const double now = steadySeconds();
    m_lastTold = now;
    Progress progress{m_stage, m_done, m_total, 0.0, -1.0};
    // The rate is that of prompts really run: reused ones would promise an end that is not near.
    if (m_computed > 0 && now > m_start) {
        progress.ratePerSecond = static_cast<double>(m_computed) / (now - m_start);
        if (m_total >= m_done) progress.etaSeconds = static_cast<double>(m_total - m_done) / progress.ratePerSecond;
    }
    m_observer.progressed(progress);
}

double RunProgress::secondsThisSitting() const {
    return steadySeconds() - m_start;
}

double RunProgress::elapsedSeconds() const {
    return m_elapsedBefore + secondsThisSitting();
}

std::int64_t RunProgress::promptsDone() const {
    const std::lock_guard lock(m_mutex);
    return m_done;
}

std::int64_t RunProgress::promptsAsked() const {
    const std::lock_guard lock(m_mutex);
    return m_done - m_skipped;
}

std::int64_t RunProgress::promptsComputed() const {
    const std::lock_guard lock(m_mutex);
    return m_computed;
}

namespace {

/// What a library throws must still end the run in the data base with its reason.
Result<StudyOutcome> guarded(const std::function<Result<StudyOutcome>()>& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory,
                    "there is not enough memory for this run; use fewer workers or a smaller batch");
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "the run failed unexpectedly; please report this", error.what());
    }
}

}  // namespace

Result<StudyOutcome> conductRun(store::StoreWriter& store, std::int64_t runId, RunProgress& progress,
                                const std::function<Result<StudyOutcome>()>& work) {
    auto outcome = guarded(work);
    if (!outcome && model::wasStopped(outcome.error())) {
        outcome = StudyOutcome{runId, true, {{"run_id", runId}, {"state", "stopped"}}};
    }
    if (!outcome) {
        // The error that ended the run is what the user needs; a second one while writing it down would hide it.
        // Of a lost machine nothing is to be tried otherwise when the run is resumed, as after a failure.
        const bool lost = cluster::isLostPeer(outcome.error());
        (void)store.endRun(runId, lost ? store::RunState::Interrupted : store::RunState::Failed,
                           progress.elapsedSeconds(), "error", outcome.error().text(), "");
        return fail(outcome.error());
    }
    outcome->runId = runId;
    const bool stopped = outcome->stoppedEarly;
    const std::string reason = outcome->result.value("end_reason", stopped ? "stopped" : "complete");
    auto ended = store.endRun(runId, stopped ? store::RunState::Stopped : store::RunState::Finished,
                              progress.elapsedSeconds(), reason, "", outcome->result.dump());
    if (!ended) return fail(ended.error());
    return outcome;
}

}  // namespace lpes::studies
