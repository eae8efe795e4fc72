#include "core/studies/search_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/search/genetic_search.h"
#include "core/studies/slope_evaluator.h"

namespace lpes::studies {

namespace {

/// Report items to generate when the settings leave the number open.
constexpr int kDefaultReportItems = 100;
/// Percent; beyond it a limit is a slip of the keyboard.
constexpr double kLargestLimit = 1000.0;

Result<std::vector<double>> resolveWeights(const std::vector<double>& weights, std::size_t positions) {
    if (weights.empty()) return std::vector<double>(positions, 1.0 / static_cast<double>(positions));
    if (weights.size() != positions) {
        return fail(ErrorCode::Usage, fmt::format("--weights has {} values for {} positions; give one per position",
                                                  weights.size(), positions));
    }
    double sum = 0.0;
    for (const double weight : weights) {
        if (!(weight >= 0.0) || weight > 1e9) {
            return fail(ErrorCode::Usage,
                        fmt::format("--weights: {} is not a weight; give numbers of 0 or more", weight));
        }
        sum += weight;
    }
    if (!(sum > 0.0)) return fail(ErrorCode::Usage, "--weights are all 0; at least one position must count");
    return weights;
}

}  // namespace

std::int64_t itemsNeeded(const SearchRunSettings& settings) {
    return std::int64_t{settings.searchItems} * settings.resamples + settings.selectItems +
           settings.reportItems.value_or(kDefaultReportItems);
}

std::int64_t mostCandidates(const search::SearchSettings& settings, int numLayers) {
    if (settings.optimizer == search::OptimizerKind::Exhaustive) {
        const std::int64_t all = search::exhaustiveSize(settings, numLayers);
        return settings.maxEvals ? std::min(all, *settings.maxEvals) : all;
    }
    const std::int64_t most =
        search::candidatesOf(settings, 0) + std::int64_t{settings.maxGenerations} * search::candidatesOf(settings, 1);
    return settings.maxEvals ? std::min(most, *settings.maxEvals) : most;
}

std::int64_t promptsOfAStep(const PreparedSearch& prepared) {
    const std::int64_t items =
        std::min<std::int64_t>(prepared.settings.search.gradient.items, prepared.searchPlan.itemsRun());
    return kSlopeCost * items * static_cast<std::int64_t>(prepared.bench.task.positions.size());
}

bool measuresShortContexts(const SearchRunSettings& settings) {
    const std::vector<search::Objective>& objectives = settings.search.objectives;
    return settings.guardrailLimit.has_value() ||
           std::ranges::find(objectives, search::Objective::Short) != objectives.end();
}

const char* shortOption(const SearchRunSettings& settings) {
    return settings.guardrailLimit ? "--guardrail-limit" : "--objectives short";
}

std::optional<std::int64_t> reuseBytes(const SearchRunSettings& settings) {
    if (!settings.reuseLayers) return std::nullopt;
    return std::int64_t{settings.reuseMemory} << 20;
}

std::int64_t reportedVariants(const SearchRunSettings& settings) {
    return settings.search.objectives.empty() ? 2 : std::int64_t{1} + settings.finalists;
}

ShortTexts shortTextsOf(const SearchPlan& plan) {
    ShortTexts all;
    if (!measuresShortContexts(plan.settings)) return all;
    for (const auto& text : plan.guardrail.texts()) {
        ++all.prompts;
        all.tokens += std::ssize(text);
    }
    return all;
}

namespace {

/// What looks at the fitness item by item does not see a penalty on the positions' means.
Result<void> checkGapPenalty(const SearchRunSettings& settings) {
    if (settings.gapPenalty == 0.0 || !(settings.search.racing || settings.search.aboveNoise)) return {};
    return fail(ErrorCode::Usage,
                fmt::format("{} does not go with --gap-penalty: it tests the mean over items, and the "
                            "penalty is not part of any item's score; leave one of them out",
                            settings.search.racing ? "--racing" : "--min-delta noise"));
}

Result<void> checkGuardrail(const SearchRunSettings& settings) {
    const double percent = settings.guardrailLimit.value_or(0.0);
    if (!(percent >= 0.0) || percent > kLargestLimit) {
        return fail(ErrorCode::Usage,
                    fmt::format("--guardrail-limit {} is out of range; give a percentage from 0 to {}", percent,
                                kLargestLimit));
    }
    if (!measuresShortContexts(settings) || settings.guardrail.items > 0) return {};
    return fail(ErrorCode::Usage, fmt::format("--guardrail {} leaves no short text to measure; leave it out, or leave "
                                              "out {}",
                                              settings.guardrail.items, shortOption(settings)));
}

}  // namespace

Result<void> checkCounts(const SearchRunSettings& settings) {
    const auto positive = [](const char* name, std::int64_t value, std::int64_t least) -> Result<void> {
        if (value >= least) return {};
        return fail(ErrorCode::Usage, fmt::format("{} {} is too small; give at least {}", name, value, least));
    };
    if (auto ok = positive("--search-items", settings.searchItems, 1); !ok) return ok;
    if (auto ok = positive("--select-items", settings.selectItems, 1); !ok) return ok;
    if (settings.reportItems) {
        if (auto ok = positive("--report-items", *settings.reportItems, 2); !ok) return ok;
    }
    if (auto ok = positive("--finalists", settings.finalists, 1); !ok) return ok;
    if (auto ok = positive("--analysis-items", settings.analysisItems, 0); !ok) return ok;
    if (auto ok = positive("--reuse-memory", settings.reuseMemory, 0); !ok) return ok;
    if (!(settings.gapPenalty >= 0.0) || settings.gapPenalty > 1e6) {
        return fail(ErrorCode::Usage,
                    fmt::format("--gap-penalty {} is out of range; give 0 or more", settings.gapPenalty));
    }
    if (auto ok = checkGapPenalty(settings); !ok) return ok;
    return checkGuardrail(settings);
}

namespace {

bool isGiven(const SearchRunSettings& settings, const std::string& key) {
    const auto origin = settings.origins.find(key);
    if (origin == settings.origins.end()) return false;
    return origin->second == "flag" || origin->second == "environment" || origin->second == "window";
}

}  // namespace

Result<void> checkUsed(std::span<const SearchRunSettings> searches) {
    if (searches.empty()) return {};
    for (const search::UnusedOption& unused : search::unusedOptions(searches.front().search)) {
        if (!isGiven(searches.front(), unused.key)) continue;
        const bool nowhere = std::ranges::all_of(searches, [&](const SearchRunSettings& one) {
            const auto options = search::unusedOptions(one.search);
            return std::ranges::find(options, unused.key, &search::UnusedOption::key) != options.end();
        });
        if (!nowhere) continue;
        return fail(ErrorCode::Usage, fmt::format("{} has no effect {}; leave it out, or give {}", unused.option,
                                                  unused.where, unused.usedBy));
    }
    return {};
}

Result<curve::ScaleGroups> groupsForModel(const curve::ScaleGroups& groups, const model::ModelConfig& config) {
    using Kind = curve::ScaleGroups::Kind;
    curve::ScaleGroups own = groups;
    if (own.perLayer()) return own;
    if (own.kind == Kind::KvHead) own.heads = config.numKvHeads;
    const int frequencies = config.rope.rotated() / 2;
    if (own.kind == Kind::Band && (own.bandEnds.empty() || own.bandEnds.back() != frequencies)) {
        return fail(ErrorCode::Usage,
                    fmt::format("--per {} does not end at the last of the model's {} frequencies; give "
                                "bands of this model, for example band:{},{}",
                                curve::groupsText(own), frequencies, (frequencies + 1) / 2, frequencies));
    }
    const std::vector<double> ones(static_cast<std::size_t>(config.numLayers) * static_cast<std::size_t>(own.count()),
                                   1.0);
    auto valid = rope::checkMethod(lpesMethod(own, ones), model::methodModel(config));
    if (!valid) return fail(valid.error());
    return own;
}

std::span<const analysis::ScaleVariant> deviationVariants(const curve::ScaleGroups& groups) {
    using analysis::ScaleVariant;
    static constexpr ScaleVariant kVariants[] = {ScaleVariant::Smooth, ScaleVariant::Noisy, ScaleVariant::Shuffled};
    return std::span(kVariants).first(groups.perLayer() ? std::size(kVariants) : 1);
}

ProbeCounts probeCounts(const PreparedSearch& prepared) {
    const auto positions = static_cast<std::int64_t>(prepared.bench.task.positions.size());
    const std::int64_t items = std::min<std::int64_t>(prepared.settings.analysisItems,
                                                      static_cast<std::int64_t>(prepared.splits.report.size()));
    const auto variants = static_cast<std::int64_t>(deviationVariants(prepared.settings.search.groups).size());
    return {items * 2 * positions, items * variants, items * 2 * positions, variants};
}

Result<SearchOutline> outlineSearch(const SearchRunSettings& settings, std::stop_token stop,
                                    const std::optional<tasks::Splits>& stored, const LoadedModel* loaded) {
    if (auto ok = checkCounts(settings); !ok) return fail(ok.error());
    if (auto known = tasks::parseScoreKind(settings.score); !known) return fail(known.error());
    auto bench = openBench(settings.compute, settings.task, itemsNeeded(settings), stop, loaded);
    if (!bench) return fail(bench.error());
    const model::ModelConfig& config = bench->config();
    const text::Tokenizer& tokenizer = bench->tokenizer();
    auto score = scoreFor(bench->task, settings.score);
    if (!score) return fail(score.error());
    auto groups = groupsForModel(settings.search.groups, config);
    if (!groups) return fail(groups.error());
    auto weights = resolveWeights(settings.weights, bench->task.positions.size());
    if (!weights) return fail(weights.error());
    SearchPlan plan{settings, std::move(*score), std::move(*weights), {}, {}, {}, {}, {}, {}};
    plan.settings.search.groups = std::move(*groups);
    if (auto ok = search::checkSettings(plan.settings.search, config.numLayers); !ok) return fail(ok.error());
    if (stored) {
        plan.splits = *stored;
    } else {
        auto splits = makeSearchSplits(settings, bench->task);
        if (!splits) return fail(splits.error());
        plan.splits = std::move(*splits);
    }
    const auto pass = passSize(settings.compute, bench->task, plan.score, tokenizer, config.contextLength);
    if (!pass) return fail(pass.error());
    for (auto [ids, into] :
         {std::pair{&plan.splits.search, &plan.searchPlan}, std::pair{&plan.splits.select, &plan.selectPlan},
          std::pair{&plan.splits.report, &plan.reportPlan}}) {
        auto made = PromptPlan::make(bench->task, *ids, tokenizer, config.contextLength, *pass, stop);
        if (!made) return fail(made.error());
        if (made->prompts() == 0) {
            return fail(ErrorCode::BadInput,
                        fmt::format("every item of a split is longer than the model's context of {} tokens; use fewer "
                                    "pairs or another model",
                                    config.contextLength));
        }
        *into = std::move(*made);
    }
    auto rule = ObjectiveRule::make(settings.search.objectives, plan.weights, plan.searchPlan);
    if (!rule) return fail(rule.error());
    plan.objectives = std::move(*rule);
    auto guardrail = Guardrail::make(settings.guardrail, tokenizer, config.contextLength, stop);
    if (!guardrail) return fail(guardrail.error());
    plan.guardrail = std::move(*guardrail);
    if (measuresShortContexts(settings) && plan.guardrail.empty()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("no short text of the guardrail fits into the model's context of {} tokens, so {} has "
                                "nothing to measure; leave it out",
                                config.contextLength, shortOption(settings)));
    }
    return SearchOutline{std::move(*bench), std::move(plan)};
}

Result<PreparedSearch> loadSearch(SearchOutline outline, ProgressObserver& observer, std::stop_token stop,
                                  const LoadedModel* loaded) {
    const PassSize pass = outline.plan.searchPlan.pass();
    auto bench = loadBench(std::move(outline.bench), outline.plan.settings.compute, pass, observer, stop, loaded);
    if (!bench) return fail(bench.error());
    PreparedSearch prepared{std::move(outline.plan), std::move(*bench)};
    storeResolved(prepared.settings.compute, prepared.settings.task, prepared.bench);
    return prepared;
}

Result<PreparedSearch> prepareSearch(const SearchRunSettings& settings, const std::optional<tasks::Splits>& stored,
                                     ProgressObserver& observer, std::stop_token stop, const LoadedModel* loaded) {
    auto outline = outlineSearch(settings, stop, stored, loaded);
    if (!outline) return fail(outline.error());
    return loadSearch(std::move(*outline), observer, stop, loaded);
}

Result<tasks::Splits> makeSearchSplits(const SearchRunSettings& settings, const PreparedTask& task) {
    const std::uint64_t seed = settings.splitSeed.value_or(settings.search.seed);
    if (settings.resamples == 1) {
        return tasks::makeSplits(task.ids(), task.info().name, settings.searchItems, settings.selectItems,
                                 settings.reportItems, seed);
    }
    return tasks::makeResampledSplits(task.ids(), task.info().name, settings.searchItems, settings.selectItems,
                                      settings.reportItems.value_or(kDefaultReportItems), seed, settings.resample,
                                      settings.resamples);
}

Result<void> writeSplits(store::StoreWriter& store, std::int64_t runId, const tasks::Splits& splits) {
    for (const auto& [name, ids] : {std::pair{"search", &splits.search}, std::pair{"select", &splits.select},
                                    std::pair{"report", &splits.report}}) {
        if (auto done = store.setSplit(runId, name, *ids); !done) return done;
    }
    return {};
}

Result<std::optional<tasks::Splits>> readSplits(store::StoreReader& reader, std::int64_t runId) {
    tasks::Splits splits;
    for (const auto& [name, ids] : {std::pair{"search", &splits.search}, std::pair{"select", &splits.select},
                                    std::pair{"report", &splits.report}}) {
        auto stored = reader.split(runId, name);
        if (!stored) return fail(stored.error());
        *ids = std::move(*stored);
    }
    if (splits.search.empty() || splits.select.empty() || splits.report.empty()) return std::optional<tasks::Splits>();
    return std::optional(std::move(splits));
}

}  // namespace lpes::studies
