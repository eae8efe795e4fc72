#include <fmt/format.h>

#include <algorithm>

#include "core/model/torch/torch_runtime.h"
#include "core/studies/resuming.h"
#include "core/studies/search_ranks.h"
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
    auto variants = reader.variants(runId);
    if (!variants) return fail(variants.error());
    auto generations = reader.generations(runId);
    if (!generations) return fail(generations.error());
    StoredCandidates before;
    if (!generations->empty()) before.lastGeneration = generations->back().generation;
    for (store::VariantRow& variant : *variants) before.variants.emplace(std::move(variant.scales), variant.id);
    for (const store::CandidateRow& row : *rows) {
        const std::pair place(row.generation, row.index);
        if (row.state == store::CandidateRow::State::Evaluated || row.state == store::CandidateRow::State::Infeasible)
            before.evaluated.insert(place);
        if (row.state == store::CandidateRow::State::Failed) before.failed.emplace(place, row.reason);
    }
    return before;
}

/// A search that is ready to begin, and who takes part.
struct Party {
    std::unique_ptr<SearchRanks> others;  ///< null: nobody
    PreparedSearch prepared;
};

/// What can be refused without weights is refused before the other ranks are told of a model; they load while this one
/// does.
Result<Party> assemble(const SearchRunSettings& settings, const std::optional<tasks::Splits>& stored,
                       ProgressObserver& observer, const std::stop_token& stop, const LoadedModel* loaded,
                       cluster::Ranks* ranks) {
    auto outline = outlineSearch(settings, stop, stored, loaded);
    if (!outline) return fail(outline.error());
    std::unique_ptr<SearchRanks> others;
    if (ranks != nullptr) {
        auto gathered = SearchRanks::gather(*ranks, settings.compute, stop);
        if (!gathered) return fail(gathered.error());
        others = std::move(*gathered);
    }
    auto prepared = loadSearch(std::move(*outline), observer, stop, loaded);
    if (!prepared) return fail(prepared.error());
    if (others) {
        if (auto same = others->requireSame(prepared->bench.model, stop); !same) return fail(same.error());
    }
    return Party{std::move(others), std::move(*prepared)};
}

/// One sitting with all sessions. A lost rank is told with how to go on.
Result<StudyOutcome> sit(const Party& party, store::StoreWriter& store, RunProgress& progress, std::int64_t runId,
                         StoredCandidates before, double elapsedBefore, const std::stop_token& stop) {
    auto sessions =
        SearchSessions::make(party.prepared.bench, party.prepared.settings.compute.workers,
                             party.others ? party.others->sessions() : std::vector<model::AnswerSession*>());
    if (!sessions) return fail(sessions.error());
    auto outcome =
        SearchSitting(party.prepared, *sessions, store, progress, runId, std::move(before)).run(elapsedBefore, stop);
    // mpirun ends the others when one dies, so that a lost rank may look like a stop at first.
    if (outcome && outcome->stoppedEarly && party.others) {
        if (auto alive = party.others->requireAlive(); !alive) outcome = fail(alive.error());
    }
    if (!outcome && cluster::isLostPeer(outcome.error())) {
        Error error = outcome.error();
        error.message += fmt::format("; what was evaluated is kept, and 'lpes resume {}' goes on", runId);
        return fail(std::move(error));
    }
    return outcome;
}

}  // namespace

Result<StudyOutcome> runSearch(const SearchRunSettings& settings, store::StoreWriter& store, ProgressObserver& observer,
                               std::stop_token stop, const LoadedModel* loaded, cluster::Ranks* ranks) {
    auto party = assemble(settings, std::nullopt, observer, stop, loaded, ranks);
    if (!party) return fail(party.error());
    const PreparedSearch* prepared = &party->prepared;
    auto runId = beginRun(store, prepared->bench, prepared->settings.compute, "search",
                          fmt::format("search on {}", prepared->bench.task.info().name), toJson(prepared->settings),
                          settings.search.seed);
    if (!runId) return fail(runId.error());
    RunProgress progress(store, *runId, observer);
    return conductRun(store, *runId, progress, [&]() -> Result<StudyOutcome> {
        if (auto done = writeSplits(store, *runId, prepared->splits); !done) return fail(done.error());
        return sit(*party, store, progress, *runId, {}, 0.0, stop);
    });
}

Result<StudyOutcome> resumeSearch(std::int64_t runId, std::optional<int> workers, store::StoreWriter& store,
                                  ProgressObserver& observer, std::stop_token stop, const LoadedModel* loaded,
                                  cluster::Ranks* ranks) {
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
    auto party = assemble(*settings, *splits, observer, stop, loaded, ranks);
    if (!party) return fail(party.error());
    const PreparedSearch* prepared = &party->prepared;
    if (auto same = requireSameInputs(reader, *run, prepared->bench, settings->compute.model, observer); !same)
        return fail(same.error());
    if (auto opened = store.reopenRun(runId, prepared->settings.compute.workers); !opened) return fail(opened.error());
    RunProgress progress(store, runId, observer, run->elapsedSeconds);
    return conductRun(store, runId, progress, [&]() -> Result<StudyOutcome> {
        auto before = storedCandidates(reader, runId);
        if (!before) return fail(before.error());
        if (auto done = writeSplits(store, runId, prepared->splits); !done) return fail(done.error());
        return sit(*party, store, progress, runId, std::move(*before), run->elapsedSeconds, stop);
    });
}

Result<json> planSearch(const SearchRunSettings& settings, std::stop_token stop) {
    const auto outline = outlineSearch(settings, std::move(stop));
    if (!outline) return fail(outline.error());
    const SearchPlan& plan = outline->plan;
    const model::ModelConfig& config = outline->bench.config();
    const model::ComputeType type = outline->bench.computeType;
    const std::int64_t candidates = mostCandidates(settings.search, config.numLayers);
    // Selection asks every finalist, the report those that are reported; the guardrail baseline and winner, its texts
    // all candidates and the baseline where they count.
    const auto total = [&](std::int64_t search, std::int64_t select, std::int64_t report, std::int64_t guardrail,
                           std::int64_t limit) {
        return candidates * search + settings.finalists * select + reportedVariants(settings) * report + 2 * guardrail +
               (candidates + 1) * limit;
    };
    const ShortTexts limit = shortTextsOf(plan);
    int longest = 0;
    for (const PromptPlan* split : {&plan.searchPlan, &plan.selectPlan, &plan.reportPlan})
        longest = std::max(longest, split->longestPrompt());
    const int together = longest * plan.searchPlan.pass().prompts;
    return json{{"candidates", candidates},
                {"prompts", total(plan.searchPlan.prompts(), plan.selectPlan.prompts(), plan.reportPlan.prompts(),
                                  plan.guardrail.prompts(), limit.prompts)},
                {"tokens", total(plan.searchPlan.tokens(), plan.selectPlan.tokens(), plan.reportPlan.tokens(),
                                 plan.guardrail.tokens(), limit.tokens)},
                {"longest_prompt", longest},
                {"weight_bytes", model::estimateWeightBytes(config, type)},
                {"activation_bytes", settings.compute.workers * model::estimateActivationBytes(config, type, together)},
                {"threads_per_worker", outline->bench.threads},
                {"dtype", model::computeTypeName(type)},
                {"settings", toJson(settings)}};
}

}  // namespace lpes::studies
