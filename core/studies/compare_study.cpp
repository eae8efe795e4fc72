#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/analysis/position_accuracy.h"
#include "core/studies/evaluation_summary.h"
#include "core/studies/json_rows.h"
#include "core/studies/method_timing.h"
#include "core/studies/method_words.h"
#include "core/studies/resuming.h"
#include "core/studies/run_session.h"
#include "core/studies/run_view.h"
#include "core/studies/studies.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

constexpr const char* kSplit = "eval";

/// A method on its way through the items.
struct Contender {
    rope::MethodSpec spec;
    std::string text;
    rope::PositionMethod method;
    std::int64_t variantId = 0;
    std::optional<VariantEvaluation> evaluation;
    std::vector<analysis::ItemOutcome> outcomes;  ///< of the items that every method was asked
    std::optional<std::int64_t> peakBytes;
    std::vector<double> seconds;  ///< [chunks], 0: was not computed in this sitting
    std::int64_t tokens = 0;      ///< in the chunks that were computed
    std::optional<GuardrailSide> shortContexts;
};

/// What a comparison works with once everything is loaded and checked.
struct Comparison {
    Workbench bench;
    tasks::ScoreKind score;
    std::vector<Contender> contenders;
    PromptPlan plan;
    Guardrail guardrail;
};

Result<std::vector<rope::MethodSpec>> specsOf(const CompareSettings& settings) {
    std::string list;
    for (const std::string& method : settings.methods) list += (list.empty() ? "" : ";") + method;
    auto specs = rope::parseMethods(list);
    if (!specs) return fail(specs.error());
    if (specs->size() < 2 && !settings.partOf) {
        return fail(ErrorCode::Usage,
                    fmt::format("a comparison needs at least two methods and got '{}'; write for example "
                                "--methods 'baseline;pi:1.5'",
                                list));
    }
    return specs;
}

Result<Comparison> prepare(const CompareSettings& settings, ProgressObserver& observer, std::stop_token stop,
                           const LoadedModel* loaded) {
    auto specs = specsOf(settings);
    if (!specs) return fail(specs.error());
    if (auto known = checkScoreName(settings.score); !known) return fail(known.error());
    if (settings.compute.workers != 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("--workers {}: a comparison runs with one worker, because it measures time; use "
                                "--threads-per-worker",
                                settings.compute.workers));
    }
    auto bench = openBench(settings.compute, settings.task, 100, stop, loaded);
    if (!bench) return fail(bench.error());
    auto score = scoreFor(bench->task, settings.score);
    if (!score) return fail(score.error());
    std::vector<Contender> contenders;
    // The same items for all: the shortest context decides which of them are too long.
    int context = std::numeric_limits<int>::max();
    const rope::MethodModel model = model::methodModel(bench->config());
    for (const rope::MethodSpec& spec : *specs) {
        auto method = methodFor(spec, *bench->model.weights, observer);
        if (!method) return fail(method.error());
        if (auto same = requireSameMethod(settings.methodHashes, spec, methodHash(spec, *method)); !same)
            return fail(same.error());
        context = std::min(context, rope::contextLength(*method, model));
        contenders.push_back({spec, spec.text, std::move(*method), 0, {}, {}, {}, {}, 0, {}});
    }
    const auto pass = passSize(settings.compute, bench->task, *score, bench->tokenizer(), context);
    if (!pass) return fail(pass.error());
    auto plan = planOfAllItems(*bench, context, *pass, stop);
    if (!plan) return fail(plan.error());
    // Nothing is set beside a single method.
    auto guardrail = contenders.size() > 1 ? Guardrail::make(settings.guardrail, bench->tokenizer(), context, stop)
                                           : Result<Guardrail>(Guardrail{});
    if (!guardrail) return fail(guardrail.error());
    auto ready = loadBench(std::move(*bench), settings.compute, *pass, observer, stop, loaded);
    if (!ready) return fail(ready.error());
    return Comparison{std::move(*ready), std::move(*score), std::move(contenders), std::move(*plan),
                      std::move(*guardrail)};
}

/// Index of the chunk with the most tokens.
std::size_t largestChunk(const PromptPlan& plan) {
    std::size_t largest = 0, most = 0;
    for (std::size_t chunk = 0; chunk < plan.chunks().size(); ++chunk) {
        std::size_t tokens = 0;
        for (const std::size_t index : plan.chunks()[chunk])
            tokens += static_cast<std::size_t>(plan.entries()[index].scoredTokens);
        if (tokens > most) {
            largest = chunk;
            most = tokens;
        }
    }
    return largest;
}

/// What each method needs for the largest pass, alone in a session of its own; this also warms it up. A pass ahead
/// takes what the process needs once, whatever the method.
Result<void> measureMemory(Comparison& work, std::stop_token stop) {
    std::vector<model::ScoredPrompt> batch;
    for (const std::size_t index : work.plan.chunks()[largestChunk(work.plan)]) {
        const auto tokens = work.plan.tokens(index);
        if (!tokens) return fail(tokens.error());
        batch.push_back({(*tokens)->prompt, (*tokens)->answer});
    }
    const auto pass = [&](const Contender& one) -> Result<void> {
        const auto session = work.bench.model.lm->newSession(work.bench.threads);
        auto scored = session->scoreAnswers(batch, one.method, stop, {work.plan.pass().sharePrefixes});
        if (!scored) return fail(scored.error());
        return {};
    };
    if (auto ahead = pass(work.contenders.front()); !ahead) return ahead;
    for (Contender& one : work.contenders) {
        const auto peak = peakOf([&] { return pass(one); });
        if (!peak) return fail(peak.error());
        one.peakBytes = peak->bytes;
    }
    return {};
}

/// Every method but the first against the first, in their order.
std::vector<analysis::Comparison> comparisonsWithFirst(const Comparison& work, std::uint64_t seed) {
    const Contender& first = work.contenders.front();
    std::vector<analysis::Comparison> comparisons;
    for (const Contender& one : std::span(work.contenders).subspan(1)) {
        comparisons.push_back(
            analysis::compareOutcomes(first.outcomes, one.outcomes, static_cast<int>(work.bench.task.positions.size()),
                                      seed, first.text == "baseline" ? "the baseline" : "the first method"));
    }
    analysis::adjustTogether(comparisons);
    return comparisons;
}

/// What a method's row says beside the first method.
json testsJson(const analysis::Comparison& compared) {
    json score = testJson(compared.score), nll = testJson(compared.nll);
    if (compared.items == 0) score["mean"] = nll["mean"] = nullptr;
    score["p_holm"] = optionalJson(compared.scoreHolm);
    nll.erase("p_value");  // it is the row's
    return {{"p_value_vs_first", optionalJson(compared.nll.pValue)},
            {"p_holm", optionalJson(compared.nllHolm)},
            {"nll_difference", std::move(nll)},
            {"score_difference", std::move(score)},
            {"mcnemar_vs_first", optionalsJson(compared.mcnemarByPosition)},
            {"mcnemar_holm", optionalsJson(compared.mcnemarHolm)},
            {"better_than_first", compared.better},
            {"verdict", compared.verdict}};
}

/// `compared`: with the first method; null for that itself. `hashes`: of the methods when the run began, which versions
/// before did not store.
Result<json> methodJson(const Comparison& work, const Contender& one, const analysis::Comparison* compared,
                        const MethodHashes& hashes, std::uint64_t seed, ItemHashes& items, store::StoreReader& store) {
    const Contender& first = work.contenders.front();
    const analysis::AccuracyByPosition accuracy =
        analysis::accuracyByPosition(one.outcomes, work.bench.task.labels, work.plan.graded());
    const double seconds = std::accumulate(one.seconds.begin(), one.seconds.end(), 0.0);
    const rope::MethodCost cost = rope::methodCost(one.method);
    json out{{"method", one.text},
             {"method_hash", hashJson(hashes, one.text)},
             {"seconds", seconds},
             {"tokens_per_second", seconds > 0.0 ? json(static_cast<double>(one.tokens) / seconds) : json(nullptr)},
             {"peak_bytes", one.peakBytes ? json(*one.peakBytes) : json(nullptr)},
             {"passes", cost.passes},
             {"attentions_per_layer", cost.attentionsPerLayer},
             {"key_caches", cost.keyCaches},
             {"p_value_vs_first", nullptr},
             {"p_holm", nullptr},
             {"latency_vs_first", nullptr}};
    out.update(outcomesJson(work.bench.task, accuracy, one.outcomes, seed, work.plan.graded()));
    out["agreement"] = agreementJson(one.outcomes);
    const auto heldOut = heldOutJson(one.spec, items, one.outcomes, store);
    if (!heldOut) return fail(heldOut.error());
    out.update(*heldOut);
    if (one.method.bucketSearch) out["bases_search"] = bucketSearchJson(one.method);
    out["guardrail"] = nullptr;
    if (compared == nullptr) return out;
    if (first.shortContexts && one.shortContexts)
        out["guardrail"] = work.guardrail.judge(*first.shortContexts, *one.shortContexts);
    out.update(testsJson(*compared));
    out["latency_vs_first"] = ratioJson(ratioOf(one.seconds, first.seconds, seed));
    return out;
}

Result<json> methodsJson(const Comparison& work, const MethodHashes& hashes, std::uint64_t seed,
                         store::StoreReader& store) {
    ItemHashes items(work.bench.task);
    const std::vector<analysis::Comparison> comparisons = comparisonsWithFirst(work, seed);
    json methods = json::array();
    for (std::size_t i = 0; i < work.contenders.size(); ++i) {
        auto method =
            methodJson(work, work.contenders[i], i == 0 ? nullptr : &comparisons[i - 1], hashes, seed, items, store);
        if (!method) return method;
        methods.push_back(std::move(*method));
    }
    return methods;
}

Result<void> recordPositions(const Comparison& work, std::int64_t runId, store::StoreWriter& store) {
    for (const Contender& one : work.contenders) {
        const auto accuracy = analysis::accuracyByPosition(one.outcomes, work.bench.task.labels, work.plan.graded());
        if (auto done = store.recordPositions(runId, positionRows(accuracy, one.variantId, kSplit)); !done) return done;
    }
    return {};
}

/// Chunk by chunk, the methods taking turns: a machine that slows down slows all of them. False when stopped.
Result<bool> runChunks(Comparison& work, model::AnswerSession& session, RunProgress& progress, std::stop_token stop) {
    const std::size_t count = work.contenders.size();
    for (std::size_t chunk = 0; chunk < work.plan.chunks().size(); ++chunk) {
        for (std::size_t i = 0; i < count; ++i) {
            Contender& one = work.contenders[(chunk + i) % count];
            progress.setStage(fmt::format("comparing: {}", one.text));
            const auto run = one.evaluation->runChunk(chunk, session, stop);
            if (!run) {
                if (model::wasStopped(run.error())) return false;
                return fail(run.error());
            }
            one.seconds.push_back(run->seconds);
            one.tokens += run->computed > 0 ? run->tokens : 0;
            if (auto told = progress.chunkDone(run->computed, run->reused); !told) return fail(told.error());
        }
    }
    return true;
}

/// A stop comes between methods: they are not set beside each other on different items.
void gatherOutcomes(Comparison& work) {
    std::vector<std::vector<analysis::ItemOutcome>*> sides;
    for (Contender& one : work.contenders) {
        one.outcomes = one.evaluation->outcomes();
        sides.push_back(&one.outcomes);
    }
    analysis::keepSharedItems(sides, static_cast<int>(work.bench.task.positions.size()));
}

/// What each method does to short contexts. False when stopped.
Result<bool> measureShortContexts(Comparison& work, model::ModelSession& session, RunProgress& progress,
                                  std::stop_token stop) {
    if (work.guardrail.empty()) return true;
    for (Contender& one : work.contenders) {
        progress.setStage(fmt::format("guardrail, short contexts: {}", one.text));
        auto side = work.guardrail.measure(session, one.method, progress, stop);
        if (!side && model::wasStopped(side.error())) return false;
        if (!side) return fail(side.error());
        one.shortContexts = std::move(*side);
    }
    return true;
}

Result<StudyOutcome> compareAll(Comparison& work, const CompareSettings& settings, const json& settingsJson,
                                std::int64_t runId, store::StoreWriter& store, RunProgress& progress,
                                std::stop_token stop) {
    if (auto set = store.setSplit(runId, kSplit, work.bench.task.ids()); !set) return fail(set.error());
    progress.setStage("measuring memory");
    if (auto measured = measureMemory(work, stop); !measured) return fail(measured.error());
    const auto session = work.bench.model.lm->newSession(work.bench.threads);
    for (Contender& one : work.contenders) {
        if (auto applied = requireApplied(*session, one.method, work.plan.longestPrompt()); !applied)
            return fail(applied.error());
        // Without scales, so that the name tells two methods apart whose scales are the same.
        auto variant = store.ensureVariant(runId, one.text, {});
        if (!variant) return fail(variant.error());
        one.variantId = *variant;
        auto begun = VariantEvaluation::begin(
            {work.bench.model.tokenizer(), work.plan, one.method, work.score, store, *variant, kSplit});
        if (!begun) return fail(begun.error());
        one.evaluation.emplace(std::move(*begun));
    }
    progress.setTotal((work.plan.prompts() + work.guardrail.prompts()) *
                      static_cast<std::int64_t>(work.contenders.size()));
    model::LocalSession answers(*session);
    auto complete = runChunks(work, answers, progress, stop);
    if (complete && *complete) complete = measureShortContexts(work, *session, progress, stop);
    if (!complete) return fail(complete.error());
    gatherOutcomes(work);
    if (auto recorded = recordPositions(work, runId, store); !recorded) return fail(recorded.error());
    auto methods =
        methodsJson(work, settingOr<MethodHashes>(settingsJson, "method_hashes", {}), settings.seed, store.reader());
    if (!methods) return fail(methods.error());
    const json items = methods->front().at("items");
    StudyOutcome outcome{runId, !*complete, {}};
    outcome.result = {{"run_id", runId},
                      {"state", *complete ? "finished" : "stopped"},
                      {"model", settings.compute.model},
                      {"task", settings.task.task},
                      {"data", work.bench.task.info().name},
                      {"score", work.score.text},
                      {"items", items},
                      {"items_planned", work.plan.itemsRun()},
                      {"skipped_too_long", work.plan.itemsSkipped()},
                      {"template_hash", work.bench.task.info().templateHash},
                      {"notes", notesJson(work.plan)},
                      {"methods", std::move(*methods)},
                      {"applied", "verified"},
                      {"seconds", progress.secondsThisSitting()},
                      {"settings", settingsJson}};
    return outcome;
}

}  // namespace

Result<StudyOutcome> runComparison(const CompareSettings& settings, store::StoreWriter& store,
                                   ProgressObserver& observer, std::stop_token stop, const LoadedModel* loaded) {
    auto work = prepare(settings, observer, stop, loaded);
    if (!work) return fail(work.error());
    CompareSettings resolved = settings;
    storeResolved(resolved.compute, resolved.task, work->bench);
    resolved.score = work->score.text;
    for (const Contender& one : work->contenders) noteMethodHash(resolved.methodHashes, one.spec, one.method);
    const json settingsJson = toJson(resolved);
    auto runId = beginRun(store, work->bench, settings.compute, "compare",
                          fmt::format("{} methods on {}", work->contenders.size(), work->bench.task.info().name),
                          settingsJson, settings.seed);
    if (!runId) return fail(runId.error());
    RunProgress progress(store, *runId, observer);
    return conductRun(store, *runId, progress,
                      [&] { return compareAll(*work, settings, settingsJson, *runId, store, progress, stop); });
}

Result<StudyOutcome> resumeComparison(std::int64_t runId, store::StoreWriter& store, ProgressObserver& observer,
                                      std::stop_token stop, const LoadedModel* loaded) {
    const auto run = resumableRun(store.reader(), runId, "compare");
    if (!run) return fail(run.error());
    const auto stored = storedSettings(*run);
    if (!stored) return fail(stored.error());
    const auto settings = compareSettingsFromJson(*stored);
    if (!settings) return fail(settings.error());
    auto work = prepare(*settings, observer, stop, loaded);
    if (!work) return fail(work.error());
    if (auto same = requireSameInputs(store.reader(), *run, work->bench, settings->compute.model, observer); !same)
        return fail(same.error());
    if (auto opened = store.reopenRun(runId, settings->compute.workers); !opened) return fail(opened.error());
    RunProgress progress(store, runId, observer, run->elapsedSeconds);
    return conductRun(store, runId, progress,
                      [&] { return compareAll(*work, *settings, *stored, runId, store, progress, stop); });
}

}  // namespace lpes::studies
