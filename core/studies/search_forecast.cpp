#include "core/studies/search_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "core/base/process_memory.h"
#include "core/studies/json_rows.h"
#include "core/studies/paper_forecast.h"
#include "core/studies/short_contexts.h"
#include "core/studies/slope_evaluator.h"
#include "core/studies/studies.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// Seconds of all passes of a plan on one of the workers, while all are busy.
double planSeconds(const PromptPlan& plan, const std::vector<PassCost>& costs) {
    double seconds = 0.0;
    for (const std::vector<std::size_t>& chunk : plan.chunks()) {
        std::int64_t tokens = 0;
        for (const std::size_t entry : chunk) tokens += plan.entries()[entry].scoredTokens;
        seconds += passSeconds(costs, tokens);
    }
    return seconds;
}

/// Seconds of so many passes that the workers share, as they are free (session_pool.h). `all`: seconds of all of them
/// on one worker.
double sharedSeconds(double all, std::int64_t passes, std::int64_t workers) {
    if (passes == 0) return 0.0;
    const std::int64_t rounds = (passes + workers - 1) / workers;
    return all * static_cast<double>(rounds) / static_cast<double>(passes);
}

/// Passes of the slopes of so many items; a pass has prompts of one (slope_evaluator.h).
std::int64_t slopePasses(std::int64_t items, std::int64_t positions, const PromptPlan& plan) {
    const std::int64_t size = plan.pass().prompts;
    return items * ((positions + size - 1) / size);
}

std::int64_t heaviestPass(const PromptPlan& plan, bool generates) {
    std::int64_t heaviest = 0;
    for (const std::vector<std::size_t>& chunk : plan.chunks()) {
        std::int64_t tokens = 0;
        for (const std::size_t entry : chunk) {
            tokens += plan.entries()[entry].scoredTokens;
            const auto prompt = generates ? plan.tokens(entry) : Result<std::shared_ptr<const TokenizedPrompt>>();
            if (prompt && *prompt) tokens += (*prompt)->rule.maxNewTokens;
        }
        heaviest = std::max(heaviest, tokens);
    }
    return heaviest;
}

/// What the hidden states that candidates hand on may take: no more than all but one of a generation leave.
std::int64_t mostReused(const PreparedSearch& prepared, const model::ModelConfig& config, model::ComputeType type) {
    const std::int64_t others =
        std::max(search::candidatesOf(prepared.settings.search, 0), search::candidatesOf(prepared.settings.search, 1)) -
        1;
    const std::int64_t value = type == model::ComputeType::Float32 ? 4 : 2;
    const double all =
        static_cast<double>(others * config.hiddenSize * value) * static_cast<double>(prepared.searchPlan.tokens());
    const std::int64_t limit = reuseBytes(prepared.settings).value_or(0);
    return all < static_cast<double>(limit) ? static_cast<std::int64_t>(all) : limit;
}

StageCost searching(const MeasuredSearch& search, int first, int last, const std::vector<std::int64_t>& sizes) {
    const PromptPlan& plan = search.prepared.searchPlan;
    const auto passes = static_cast<std::int64_t>(plan.chunks().size());
    const auto workers = std::int64_t{search.prepared.settings.compute.workers};
    const double each = planSeconds(plan, search.measured.passCosts);
    StageCost stage;
    stage.stage = first == last ? fmt::format("generation {}", first) : fmt::format("generations {}–{}", first, last);
    for (int generation = first; generation <= last; ++generation) {
        const std::int64_t size = sizes[static_cast<std::size_t>(generation)];
        stage.candidates += size;
        stage.seconds += sharedSeconds(static_cast<double>(size) * each, size * passes, workers);
    }
    stage.prompts = stage.candidates * plan.prompts();
    stage.tokens = stage.candidates * plan.tokens();
    stage.derivation =
        fmt::format("{} candidates of {} passes and {:.3g} s, shared by {} worker(s); {:.3g} s a generation",
                    stage.candidates, passes, each, workers, stage.seconds / (last - first + 1));
    return stage;
}

/// The steps of all descents; those side by side share the workers.
StageCost descending(const PreparedSearch& prepared, const Calibration& measured) {
    const search::SearchSettings& search = prepared.settings.search;
    const std::int64_t workers = prepared.settings.compute.workers;
    const std::int64_t asked = std::max<std::int64_t>(1, prepared.searchPlan.prompts());
    const std::int64_t slopes = promptsOfAStep(prepared) / kSlopeCost;
    const double each = static_cast<double>(slopes) * measured.slopeSeconds;
    const auto positions = static_cast<std::int64_t>(prepared.bench.task.positions.size());
    const std::int64_t passes = slopePasses(slopes / positions, positions, prepared.searchPlan);
    const std::int64_t steps =
        std::int64_t{search::descentsUpTo(search, search.maxGenerations)} * search.gradient.steps;
    const std::int64_t prompts = steps * promptsOfAStep(prepared);
    double seconds = 0.0;
    for (int generation = 0; generation <= search.maxGenerations; ++generation) {
        const std::int64_t together = search::descentsOf(search, generation);
        seconds +=
            search.gradient.steps * sharedSeconds(static_cast<double>(together) * each, together * passes, workers);
    }
    return {"descents",
            0,
            prompts,
            prompts * (prepared.searchPlan.tokens() / asked),
            seconds,
            fmt::format("{} steps of {:.3g} s, those of descents side by side shared by {} worker(s)", steps, each,
                        workers)};
}

/// The short texts of all candidates and of the baseline.
StageCost limiting(const MeasuredSearch& search, const std::vector<std::int64_t>& sizes) {
    const ShortTexts texts = shortTextsOf(search.prepared);
    const std::int64_t workers = search.prepared.settings.compute.workers;
    const auto perPass = static_cast<std::int64_t>(kShortTextsPerPass);
    const std::int64_t passes = (texts.prompts + perPass - 1) / perPass;
    const double each = static_cast<double>(texts.prompts) * search.measured.shortTextSeconds;
    std::int64_t variants = 1;
    double seconds = sharedSeconds(each, passes, workers);
    for (const std::int64_t size : sizes) {
        variants += size;
        seconds += sharedSeconds(static_cast<double>(size) * each, size * passes, workers);
    }
    return {"guardrail limit",
            variants,
            variants * texts.prompts,
            variants * texts.tokens,
            seconds,
            fmt::format("{} short texts of {} candidates and of the baseline, {:.3g} s each variant, shared by {} "
                        "worker(s)",
                        texts.prompts, variants - 1, each, workers)};
}

/// Selection and report: one variant after the other, its passes shared by the workers.
StageCost asking(const std::string& name, const PromptPlan& plan, std::int64_t variants, const Calibration& measured,
                 std::int64_t workers) {
    const auto passes = static_cast<std::int64_t>(plan.chunks().size());
    const double each = planSeconds(plan, measured.passCosts);
    return {name,
            variants,
            variants * plan.prompts(),
            variants * plan.tokens(),
            static_cast<double>(variants) * sharedSeconds(each, passes, workers),
            fmt::format("{} variants one after the other, each of {} passes and {:.3g} s, shared by {} worker(s)",
                        variants, passes, each, workers)};
}

StageCost probing(const PreparedSearch& prepared, const Calibration& measured) {
    const ProbeCounts counts = probeCounts(prepared);
    const std::int64_t prompts = counts.attention + counts.deviation + kSlopeCost * counts.slopes;
    const std::int64_t asked = std::max<std::int64_t>(1, prepared.reportPlan.prompts());
    const std::int64_t side = counts.slopes / 2;
    return {"probes",
            counts.variants,
            prompts,
            prompts * (prepared.reportPlan.tokens() / asked),
            static_cast<double>(counts.attention) * measured.attentionSeconds +
                static_cast<double>(counts.deviation) * measured.deviationSeconds +
                // Of the baseline, then of the winner; every prompt is a pass of its own here.
                2 * sharedSeconds(static_cast<double>(side) * measured.slopeSeconds, side,
                                  prepared.settings.compute.workers),
            fmt::format("attention of {} prompts, {:.3g} s each; deviation of {}, {:.3g} s each; slopes of {}, "
                        "{:.3g} s each, shared by {} worker(s)",
                        counts.attention, measured.attentionSeconds, counts.deviation, measured.deviationSeconds,
                        counts.slopes, measured.slopeSeconds, prepared.settings.compute.workers)};
}

json stageJson(const StageCost& stage) {
    return {{"stage", stage.stage},   {"candidates", stage.candidates}, {"prompts", optionalJson(stage.prompts)},
            {"tokens", stage.tokens}, {"seconds", stage.seconds},       {"derivation", stage.derivation}};
}

json calibrationJson(const Calibration& measured, int workers) {
    const auto costs = [](const std::vector<PassCost>& list) {
        json out = json::array();
        for (const PassCost& cost : list) out.push_back({{"tokens", cost.tokens}, {"seconds", cost.seconds}});
        return out;
    };
    return {{"seconds", measured.seconds},
            {"passes", measured.passes},
            {"workers", workers},
            {"all_workers", costs(measured.passCosts)}};
}

}  // namespace

std::vector<std::int64_t> generationSizes(const search::SearchSettings& settings, int numLayers) {
    std::int64_t left = mostCandidates(settings, numLayers);
    std::vector<std::int64_t> sizes;
    while (left > 0) {
        sizes.push_back(std::min<std::int64_t>(left, search::candidatesOf(settings, static_cast<int>(sizes.size()))));
        left -= sizes.back();
    }
    return sizes;
}

std::vector<StageCost> stagesOf(const MeasuredSearch& search) {
    const PreparedSearch& prepared = search.prepared;
    const auto sizes = generationSizes(prepared.settings.search, prepared.bench.model.config().numLayers);
    const auto last = static_cast<int>(sizes.size()) - 1;
    std::vector<StageCost> stages;
    stages.push_back(searching(search, 0, 0, sizes));
    if (last > 0) stages.push_back(searching(search, 1, last, sizes));
    if (search::descentsUpTo(prepared.settings.search, last) > 0)
        stages.push_back(descending(prepared, search.measured));
    if (measuresShortContexts(prepared.settings)) stages.push_back(limiting(search, sizes));
    const std::int64_t candidates = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    const std::int64_t finalists = std::min<std::int64_t>(prepared.settings.finalists, candidates);
    const std::int64_t workers = prepared.settings.compute.workers;
    stages.push_back(asking("selection", prepared.selectPlan, finalists, search.measured, workers));
    stages.push_back(
        asking("report", prepared.reportPlan, reportedVariants(prepared.settings), search.measured, workers));
    if (prepared.settings.analysisItems > 0) stages.push_back(probing(prepared, search.measured));
    if (!prepared.guardrail.empty()) {
        const double each = search.measured.guardrailSeconds;
        stages.push_back({"guardrail", 2, 2 * prepared.guardrail.prompts(), 0, 2 * each,
                          fmt::format("two sides, {:.3g} s each, from a few questions", each)});
    }
    return stages;
}

ForecastTotals forecastTotals(const MeasuredSearch& search) {
    ForecastTotals totals;
    double searched = 0.0, after = 0.0;
    for (const StageCost& stage : stagesOf(search)) {
        const bool generation = stage.stage.starts_with("generation");
        const bool limited = generation || stage.stage == "descents" || stage.stage == "guardrail limit";
        if (generation) totals.candidates += stage.candidates;
        totals.prompts += stage.prompts.value_or(0);
        totals.tokens += stage.tokens;
        (limited ? searched : after) += stage.seconds;
    }
    const std::optional<double> limit = search.prepared.settings.search.timeLimitSeconds;
    totals.seconds = std::min(searched, limit.value_or(searched)) + after;
    return totals;
}

json memoryOf(const MeasuredSearch& search) {
    const PreparedSearch& prepared = search.prepared;
    const model::ModelConfig& config = prepared.bench.model.config();
    const model::ComputeType type = prepared.bench.model.lm->computeType();
    std::int64_t heaviest = 1;
    for (const PromptPlan* plan : {&prepared.searchPlan, &prepared.selectPlan, &prepared.reportPlan})
        heaviest = std::max(heaviest, heaviestPass(*plan, prepared.bench.pass.generates));
    const auto tokens = static_cast<int>(heaviest);
    const std::int64_t workers = prepared.settings.compute.workers;
    const std::int64_t cache = workers * model::estimateKvCacheBytes(config, type, tokens);
    const std::int64_t activations = workers * model::estimateActivationBytes(config, type, tokens) - cache;
    const std::int64_t weights = model::estimateWeightBytes(config, type);
    const LoadedMemory& process = search.process;
    const bool onCpu = prepared.bench.model.lm->device() == "cpu";
    const std::int64_t loaded = onCpu ? std::max<std::int64_t>(0, process.after - process.before) : weights;
    return {{"program_bytes", process.before},
            {"loaded_bytes", loaded},
            {"weight_bytes", weights},
            {"activation_bytes", activations},
            {"cache_bytes", cache},
            {"reuse_bytes", mostReused(prepared, config, type)},
            {"total_bytes", process.before + loaded + activations + cache},
            {"measured_bytes", optionalJson(search.measured.peakBytes)}};
}

json forecastJson(const MeasuredSearch& search) {
    const ForecastTotals totals = forecastTotals(search);
    json forecast = search.plan, stages = json::array();
    for (const StageCost& stage : stagesOf(search)) stages.push_back(stageJson(stage));
    forecast.update({{"candidates", totals.candidates},
                     {"prompts", totals.prompts},
                     {"tokens", totals.tokens},
                     {"seconds", totals.seconds},
                     {"stages", std::move(stages)},
                     {"memory", memoryOf(search)},
                     {"calibration", calibrationJson(search.measured, search.prepared.settings.compute.workers)},
                     {"paper", paperForecast()}});
    return forecast;
}

Result<MeasuredSearch> measureSearch(const SearchRunSettings& settings, ProgressObserver& observer,
                                     std::stop_token stop) {
    auto plan = planSearch(settings, stop);
    if (!plan) return fail(plan.error());
    releaseFreedMemory();
    const bool peakKnown = resetPeakResident();
    LoadedMemory process{residentBytes().value_or(0), 0};
    try {
        auto prepared = prepareSearch(settings, std::nullopt, observer, stop);
        if (!prepared) return fail(prepared.error());
        process.after = residentBytes().value_or(process.before);
        auto measured = calibrate(*prepared, observer, stop);
        if (!measured) return fail(measured.error());
        if (!peakKnown) measured->peakBytes.reset();
        return MeasuredSearch{std::move(*plan), std::move(*prepared), std::move(*measured), process};
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory,
                    "there is not enough memory for a calibration; use fewer workers or a smaller batch");
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "the calibration failed unexpectedly; please report this", error.what());
    }
}

Result<json> forecastSearch(const SearchRunSettings& settings, ProgressObserver& observer, std::stop_token stop) {
    const auto measured = measureSearch(settings, observer, stop);
    if (!measured) return fail(measured.error());
    return forecastJson(*measured);
}

}  // namespace lpes::studies
