#include <fmt/format.h>

#include <algorithm>

#include "core/model/torch/torch_runtime.h"
#include "core/studies/resuming.h"
#include "core/studies/search_setup.h"
#include "core/studies/search_sitting.h"
#include "core/studies/studies.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// Call it after reopenRun, which forgets the failures that ended a run.
Result<StoredCandidates> storedCandidates(store::StoreReader& reader, std::int64_t runId) {
    auto rows = reader.candidates(runId);
    if (!rows) return fail(rows.error());
    StoredCandidates before;
    for (const store::CandidateRow& row : *rows) {
        const std::pair place(row.generation, row.index);
        if (row.state == store::CandidateRow::State::Evaluated) before.evaluated.insert(place);
        if (row.state == store::CandidateRow::State::Failed) before.failed.emplace(place, row.reason);
    }
    return before;
}

}  // namespace

Result<StudyOutcome> runSearch(const SearchRunSettings& settings, store::StoreWriter& store, ProgressObserver& observer,
                               std::stop_token stop, const LoadedModel* loaded) {
    auto prepared = prepareSearch(settings, std::nullopt, observer, stop, loaded);
    if (!prepared) return fail(prepared.error());
    auto runId = beginRun(store, prepared->bench, prepared->settings.compute, "search",
                          fmt::format("search on {}", prepared->bench.task.info().name), toJson(prepared->settings),
                          settings.search.seed);
    if (!runId) return fail(runId.error());
    RunProgress progress(store, *runId, observer);
    return conductRun(store, *runId, progress, [&]() -> Result<StudyOutcome> {
        if (auto done = writeSplits(store, *runId, prepared->splits); !done) return fail(done.error());
        return SearchSitting(*prepared, store, progress, *runId, {}).run(0.0, stop);
    });
}

Result<StudyOutcome> resumeSearch(std::int64_t runId, std::optional<int> workers, store::StoreWriter& store,
                                  ProgressObserver& observer, std::stop_token stop, const LoadedModel* loaded) {
    store::StoreReader& reader = store.reader();
    const auto run = resumableRun(reader, runId, "search");
    if (!run) return fail(run.error());
    const auto stored = storedSettings(*run);
    if (!stored) return fail(stored.error());
    auto settings = searchSettingsFromJson(*stored);
    if (!settings) return fail(settings.error());
    if (workers) settings->compute.workers = *workers;
    auto splits = readSplits(reader, runId);
    if (!splits) return fail(splits.error());
    auto prepared = prepareSearch(*settings, *splits, observer, stop, loaded);
    if (!prepared) return fail(prepared.error());

    if (auto same = requireSameInputs(reader, *run, prepared->bench, settings->compute.model, observer); !same)
        return fail(same.error());
    if (auto opened = store.reopenRun(runId, prepared->settings.compute.workers); !opened) return fail(opened.error());
    RunProgress progress(store, runId, observer, run->elapsedSeconds);
    return conductRun(store, runId, progress, [&]() -> Result<StudyOutcome> {
        auto before = storedCandidates(reader, runId);
        if (!before) return fail(before.error());
        if (auto done = writeSplits(store, runId, prepared->splits); !done) return fail(done.error());
        return SearchSitting(*prepared, store, progress, runId, std::move(*before)).run(run->elapsedSeconds, stop);
    });
}

Result<json> planSearch(const SearchRunSettings& settings) {
    if (auto ok = checkCounts(settings); !ok) return fail(ok.error());
    const auto compute = resolveComputeType(settings.compute.dtype, settings.compute.device);
    if (!compute) return fail(compute.error());
    auto threads = resolveThreads(settings.compute.workers, settings.compute.threadsPerWorker);
    if (!threads) return fail(threads.error());
    auto task = taskFor(settings.compute.model, settings.task, itemsNeeded(settings));
    if (!task) return fail(task.error());
    auto opened = openModel(settings.compute.model, true);
    if (!opened) return fail(opened.error());
    const model::ModelConfig& config = opened->weights->config();
    search::SearchSettings checked = settings.search;
    auto groups = groupsForModel(checked.groups, config);
    if (!groups) return fail(groups.error());
    checked.groups = std::move(*groups);
    if (auto ok = search::checkSettings(checked, config.numLayers); !ok) return fail(ok.error());
    auto splits = tasks::makeSplits(task->ids(), task->info().name, settings.searchItems, settings.selectItems,
                                    settings.reportItems, settings.search.seed);
    if (!splits) return fail(splits.error());
    PassSize pass = passSize(settings.compute, *task);
    const auto score = scoreFor(*task, settings.score);
    if (!score) return fail(score.error());
    pass.generates = score->kind == tasks::ScoreKind::Kind::Generate;
    std::int64_t prompts[3] = {}, tokens[3] = {};
    int longest = 0;
    const std::vector<std::string>* ids[3] = {&splits->search, &splits->select, &splits->report};
    for (int i = 0; i < 3; ++i) {
        auto plan = PromptPlan::make(*task, *ids[i], *opened->tokenizer, config.contextLength, pass);
        if (!plan) return fail(plan.error());
        prompts[i] = plan->prompts();
        tokens[i] = plan->tokens();
        longest = std::max(longest, plan->longestPrompt());
    }
    const std::int64_t candidates = mostCandidates(settings.search, config.numLayers);
    return json{{"candidates", candidates},
                {"prompts", candidates * prompts[0] + settings.finalists * prompts[1] + 2 * prompts[2]},
                {"tokens", candidates * tokens[0] + settings.finalists * tokens[1] + 2 * tokens[2]},
                {"longest_prompt", longest},
                {"weight_bytes", model::estimateWeightBytes(config, *compute)},
                {"activation_bytes",
                 settings.compute.workers * model::estimateActivationBytes(config, *compute, longest * pass.prompts)},
                {"threads_per_worker", *threads},
                {"dtype", model::computeTypeName(*compute)},
                {"settings", toJson(settings)}};
}

}  // namespace lpes::studies
