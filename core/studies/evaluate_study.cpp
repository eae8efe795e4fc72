#include <fmt/format.h>

#include "core/analysis/position_accuracy.h"
#include "core/studies/json_rows.h"
#include "core/studies/run_session.h"
#include "core/studies/studies.h"

namespace lpes::studies {

namespace {

constexpr const char* kSplit = "eval";

}  // namespace

Result<StudyOutcome> runEvaluation(const EvalSettings& settings, store::StoreWriter& store, ProgressObserver& observer,
                                   std::stop_token stop) {
    auto score = tasks::parseScoreKind(settings.score);
    if (!score) return fail(score.error());
    if (settings.compute.workers != 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("--workers {}: an evaluation runs with one worker; use --threads-per-worker",
                                settings.compute.workers));
    }
    const auto prepared = prepareMethod(settings.method, settings.compute, settings.task, 100, observer, stop);
    if (!prepared) return fail(prepared.error());
    const auto& [bench, method, plan] = *prepared;

    EvalSettings resolved = settings;
    storeResolved(resolved.compute, resolved.task, bench);
    const nlohmann::json settingsJson = toJson(resolved);
    auto runId =
        beginRun(store, bench, settings.compute, "eval", fmt::format("{} on {}", method.text, bench.task.dataset.name),
                 settingsJson, settings.task.itemSeed);
    if (!runId) return fail(runId.error());
    RunProgress progress(store, *runId, observer);
    return conductRun(store, *runId, progress, [&]() -> Result<StudyOutcome> {
        std::vector<std::string> items;
        for (const tasks::KvItem& item : bench.task.dataset.items) items.push_back(item.id);
        if (auto set = store.setSplit(*runId, kSplit, items); !set) return fail(set.error());
        auto variant = store.ensureVariant(*runId, method.text, storedScales(method));
        if (!variant) return fail(variant.error());
        auto session = bench.model.lm->newSession(bench.threads);
        if (auto applied = requireApplied(*session, method, plan.longestPrompt()); !applied)
            return fail(applied.error());
        progress.setTotal(plan.prompts());
        progress.setStage(fmt::format("evaluating {}", method.text));
        auto outcomes = evaluateVariant(
            {*session, bench.model.tokenizer(), plan, method, *score, store, *variant, kSplit}, progress, stop);
        bool stopped = false;
        if (!outcomes) {
            if (!model::wasStopped(outcomes.error())) return fail(outcomes.error());
            stopped = true;
            auto stored = store.reader().outcomes(*variant, kSplit);
            if (!stored) return fail(stored.error());
            outcomes.emplace();
            for (const store::OutcomeRow& row : *stored) outcomes->push_back(fromRow(row));
        }
        const analysis::AccuracyByPosition accuracy = analysis::accuracyByPosition(*outcomes, bench.task.labels);
        if (auto done = store.recordPositions(*runId, positionRows(accuracy, *variant, kSplit)); !done) {
            return fail(done.error());
        }
        const double seconds = progress.secondsThisSitting();
        StudyOutcome outcome{*runId, stopped, {}};
        outcome.result = {
            {"run_id", *runId},
            {"state", stopped ? "stopped" : "finished"},
            {"model", settings.compute.model},
            {"method", method.text},
            {"task", settings.task.task},
            {"data", bench.task.dataset.name},
            {"score", score->text},
            {"items", accuracy.items},
            {"skipped_too_long", accuracy.skippedTooLong},
            {"positions", positionsJson(accuracy)},
            {"mean_accuracy", accuracy.meanAccuracy},
            {"gap", accuracy.gap},
            {"applied", "verified"},
            {"seconds", seconds},
            {"prompts_per_second", seconds > 0 ? static_cast<double>(progress.promptsComputed()) / seconds : 0.0},
            {"settings", settingsJson}};
        return outcome;
    });
}

}  // namespace lpes::studies
