#include <fmt/format.h>

#include <filesystem>

#include "core/analysis/scale_variants.h"
#include "core/exporters/profile.h"
#include "core/studies/probe_study.h"
#include "core/studies/run_session.h"
#include "core/studies/studies.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// One set of scales to compare with the baseline.
struct Variant {
    std::string name;
    rope::LayerScales scales;
};

json summaryJson(const analysis::DeviationSummary& summary) {
    json layers = json::array();
    for (const analysis::DeviationSummary::Layer& layer : summary.layers) {
        layers.push_back({{"layer", layer.layer},
                          {"deviation", layer.deviation},
                          {"ci_low", layer.interval.low},
                          {"ci_high", layer.interval.high},
                          {"rsa", layer.rsa},
                          {"cosine", layer.cosine}});
    }
    return {{"variant", summary.variant},         {"mean_deviation", summary.meanDeviation},
            {"ci_low", summary.meanInterval.low}, {"ci_high", summary.meanInterval.high},
            {"prompts", summary.prompts},         {"layers", std::move(layers)}};
}

/// Every profile in every variant that was asked for. With several profiles a variant's name holds the file's.
Result<std::vector<Variant>> makeVariants(const DeviationSettings& settings, const model::ModelConfig& config,
                                          ProgressObserver& observer) {
    if (settings.profiles.empty()) return fail(ErrorCode::Usage, "deviation needs --profile FILE");
    std::string names;
    for (const std::string& name : settings.variants) names += (names.empty() ? "" : ",") + name;
    auto kinds = analysis::parseScaleVariants(names);
    if (!kinds) return fail(kinds.error());
    std::vector<Variant> variants;
    for (const std::string& file : settings.profiles) {
        auto loaded = exporters::readProfile(file);
        if (!loaded) return fail(loaded.error());
        auto method = profileMethod(file, config, observer);
        if (!method) return fail(method.error());
        if (!isLayerScales(*method)) {
            return fail(
                ErrorCode::Unsupported,
                fmt::format("'{}' has scales by {}, and deviation's variants are made of one scale per layer; "
                            "use a profile by layer",
                            file,
                            loaded->profile.groups.kind == curve::ScaleGroups::Kind::KvHead ? "key/value head"
                                                                                            : "band of frequencies"));
        }
        const curve::Constraints bounds = loaded->profile.constraints.value_or(curve::Constraints{});
        for (const analysis::ScaleVariant kind : *kinds) {
            auto made = analysis::scaleVariant(kind, method->scales, bounds.scaleMin, bounds.scaleMax, settings.seed);
            if (!made) return fail(made.error());
            std::string name = analysis::scaleVariantName(kind);
            if (settings.profiles.size() > 1) name += " " + std::filesystem::path(file).filename().string();
            variants.push_back({std::move(name), std::move(*made)});
        }
    }
    return variants;
}

}  // namespace

Result<StudyOutcome> runDeviation(const DeviationSettings& settings, store::StoreWriter& store,
                                  ProgressObserver& observer, std::stop_token stop) {
    auto opened = openBench(settings.compute, settings.task, 20, stop);
    if (!opened) return fail(opened.error());
    const int context = opened->config().contextLength;
    auto variants = makeVariants(settings, opened->config(), observer);
    if (!variants) return fail(variants.error());
    // Nothing is scored: what a pass has is settled as for likelihoods.
    const auto pass = passSize(settings.compute, opened->task, tasks::ScoreKind{}, opened->tokenizer(), context);
    if (!pass) return fail(pass.error());
    auto plan = planOfAllItems(*opened, context, *pass, stop);
    if (!plan) return fail(plan.error());
    auto bench = loadBench(std::move(*opened), settings.compute, *pass, observer, stop);
    if (!bench) return fail(bench.error());
    DeviationSettings resolved = settings;
    storeResolved(resolved.compute, resolved.task, *bench);
    auto runId = beginRun(store, *bench, settings.compute, "deviation",
                          fmt::format("deviation on {}", bench->task.info().name), toJson(resolved), settings.seed);
    if (!runId) return fail(runId.error());
    RunProgress progress(store, *runId, observer);
    return conductRun(store, *runId, progress, [&]() -> Result<StudyOutcome> {
        auto session = bench->model.lm->newSession(bench->threads);
        progress.setTotal(deviationPrompts(*plan) * static_cast<std::int64_t>(variants->size()));
        json summaries = json::array();
        for (const Variant& variant : *variants) {
            progress.setStage(fmt::format("deviation of {}", variant.name));
            auto id = store.ensureVariant(*runId, variant.name, variant.scales);
            if (!id) return fail(id.error());
            auto applied = requireApplied(*session, variant.scales, plan->longestPrompt());
            if (!applied) return fail(applied.error());
            auto summary = probeDeviation(*session, *plan, variant.name, variant.scales, settings.seed, progress, stop);
            if (!summary) return fail(summary.error());
            if (auto done = store.recordDeviations(*runId, deviationRows(*summary, *id)); !done)
                return fail(done.error());
            summaries.push_back(summaryJson(*summary));
        }
        StudyOutcome outcome{*runId, false, {{"variants", std::move(summaries)}}};
        outcome.result.update({{"run_id", *runId},
                               {"state", "finished"},
                               {"model", settings.compute.model},
                               {"task", settings.task.task},
                               {"data", bench->task.info().name},
                               {"items", plan->itemsRun()},
                               {"skipped_too_long", plan->itemsSkipped()},
                               {"seconds", progress.secondsThisSitting()},
                               {"settings", toJson(resolved)}});
        return outcome;
    });
}

}  // namespace lpes::studies
