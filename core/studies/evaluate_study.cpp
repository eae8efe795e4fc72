#include <fmt/format.h>

#include "core/analysis/position_accuracy.h"
#include "core/search/genetic_search.h"
#include "core/studies/evaluation_summary.h"
#include "core/studies/json_rows.h"
#include "core/studies/method_words.h"
#include "core/studies/run_session.h"
#include "core/studies/studies.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

constexpr const char* kSplit = "eval";
constexpr std::uint64_t kSeed = 1;  // of intervals: an evaluation draws nothing that could have a seed of its own

Result<void> checkSettings(const EvalSettings& settings) {
    if (settings.compute.workers != 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("--workers {}: an evaluation runs with one worker; use --threads-per-worker",
                                settings.compute.workers));
    }
    if (settings.repeats < 1) {
        return fail(ErrorCode::Usage, fmt::format("--repeats {} is too small; give at least 1", settings.repeats));
    }
    if (settings.agreementItems < 0) {
        return fail(ErrorCode::Usage,
                    fmt::format("--agreement {} is too small; give 0 or more items", settings.agreementItems));
    }
    return {};
}

/// One evaluation of all items, and what it needs.
class Evaluation {
  public:
    Evaluation(const EvalSettings& settings, const MethodBench& work, std::int64_t runId, store::StoreWriter& store,
               RunProgress& progress)
        : m_settings(settings),
          m_work(work),
          m_runId(runId),
          m_store(store),
          m_progress(progress),
          m_session(work.bench.model.lm->newSession(work.bench.threads)) {}

    Result<StudyOutcome> run(const json& settingsJson, const std::stop_token& stop) {
        if (auto set = m_store.setSplit(m_runId, kSplit, m_work.bench.task.ids()); !set) return fail(set.error());
        if (auto applied = requireApplied(*m_session, m_work.method, m_work.plan.longestPrompt()); !applied)
            return fail(applied.error());
        m_progress.setTotal(m_work.plan.prompts() * m_settings.repeats);
        for (int repeat = 0; repeat < m_settings.repeats && !m_stopped; ++repeat) {
            if (auto done = evaluate(repeat, stop); !done) return fail(done.error());
        }
        return result(settingsJson);
    }

  private:
    /// Other pass sizes round differently, which is all that tells repeats apart.
    Result<PromptPlan> planOf(int repeat, const std::stop_token& stop) const {
        if (repeat == 0) return m_work.plan;
        PassSize pass = m_work.plan.pass();
        pass.prompts += repeat;
        const Workbench& bench = m_work.bench;
        return PromptPlan::make(bench.task, bench.task.ids(), bench.model.tokenizer(), m_work.plan.contextLength(),
                                pass, stop);
    }

    Result<void> evaluate(int repeat, const std::stop_token& stop) {
        const auto plan = planOf(repeat, stop);
        if (!plan) return fail(plan.error());
        // The scales tell variants apart, and those of repeats are the same.
        const std::string name =
            repeat == 0 ? m_work.method.text : fmt::format("{} (again {})", m_work.method.text, repeat);
        const auto variant =
            m_store.ensureVariant(m_runId, name, repeat == 0 ? storedScales(m_work.method) : rope::LayerScales{});
        if (!variant) return fail(variant.error());
        m_progress.setStage(fmt::format("evaluating {}", name));
        model::LocalSession session(*m_session);
        auto outcomes = evaluateVariant({m_work.bench.model.tokenizer(), *plan, m_work.method, m_work.score, m_store,
                                         *variant, kSplit, m_settings.agreementItems},
                                        session, m_progress, stop);
        if (!outcomes) {
            if (!model::wasStopped(outcomes.error())) return fail(outcomes.error());
            m_stopped = true;
            outcomes = storedOutcomes(m_store.reader(), *variant, kSplit);
            if (!outcomes) return fail(outcomes.error());
            // An item that was stopped half way has not all its positions.
            std::vector<analysis::ItemOutcome>* const sides[] = {&*outcomes};
            analysis::keepSharedItems(sides, static_cast<int>(m_work.bench.task.positions.size()));
        }
        // A repeat that was stopped half way says nothing about noise.
        if (repeat == 0 || !m_stopped) m_repeats.push_back(std::move(*outcomes));
        if (repeat > 0) return {};
        m_accuracy = analysis::accuracyByPosition(m_repeats.front(), m_work.bench.task.labels, m_work.plan.graded());
        return m_store.recordPositions(m_runId, positionRows(m_accuracy, *variant, kSplit));
    }

    Result<StudyOutcome> result(const json& settingsJson) const {
        const PreparedTask& task = m_work.bench.task;
        const std::vector<analysis::ItemOutcome>& outcomes = m_repeats.front();
        const auto spec = rope::parseMethod(m_settings.method);
        if (!spec) return fail(spec.error());
        ItemHashes hashes(task);
        const auto heldOut = heldOutJson(*spec, hashes, outcomes, m_store.reader());
        if (!heldOut) return fail(heldOut.error());
        const double seconds = m_progress.secondsThisSitting();
        StudyOutcome outcome{m_runId, m_stopped, {}};
        outcome.result = {
            {"run_id", m_runId},
            {"state", m_stopped ? "stopped" : "finished"},
            {"model", m_settings.compute.model},
            {"method", m_work.method.text},
            {"method_hash", hashJson(m_work.methodHashes, m_work.method.text)},
            {"task", m_settings.task.task},
            {"data", task.info().name},
            {"template_hash", task.info().templateHash},
            {"score", m_work.score.text},
            {"items_planned", m_work.plan.itemsRun()},
            {"skipped_too_long", m_accuracy.skippedTooLong},
            {"fitness", nullptr},
            {"agreement", agreementJson(outcomes)},
            {"noise", noiseJson(m_repeats, task.labels)},
            {"notes", notesJson(m_work.plan)},
            {"applied", "verified"},
            {"seconds", seconds},
            {"prompts_per_second", seconds > 0 ? static_cast<double>(m_progress.promptsComputed()) / seconds : 0.0},
            {"settings", settingsJson}};
        outcome.result.update(*heldOut);
        outcome.result.update(outcomesJson(task, m_accuracy, outcomes, kSeed, m_work.plan.graded()));
        if (m_work.method.bucketSearch) outcome.result["bases_search"] = bucketSearchJson(m_work.method);
        if (m_accuracy.items > 0) addFitness(outcome.result);
        return outcome;
    }

    /// What a search would see of these items.
    void addFitness(json& result) const {
        std::vector<double> byPosition;
        for (const analysis::PositionResult& position : m_accuracy.positions) {
            byPosition.push_back(m_work.score.score(position.accuracy, position.answerNll));
            result["positions"][byPosition.size() - 1]["fitness"] = byPosition.back();
        }
        result["fitness"] = search::weightedFitness(byPosition, std::vector<double>(byPosition.size(), 1.0), 0.0);
    }

    const EvalSettings& m_settings;
    const MethodBench& m_work;
    std::int64_t m_runId;
    store::StoreWriter& m_store;
    RunProgress& m_progress;
    std::unique_ptr<model::ModelSession> m_session;
    std::vector<std::vector<analysis::ItemOutcome>> m_repeats;
    analysis::AccuracyByPosition m_accuracy;
    bool m_stopped = false;
};

}  // namespace

Result<StudyOutcome> runEvaluation(const EvalSettings& settings, store::StoreWriter& store, ProgressObserver& observer,
                                   std::stop_token stop) {
    if (auto valid = checkSettings(settings); !valid) return fail(valid.error());
    const auto work = prepareMethod(settings.method, settings.compute, settings.task, settings.score,
                                    settings.agreementItems > 0, 100, observer, stop);
    if (!work) return fail(work.error());
    EvalSettings resolved = settings;
    storeResolved(resolved.compute, resolved.task, work->bench);
    resolved.score = work->score.text;
    resolved.methodHashes = work->methodHashes;
    const json settingsJson = toJson(resolved);
    auto runId = beginRun(store, work->bench, settings.compute, "eval",
                          fmt::format("{} on {}", work->method.text, work->bench.task.info().name), settingsJson,
                          settings.task.seedOfItems());
    if (!runId) return fail(runId.error());
    RunProgress progress(store, *runId, observer);
    return conductRun(store, *runId, progress,
                      [&] { return Evaluation(settings, *work, *runId, store, progress).run(settingsJson, stop); });
}

}  // namespace lpes::studies
