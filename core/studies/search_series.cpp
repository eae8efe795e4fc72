#include "core/studies/search_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/clock.h"
#include "core/studies/resuming.h"
#include "core/studies/run_parts.h"
#include "core/studies/run_session.h"
#include "core/studies/search_forecast.h"
#include "core/studies/search_setup.h"
#include "core/studies/study_summary.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// All that the searches can refuse before weights are read: the first one in full, the others in what is their own.
Result<OpenedBench> checkParts(const std::vector<StudyPart>& parts, std::stop_token stop) {
    auto first = outlineSearch(parts.front().search, std::move(stop));
    if (!first) return fail(first.error());
    const model::ModelConfig& config = first->bench.config();
    for (const StudyPart& part : parts) {
        search::SearchSettings settings = part.search.search;
        auto groups = groupsForModel(settings.groups, config);
        if (!groups) return fail(groups.error());
        settings.groups = std::move(*groups);
        auto valid = search::checkSettings(settings, config.numLayers);
        if (!valid) {
            valid.error().context = part.label;
            return fail(valid.error());
        }
        if (auto splits = makeSearchSplits(part.search, first->bench.task); !splits) return fail(splits.error());
    }
    return std::move(first->bench);
}

/// A study on its way through its searches.
class Series {
  public:
    Series(const StudySettings& settings, std::vector<StudyPart> parts, const LoadedModel& model, std::int64_t runId,
           std::optional<int> workers, store::StoreWriter& store, PartObserver& observer)
        : m_settings(settings),
          m_parts(std::move(parts)),
          m_model(model),
          m_runId(runId),
          m_workers(workers),
          m_store(store),
          m_observer(observer) {}

    Result<StudyOutcome> run(const std::stop_token& stop) {
        std::vector<std::string> labels;
        for (const StudyPart& part : m_parts) labels.push_back(part.label);
        auto run = runParts(labels, m_observer, [&](std::size_t i) { return runPart(m_parts[i], stop); });
        if (!run) return fail(run.error());
        auto summary = studySummary(m_store.reader(), m_runId, m_settings);
        if (!summary) return fail(summary.error());
        StudyOutcome outcome = run->outcome(m_runId);
        outcome.result = std::move(*summary);
        outcome.result.update({{"run_id", m_runId},
                               {"state", run->state()},
                               {"end_reason", run->endReason("failed searches")},
                               {"failed", run->failed},
                               {"seconds", m_observer.elapsed()},
                               {"settings", toJson(m_settings)}});
        return outcome;
    }

  private:
    Result<StudyOutcome> runPart(const StudyPart& part, const std::stop_token& stop) {
        return takeUpPart(
            m_store.reader(), m_runId, part.label, "search",
            [&](std::int64_t id) { return resumeSearch(id, m_workers, m_store, m_observer, stop, &m_model); },
            [&] {
                SearchRunSettings settings = part.search;
                settings.partOf = partName(m_runId, part.label);
                if (m_workers) settings.compute.workers = *m_workers;
                return runSearch(settings, m_store, m_observer, stop, &m_model);
            });
    }

    const StudySettings& m_settings;
    const std::vector<StudyPart> m_parts;
    const LoadedModel& m_model;
    const std::int64_t m_runId;
    const std::optional<int> m_workers;
    store::StoreWriter& m_store;
    PartObserver& m_observer;
};

Result<StudyOutcome> conduct(const StudySettings& settings, std::vector<StudyPart> parts, const LoadedModel& model,
                             std::int64_t runId, std::optional<int> workers, store::StoreWriter& store,
                             ProgressObserver& observer, std::stop_token stop, double elapsedBefore) {
    PartObserver watched(observer, store, runId, parts.size(), elapsedBefore);
    RunProgress progress(store, runId, watched, elapsedBefore);
    return conductRun(store, runId, progress, [&] {
        return Series(settings, std::move(parts), model, runId, workers, store, watched).run(stop);
    });
}

}  // namespace

Result<StudyOutcome> runStudy(const StudySettings& given, store::StoreWriter& store, ProgressObserver& observer,
                              std::stop_token stop) {
    StudySettings settings = given;
    ComputeSettings& compute = settings.search.compute;
    auto parts = studyParts(settings);
    if (!parts) return fail(parts.error());
    auto bench = checkParts(*parts, stop);
    if (!bench) return fail(bench.error());
    const auto model = loadWeights(std::move(bench->model), bench->computeType, compute.device, observer, stop);
    if (!model) return fail(model.error());
    compute.threadsPerWorker = bench->threads;
    compute.dtype = model::computeTypeName(bench->computeType);
    if (std::filesystem::exists(compute.model)) compute.model = model->opened.path.string();
    TaskSpec& task = settings.search.task;
    task.positions = bench->task.spec.positions;
    task.itemSeed = bench->task.spec.itemSeed;
    if (task.data) task.data = std::filesystem::absolute(*task.data).lexically_normal().string();
    parts = studyParts(settings);
    if (!parts) return fail(parts.error());
    auto runId = beginModelRun(store, *model, datasetRow(bench->task), compute, bench->threads, "study",
                               fmt::format("study {}: {} searches on {}", studyKindName(settings.kind), parts->size(),
                                           bench->task.info().name),
                               toJson(settings), settings.search.search.seed);
    if (!runId) return fail(runId.error());
    return conduct(settings, std::move(*parts), *model, *runId, std::nullopt, store, observer, stop, 0.0);
}

Result<StudyOutcome> resumeStudy(std::int64_t runId, std::optional<int> workers, store::StoreWriter& store,
                                 ProgressObserver& observer, std::stop_token stop) {
    const auto run = resumableRun(store.reader(), runId, "study");
    if (!run) return fail(run.error());
    const auto stored = storedSettings(*run);
    if (!stored) return fail(stored.error());
    const auto settings = studySettingsFromJson(*stored);
    if (!settings) return fail(settings.error());
    auto parts = studyParts(*settings);
    if (!parts) return fail(parts.error());
    const ComputeSettings& compute = settings->search.compute;
    auto model = loadModel({compute.model, compute.dtype, compute.device, true}, observer, stop);
    if (!model) return fail(model.error());
    if (auto same = requireSameModel(store.reader(), *run, *model, settings->search.compute.model, observer); !same)
        return fail(same.error());
    if (auto opened = store.reopenRun(runId, workers.value_or(settings->search.compute.workers)); !opened)
        return fail(opened.error());
    return conduct(*settings, std::move(*parts), *model, runId, workers, store, observer, stop, run->elapsedSeconds);
}

Result<json> forecastStudy(const StudySettings& settings, ProgressObserver& observer, std::stop_token stop) {
    const auto parts = studyParts(settings);
    if (!parts) return fail(parts.error());
    if (auto valid = checkParts(*parts, stop); !valid) return fail(valid.error());
    // Slopes are timed for a search that asks for them: one that descends gradients stands for the others.
    auto timed = std::ranges::find_if(
        *parts, [](const StudyPart& part) { return search::descentsOf(part.search.search, 1) > 0; });
    if (timed == parts->end()) timed = parts->begin();
    auto measured = measureSearch(timed->search, observer, stop);
    if (!measured) return fail(measured.error());
    // The items differ between resamples, and are as many and as long.
    const auto take = [&](const StudyPart& part) {
        search::SearchSettings search = part.search.search;
        search.groups = measured->prepared.settings.search.groups;
        measured->prepared.settings.search = std::move(search);
    };
    take(parts->front());
    json forecast = forecastJson(*measured);
    json searches = json::array();
    std::int64_t candidates = 0, prompts = 0, tokens = 0;
    double seconds = 0.0;
    for (const StudyPart& part : *parts) {
        take(part);
        const ForecastTotals totals = forecastTotals(*measured);
        searches.push_back({{"label", part.label},
                            {"candidates", totals.candidates},
                            {"prompts", totals.prompts},
                            {"seconds", totals.seconds}});
        candidates += totals.candidates;
        prompts += totals.prompts;
        tokens += totals.tokens;
        seconds += totals.seconds;
    }
    forecast.update({{"study", studyKindName(settings.kind)},
                     {"searches", std::move(searches)},
                     {"candidates", candidates},
                     {"prompts", prompts},
                     {"tokens", tokens},
                     {"seconds", seconds},
                     {"settings", toJson(settings)}});
    return forecast;
}

}  // namespace lpes::studies
