#include "core/studies/search_sitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/analysis/scale_variants.h"
#include "core/base/version.h"
#include "core/exporters/profile.h"
#include "core/studies/evaluation_summary.h"
#include "core/studies/json_rows.h"
#include "core/studies/probe_study.h"
#include "core/studies/search_front.h"
#include "core/studies/search_recorder.h"
#include "core/studies/slope_evaluator.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

json historyJson(const std::vector<search::GenerationRecord>& history) {
    json out = json::array();
    for (const search::GenerationRecord& record : history) {
        out.push_back({{"generation", record.generation},
                       {"best", record.best},
                       {"mean", record.mean},
                       {"diversity", record.diversity}});
        if (!record.hypervolume) continue;
        out.back()["front_size"] = record.frontSize;
        out.back()["hypervolume"] = *record.hypervolume;
    }
    return out;
}

/// What made a profile, but for its figures: data, items, prompts, score.
Result<json> provenanceOf(const PreparedSearch& prepared, ItemHashes& items) {
    const PreparedTask& task = prepared.bench.task;
    const tasks::Splits& splits = prepared.splits;
    auto searched = items.of(splits.search), selected = items.of(splits.select);
    for (const auto* hashes : {&searched, &selected}) {
        if (!*hashes) return fail(hashes->error());
    }
    return json{{"seed", prepared.settings.search.seed},
                {"data_set", task.info().name},
                {"data_set_hash", task.info().hash},
                {"item_seed", task.spec.seedOfItems()},
                {"template_hash", task.info().templateHash},
                {"tokenizer", prepared.bench.model.tokenizer().fingerprint()},
                {"score", prepared.score.text},
                {"compute_type", prepared.settings.compute.dtype},
                {"chat", optionalJson(task.spec.chat)},
                {"bos", task.spec.bos},
                {"items", {{"search", splits.search}, {"select", splits.select}}},
                {"item_hashes", {{"search", *searched}, {"select", *selected}}}};
}

exporters::Profile makeProfile(const PreparedSearch& prepared, const search::CandidateRecord& winner,
                               std::int64_t runId, const json& provenance) {
    exporters::Profile profile;
    profile.model = profileModel(prepared.bench.model.config());
    profile.groups = prepared.settings.search.groups;
    profile.scales = winner.candidate.scales;
    for (int group = 0; group < profile.groups.count(); ++group) {
        const auto points = pointsOf(winner.candidate, profile.groups.count(), group);
        profile.curves.push_back({prepared.settings.search.curve, {points.begin(), points.end()}});
    }
    if (profile.groups.perLayer()) {
        profile.curve = std::move(profile.curves.front());
        profile.curves.clear();
    }
    profile.constraints = prepared.settings.search.constraints;
    profile.provenance = provenance;
    profile.provenance["run_id"] = runId;
    profile.toolVersion = kVersion;
    return profile;
}

}  // namespace

SearchSitting::SearchSitting(const PreparedSearch& prepared, SearchSessions& sessions, store::StoreWriter& store,
                             RunProgress& progress, std::int64_t runId, StoredCandidates before)
    : m_prepared(prepared),
      m_sessions(sessions),
      m_store(store),
      m_progress(progress),
      m_runId(runId),
      m_shortContexts(prepared.guardrail, prepared.settings.guardrailLimit, measuresShortContexts(prepared.settings),
                      store, runId),
      m_fitness({prepared.bench, *sessions.pool, store, progress, runId, prepared.score, prepared.weights,
                 prepared.settings.gapPenalty, prepared.settings.search.groups, prepared.settings.search.seed,
                 m_shortContexts, prepared.objectives, reuseBytes(prepared.settings)},
                prepared.searchPlan, std::move(before)) {}

Result<StudyOutcome> SearchSitting::run(double elapsedBefore, std::stop_token stop) {
    const SearchRunSettings& settings = m_prepared.settings;
    const std::int64_t after = promptsAfterSearch();
    if (m_prepared.searchPlan.pass().sharePrefixes) {
        // Scales do not decide who shares: every candidate's passes are those of the model as it is.
        auto counted = passTokens(m_prepared.searchPlan, {}, m_prepared.bench.model.config());
        if (!counted) return fail(counted.error());
        m_passTokens = std::move(*counted);
    }
    if (m_shortContexts.measured()) m_progress.setStage("guardrail: the model as it is");
    auto measured = m_shortContexts.measureBaseline(*m_sessions.pool, m_progress, stop);
    if (!measured) return stoppedOr(measured.error(), {});
    SearchRecorder recorder(m_store, m_progress, m_runId, settings.search,
                            {m_prepared.searchPlan.prompts() + m_shortContexts.prompts(), promptsOfAStep(m_prepared),
                             m_shortContexts.prompts() + after});
    // A candidate for every session; there may be more of those, on many machines.
    const int together = std::min(m_sessions.pool->sessions(), search::kMostWorkers);
    auto outcome = search::runGeneticSearch(settings.search, m_prepared.bench.model.config().numLayers, together,
                                            m_fitness, recorder, elapsedBefore, stop);
    if (!outcome) return fail(outcome.error());
    if (const auto lost = m_sessions.pool->lost()) return fail(*lost);
    if (outcome->end == search::EndReason::Stopped) return partial(*outcome);
    if (outcome->failedSlope) {
        return fail(outcome->failedSlope->code,
                    fmt::format("{} slopes failed in a row, the last because: {}; what was evaluated is kept, and "
                                "'lpes resume {}' goes on",
                                settings.search.maxConsecutiveFailures, outcome->failedSlope->text(), m_runId));
    }
    if (outcome->end == search::EndReason::Failures) {
        const auto last = std::find_if(outcome->candidates.rbegin(), outcome->candidates.rend(),
                                       [](const search::CandidateRecord& record) { return record.evaluation.failed; });
        return fail(last->evaluation.cause,
                    fmt::format("{} candidates failed in a row, the last because: {}; what was evaluated is kept, and "
                                "'lpes resume {}' goes on",
                                settings.search.maxConsecutiveFailures, last->evaluation.reason, m_runId));
    }
    // Where the time limit ended the search, a run that is resumed from here must find it passed, and breed no more.
    if (auto kept = m_progress.keepTime(); !kept) return fail(kept.error());
    m_progress.setTotal(m_progress.promptsDone() + after);
    m_progress.setStage("selection");
    auto winner = selectWinner(*outcome, stop);
    if (!winner) return stoppedOr(winner.error(), *outcome);
    m_progress.setStage("report");
    return report(*outcome, *winner, stop);
}

std::int64_t SearchSitting::promptsAfterSearch() const {
    const ProbeCounts probes = probeCounts(m_prepared);
    return m_prepared.selectPlan.prompts() * m_prepared.settings.finalists +
           m_prepared.reportPlan.prompts() * reportedVariants(m_prepared.settings) + probes.attention +
           probes.deviation + kSlopeCost * probes.slopes + 2 * m_prepared.guardrail.prompts();
}

Result<SearchSitting::Winner> SearchSitting::selectWinner(const search::SearchOutcome& outcome, std::stop_token stop) {
    std::optional<Winner> winner;
    for (const search::CandidateRecord& record : finalistsOf(outcome, m_prepared.settings)) {
        auto result =
            m_fitness.evaluateSplit("candidate", record.candidate.scales, m_prepared.selectPlan, "select", stop);
        if (!result) return fail(result.error());
        if (auto done = m_store.recordPositions(m_runId, positionRows(result->accuracy, result->variantId, "select"));
            !done) {
            return fail(done.error());
        }
        const double mean = (record.evaluation.fitness + result->fitness) / 2;
        if (!winner || mean > winner->fitness) winner = Winner{record, mean, result->fitness};
    }
    if (!winner && outcome.infeasible > 0) {
        return fail(
            ErrorCode::Failed,
            fmt::format("{} of {} candidates break the guardrail's limit and no other could be evaluated; give a "
                        "larger --guardrail-limit, or bounds that hold the scale 1",
                        outcome.infeasible, outcome.evaluations));
    }
    if (!winner && outcome.end == search::EndReason::TimeLimit && outcome.failed == 0) {
        return fail(ErrorCode::Failed,
                    fmt::format("the time limit of {} s had passed before a candidate was evaluated; "
                                "give a larger --time-limit",
                                *m_prepared.settings.search.timeLimitSeconds));
    }
    if (!winner)
        return fail(ErrorCode::Failed, "no candidate could be evaluated; the log has the reason of each failure");
    return *winner;
}

Result<StudyOutcome> SearchSitting::report(const search::SearchOutcome& outcome, const Winner& winner,
                                           std::stop_token stop) {
    const std::vector<double> none;
    const std::vector<double>& scales = winner.record.candidate.scales;
    auto applied = requireApplied(session(), m_fitness.method(scales), m_prepared.reportPlan.longestPrompt());
    if (!applied) return fail(applied.error());
    auto baseline = m_fitness.evaluateSplit("baseline", none, m_prepared.reportPlan, "report", stop);
    if (!baseline) return stoppedOr(baseline.error(), outcome);
    auto best = m_fitness.evaluateSplit("candidate", scales, m_prepared.reportPlan, "report", stop);
    if (!best) return stoppedOr(best.error(), outcome);
    auto front = frontOf(outcome, winner, *baseline, *best, stop);
    if (!front) return stoppedOr(front.error(), outcome);
    m_front = std::move(*front);
    const auto searched = storedOutcomes(m_store.reader(), best->variantId, "search");
    if (!searched) return fail(searched.error());
    const auto onSearchItems =
        analysis::accuracyByPosition(*searched, m_prepared.bench.task.labels, m_prepared.searchPlan.graded());
    std::vector<store::PositionRow> rows = positionRows(baseline->accuracy, baseline->variantId, "report");
    for (store::PositionRow& row : positionRows(best->accuracy, best->variantId, "report"))
        rows.push_back(std::move(row));
    for (store::PositionRow& row : positionRows(onSearchItems, best->variantId, "search"))
        rows.push_back(std::move(row));
    if (auto done = m_store.recordPositions(m_runId, rows); !done) return fail(done.error());
    const analysis::Comparison comparison = analysis::compareOutcomes(
        baseline->outcomes, best->outcomes, static_cast<int>(m_prepared.bench.task.positions.size()),
        m_prepared.settings.search.seed);
    auto probed = probe(*baseline, *best, scales, stop);
    if (!probed) {
        const Error& error = probed.error();
        const bool ends = m_fitness.isStop(error) || error.code == ErrorCode::Database;
        if (ends) return stoppedOr(error, outcome);
        // The search has its result; pictures that cannot be measured must not take it away.
        m_warnings.push_back("attention, deviation or sensitivity could not be measured: " + error.text());
        m_progress.warn(m_warnings.back());
    }
    auto guarded = guardrail(scales, stop);
    if (!guarded) return stoppedOr(guarded.error(), outcome);
    return finish(outcome, winner, *baseline, *best, comparison, std::move(*guarded));
}

Result<json> SearchSitting::frontOf(const search::SearchOutcome& outcome, const Winner& winner,
                                    const SplitResult& baseline, const SplitResult& best, std::stop_token stop) {
    if (m_prepared.settings.search.objectives.empty()) return json();
    const auto placeOf = [](const search::CandidateRecord& record) {
        return std::pair(record.candidate.generation, record.candidate.index);
    };
    std::vector<search::CandidateRecord> records = search::paretoFront(outcome);
    std::vector<std::pair<int, int>> finalists;
    for (const auto& record : search::spreadOf(records, m_prepared.settings.finalists))
        finalists.push_back(placeOf(record));
    std::vector<FrontMember> front;
    for (search::CandidateRecord& record : records) {
        FrontMember member{std::move(record), false, std::nullopt};
        member.picked = placeOf(member.record) == placeOf(winner.record);
        if (member.picked) {
            member.report = best;
        } else if (std::ranges::find(finalists, placeOf(member.record)) != finalists.end()) {
            auto report = m_fitness.evaluateSplit("candidate", member.record.candidate.scales, m_prepared.reportPlan,
                                                  "report", stop);
            if (!report) return fail(report.error());
            member.report = std::move(*report);
        }
        front.push_back(std::move(member));
    }
    return frontJson(m_prepared, front, &baseline);
}

Result<json> SearchSitting::guardrail(const std::vector<double>& scales, std::stop_token stop) {
    const Guardrail& guardrail = m_prepared.guardrail;
    if (guardrail.empty()) return json();
    m_progress.setStage("guardrail: short contexts");
    auto before = guardrail.measure(session(), {}, m_progress, stop);
    if (!before) return fail(before.error());
    auto after = guardrail.measure(session(), m_fitness.method(scales), m_progress, stop);
    if (!after) return fail(after.error());
    json judged = guardrail.judge(*before, *after);
    if (measuresShortContexts(m_prepared.settings)) noteChosenBy(judged, shortOption(m_prepared.settings));
    return judged;
}

Result<void> SearchSitting::probe(const SplitResult& baseline, const SplitResult& best,
                                  const std::vector<double>& winnerScales, std::stop_token stop) {
    const int count = m_prepared.settings.analysisItems;
    if (count == 0) return {};
    m_progress.setStage("attention and deviation");
    std::vector<std::string> items;
    for (const PromptPlan::Entry& entry : m_prepared.reportPlan.entries()) {
        if (entry.position == 0 && !entry.tooLong && items.size() < static_cast<std::size_t>(count))
            items.push_back(entry.itemId);
    }
    auto plan = PromptPlan::make(m_prepared.bench.task, items, m_prepared.bench.model.tokenizer(),
                                 m_prepared.reportPlan.contextLength(), PassSize{});
    if (!plan) return fail(plan.error());
    const std::vector<double> none;
    for (const auto& [split, scales] : {std::pair{&baseline, &none}, std::pair{&best, &winnerScales}}) {
        auto attention = probeAttention(session(), *plan, m_prepared.bench.task.labels, m_fitness.method(*scales),
                                        AttentionQueries::LastToken, m_progress, stop);
        if (!attention) return fail(attention.error());
        auto done = m_store.recordAttention(m_runId, attentionRows(*attention, split->variantId));
        if (!done) return fail(done.error());
    }
    if (auto done = probeVariants(*plan, winnerScales, stop); !done) return done;
    return probeSensitivity(*plan, winnerScales, stop);
}

Result<void> SearchSitting::probeSensitivity(const PromptPlan& plan, const std::vector<double>& winnerScales,
                                             std::stop_token stop) {
    m_progress.setStage("sensitivity");
    std::vector<std::size_t> entries;
    for (const auto& item : entriesByItem(plan)) entries.insert(entries.end(), item.begin(), item.end());
    const std::vector<double> level(winnerScales.size(), 1.0);
    for (const std::vector<double>* scales : {&level, &winnerScales}) {
        auto variant = m_store.ensureVariant(m_runId, "candidate", *scales);
        if (!variant) return fail(variant.error());
        const auto rows =
            measureItemSlopes({plan, m_prepared.settings.search.groups, *scales, m_store, *variant, "report"}, entries,
                              *m_sessions.pool, m_progress, stop);
        if (!rows) return fail(rows.error());
    }
    return {};
}

Result<void> SearchSitting::probeVariants(const PromptPlan& plan, const std::vector<double>& winnerScales,
                                          std::stop_token stop) {
    const curve::Constraints& bounds = m_prepared.settings.search.constraints;
    const std::uint64_t seed = m_prepared.settings.search.seed;
    for (const analysis::ScaleVariant kind : deviationVariants(m_prepared.settings.search.groups)) {
        auto scales = analysis::scaleVariant(kind, winnerScales, bounds.scaleMin, bounds.scaleMax, seed);
        if (!scales) return fail(scales.error());
        const std::string name = analysis::scaleVariantName(kind);
        auto variant = m_store.ensureVariant(m_runId, name, *scales);
        if (!variant) return fail(variant.error());
        auto deviation = probeDeviation(session(), plan, name, m_fitness.method(*scales), seed, m_progress, stop);
        if (!deviation) return fail(deviation.error());
        auto done = m_store.recordDeviations(m_runId, deviationRows(*deviation, *variant));
        if (!done) return fail(done.error());
    }
    return {};
}

Result<StudyOutcome> SearchSitting::finish(const search::SearchOutcome& outcome, const Winner& winner,
                                           const SplitResult& baseline, const SplitResult& best,
                                           const analysis::Comparison& comparison, json guardrail) {
    json result = common(outcome);
    result["state"] = "finished";
    result["end_reason"] = search::endReasonName(outcome.end);
    result["best"] = candidateJson(winner.record, winner.record.evaluation.fitness, m_prepared.settings.search.groups);
    result["best"]["select_fitness"] = winner.selectFitness;
    result["applied"] = "verified";
    result["warnings"] = m_warnings;
    result["guardrail"] = std::move(guardrail);
    result["heldout"] = heldoutJson(m_prepared, baseline, best, comparison);
    ItemHashes items(m_prepared.bench.task);
    auto searchedOn = ownOverlapJson(m_prepared.splits, items, best.outcomes);
    if (!searchedOn) return fail(searchedOn.error());
    result["heldout"]["best"]["searched_on"] = std::move(*searchedOn);
    if (m_front.is_array()) {
        takePickedVerdict(result["heldout"], m_front);
        result["front"] = m_front;
    }
    auto provenance = provenanceOf(m_prepared, items);
    if (!provenance) return fail(provenance.error());
    for (const char* key : {"heldout", "guardrail"}) (*provenance)[key] = result[key];
    (*provenance)["fitness"] = winner.record.evaluation.fitness;
    (*provenance)["select_fitness"] = winner.selectFitness;
    const exporters::Profile profile = makeProfile(m_prepared, winner.record, m_runId, *provenance);
    const std::string profileText = exporters::toJson(profile);
    if (auto saved = m_store.saveProfile(m_runId, profileText); !saved) return fail(saved.error());
    result["profile"] = json::parse(profileText);
    return StudyOutcome{m_runId, false, std::move(result)};
}

StudyOutcome SearchSitting::partial(const search::SearchOutcome& outcome) const {
    StudyOutcome study{m_runId, true, common(outcome)};
    study.result["state"] = "stopped";
    study.result["end_reason"] = "stopped";
    const auto best = search::bestDistinct(outcome, 1);
    if (best.empty()) {
        study.result["best"] = nullptr;
    } else {
        study.result["best"] =
            candidateJson(best.front(), best.front().evaluation.fitness, m_prepared.settings.search.groups);
    }
    std::vector<FrontMember> front;
    for (search::CandidateRecord& record : search::paretoFront(outcome))
        front.push_back({std::move(record), false, std::nullopt});
    if (!front.empty()) study.result["front"] = frontJson(m_prepared, front, nullptr);
    study.result["heldout"] = nullptr;
    study.result["profile"] = nullptr;
    return study;
}

Result<StudyOutcome> SearchSitting::stoppedOr(const Error& error, const search::SearchOutcome& outcome) const {
    if (model::wasStopped(error)) return partial(outcome);
    return fail(error);
}

json SearchSitting::memoJson(const search::SearchOutcome& outcome) const {
    if (!m_prepared.settings.search.memo) return nullptr;
    const auto positions = std::ssize(m_prepared.bench.task.positions);
    std::int64_t evaluations = 0, prompts = 0;
    for (const search::CandidateRecord& record : outcome.candidates) {
        const search::Evaluation& evaluation = record.evaluation;
        if (!record.duplicateOf || evaluation.failed) continue;
        ++evaluations;
        prompts += m_shortContexts.prompts();
        if (evaluation.givenUp) prompts += std::ssize(evaluation.byItem) * positions;
        if (evaluation.complete()) prompts += m_prepared.searchPlan.prompts();
    }
    return {{"evaluations_spared", evaluations}, {"prompts_spared", prompts}};
}

json SearchSitting::prefixesJson(const search::SearchOutcome& outcome) const {
    if (!m_prepared.searchPlan.pass().sharePrefixes) return nullptr;
    const PassTokens tokens = evaluatedTokens(outcome, m_prepared.searchPlan, m_passTokens);
    return {{"tokens", tokens.all}, {"computed", tokens.computed}};
}

json SearchSitting::common(const search::SearchOutcome& outcome) const {
    return {{"run_id", m_runId},
            {"seed", m_prepared.settings.search.seed},
            {"generations", outcome.history.empty() ? 0 : outcome.history.back().generation},
            {"evaluations", outcome.evaluations},
            {"cache_hits", outcome.cacheHits},
            {"failed", outcome.failed},
            {"given_up", outcome.givenUp},
            {"infeasible", outcome.infeasible},
            {"memo", memoJson(outcome)},
            {"layers_reused", m_fitness.layersReused()},
            {"prefixes_shared", prefixesJson(outcome)},
            {"prompts", m_progress.promptsAsked()},
            {"history", historyJson(outcome.history)},
            {"seconds", m_progress.elapsedSeconds()},
            {"settings", toJson(m_prepared.settings)}};
}

}  // namespace lpes::studies
