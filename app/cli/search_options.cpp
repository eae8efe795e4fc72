#include "app/cli/search_options.h"

#include <fmt/format.h>

#include <utility>

#include "app/cli/options.h"

namespace lpes::cli {

namespace {

constexpr const char* kDemoModel = "demo";
constexpr const char* kSearchGroup = "Search";
constexpr const char* kGradientGroup = "Descent";
constexpr const char* kCurveGroup = "Curve";
constexpr const char* kFitnessGroup = "Fitness and items";

void addGeneticOptions(SettingFlags& flags, search::SearchSettings& search) {
    const auto add = [&](const char* name, const char* placeholder, const char* help, SettingFlags::Setter setter) {
        flags.add(name, placeholder, help, std::move(setter))->group(kSearchGroup);
    };
    add("--seed", "N", "Decides every random choice of the search and the splits [1]",
        toNumber<std::uint64_t>(search.seed));
    add("--population", "N", "Candidates in a generation; of descents --gradient-starts says how many [32]",
        toNumber<int>(search.population, 4, 100'000));
    add("--max-generations", "N", "Generations that are bred after the first population [12]",
        toNumber<int>(search.maxGenerations, 0, 1'000'000));
    add("--max-evals", "N", "Distinct candidates evaluated at most; auto: no limit [auto]",
        toOptionalNumber<std::int64_t>(search.maxEvals, 1));
    add("--time-limit", "SECONDS", "Working time at most, over all sittings of the run; auto: no limit [auto]",
        toOptionalNumber<double>(search.timeLimitSeconds, 0.0));
    add("--target", "X",
        "Fitness on the search items at which the search ends, once the best of a whole generation has it; auto: none "
        "[auto]",
        toOptionalNumber<double>(search.target));
    add("--patience", "N",
        "Generations without a gain above --min-delta after which the search ends; auto: no limit [auto]",
        toOptionalNumber<int>(search.patience, 1));
    add("--min-delta", "X",
        "Smallest gain in fitness that counts for --patience, which it needs; noise: what exceeds its own standard "
        "error over the "
        "search items, not with --gap-penalty [0]",
        [&search](const std::string& name, const std::string& text) -> Result<void> {
            search.aboveNoise = text == "noise";
            search.minDelta = 0.0;
            return search.aboveNoise ? Result<void>{} : toNumber<double>(search.minDelta, 0.0)(name, text);
        });
    add("--mutation-rate", "P", "Probability that a coordinate of a child is changed [0.3]",
        toNumber<double>(search.mutationRate, 0.0, 1.0));
    add("--max-dx", "X", "Largest change of a point's depth in a mutation [0.125]",
        toNumber<double>(search.maxDx, 0.0, 1.0));
    add("--max-dy", "X", "Largest change of a point's scale in a mutation [0.2]",
        toNumber<double>(search.maxDy, 0.0, 100.0));
    add("--racing", "ALPHA",
        "Gives a candidate up after a quarter or half of the search items when it lies behind the last that would be "
        "kept, wrongly with this probability at most; not with --gap-penalty; auto: never [auto]",
        toOptionalNumber<double>(search.racing, 0.0));
    add("--optimizer", "NAME",
        "Where candidates come from: genetic; random, curves of the first generation alone; cma-es over the control "
        "points; gradient, descents along the slope of the answers' likelihood; exhaustive, every grid value at every "
        "point, whatever --max-generations says [genetic]",
        [&search](const std::string&, const std::string& text) -> Result<void> {
            auto kind = search::parseOptimizer(text);
            if (!kind) return fail(kind.error());
            search.optimizer = *kind;
            return {};
        });
}

void addObjectivesOption(SettingFlags& flags, search::SearchSettings& search) {
    flags
        .add("--objectives", "LIST",
             "Several objectives at once, with --optimizer genetic (NSGA-II): two or three of middle, ends (scores by "
             "where the evidence stands) and short (likelihood of short texts); ends in a front to choose from; none: "
             "one "
             "fitness [none]",
             [&search](const std::string&, const std::string& text) -> Result<void> {
                 search.objectives.clear();
                 if (text == "none") return {};
                 auto objectives = search::parseObjectives(text);
                 if (!objectives) return fail(objectives.error());
                 search.objectives = std::move(*objectives);
                 return {};
             })
        ->group(kFitnessGroup);
}

void addReuseOptions(SettingFlags& flags, studies::SearchRunSettings& settings) {
    flags
        .add("--memo", "on|off",
             "A candidate with the scales of an earlier one shares its evaluation; off: it is evaluated again, to the "
             "same values [on]",
             toSwitch(settings.search.memo))
        ->group(kSearchGroup);
    flags
        .add("--reuse-layers", "on|off",
             "Compute the leading layers in which candidates of a generation have the same scales once for all of "
             "them; no result depends on it [on]",
             toSwitch(settings.reuseLayers))
        ->group(kSearchGroup);
    flags
        .add("--reuse-memory", "MIB", "Memory that hidden states kept for --reuse-layers may take [1024]",
             toNumber<int>(settings.reuseMemory, 0))
        ->group(kSearchGroup);
}

void addGradientOptions(SettingFlags& flags, search::GradientSettings& gradient) {
    const auto add = [&](const char* name, const char* placeholder, const char* help, SettingFlags::Setter setter) {
        flags.add(name, placeholder, help, std::move(setter))->group(kGradientGroup);
    };
    add("--gradient-starts", "N", "--optimizer gradient: descents side by side, each from a curve of its own [1]",
        toNumber<int>(gradient.starts, 1, 10'000));
    add("--refine", "N",
        "--optimizer genetic: best individuals of every generation that a descent takes on; what it comes to is a "
        "child of the next; before the first, known curves [0]",
        toNumber<int>(gradient.refined, 0, 10'000));
    add("--gradient-steps", "N", "Steps of a descent in a generation [6]", toNumber<int>(gradient.steps, 1, 1'000'000));
    add("--gradient-items", "N", "Search items, at all positions, that a step looks at; a slope costs three passes [3]",
        toNumber<int>(gradient.items, 1, 1'000'000));
    add("--gradient-rate", "X", "Length of a step in the first generation, in units of scale; later ones shrink [0.2]",
        toNumber<double>(gradient.rate));
}

void addCurveOptions(SettingFlags& flags, search::SearchSettings& search) {
    const auto add = [&](const char* name, const char* placeholder, const char* help, SettingFlags::Setter setter) {
        flags.add(name, placeholder, help, std::move(setter))->group(kCurveGroup);
    };
    add("--curve", "KIND", "bezier, linear, monotone (cubic), step or free (one value per layer) [bezier]",
        [&search](const std::string&, const std::string& text) -> Result<void> {
            auto kind = curve::parseCurveKind(text);
            if (!kind) return fail(kind.error());
            search.curve = *kind;
            return {};
        });
    add("--points", "N", "Control points of a curve; ignored for free [4]", toNumber<int>(search.points, 2, 1000));
    add("--per", "WHAT",
        "What has a scale in every layer, each with a curve of its own: layer; kv-head, every key/value head; or "
        "band:8,20,32, every band of frequencies, by the first frequency behind each, the last one half of what a head "
        "rotates [layer]",
        [&search](const std::string&, const std::string& text) -> Result<void> {
            auto groups = curve::parseGroups(text);
            if (!groups) return fail(groups.error());
            search.groups = std::move(*groups);
            return {};
        });
    add("--scale-min", "X", "Smallest scale [0.5]", toNumber<double>(search.constraints.scaleMin));
    add("--scale-max", "X", "Largest scale [2.5]", toNumber<double>(search.constraints.scaleMax));
    add("--grid-step", "X", "Scales are rounded to multiples of it; auto: 0.05, none: no rounding [auto]",
        toGridStep(search.constraints.gridStep));
}

}  // namespace

void addSearchOptions(SettingFlags& flags, studies::SearchRunSettings& settings) {
    addGeneticOptions(flags, settings.search);
    addGradientOptions(flags, settings.search.gradient);
    addCurveOptions(flags, settings.search);
    const auto add = [&](const char* name, const char* placeholder, const char* help, SettingFlags::Setter setter) {
        flags.add(name, placeholder, help, std::move(setter))->group(kFitnessGroup);
    };
    add("--score", "SCORE",
        "What the search maximises: nll (likelihood of the answer), strict, generate or blend:W [nll]",
        toText(settings.score));
    add("--weights", "LIST", "Weight of each position, separated by commas; auto: equal [auto]",
        [&settings](const std::string& name, const std::string& text) -> Result<void> {
            settings.weights.clear();
            if (text == "auto") return {};
            auto weights = parseNumberList(name, text);
            if (!weights) return fail(weights.error());
            settings.weights = std::move(*weights);
            return {};
        });
    addObjectivesOption(flags, settings.search);
    add("--gap-penalty", "B",
        "Fitness loses B times the difference of the best and the worst position; not with --racing or --min-delta "
        "noise "
        "[0]",
        toNumber<double>(settings.gapPenalty, 0.0));
    add("--guardrail-limit", "PERCENT",
        "A candidate that worsens short-context perplexity by more than this loses to every one that does not, and is "
        "asked no item; auto: no limit [auto]",
        toOptionalNumber<double>(settings.guardrailLimit, 0.0));
    add("--search-items", "N", "Items that the search sees [100]", toNumber<int>(settings.searchItems, 1));
    add("--select-items", "N", "Items on which the finalists are scored again [100]",
        toNumber<int>(settings.selectItems, 1));
    add("--report-items", "N",
        "Held-out items that the result is reported on; auto: the rest of a file, 100 when generated [auto]",
        toOptionalNumber<int>(settings.reportItems, 2));
    addReuseOptions(flags, settings);
    add("--finalists", "N", "Best distinct candidates that are scored again [6]", toNumber<int>(settings.finalists, 1));
    add("--analysis-items", "N", "Held-out items whose attention and deviation are stored at the end; 0: none [8]",
        toNumber<int>(settings.analysisItems, 0));
}

Result<void> chooseSearchBase(const SettingFlags& flags, studies::SearchRunSettings& settings) {
    const bool taskNamed = flags.text("--task").has_value();
    const std::string model = flags.text("--model").value_or("");
    if (auto given = requireModel(model, "--model"); !given) return given;
    if (taskNamed) return {};
    if (model != kDemoModel) {
        return fail(ErrorCode::Usage,
                    "--task is missing; only the model demo has a study of its own, for another one name --task kv");
    }
    auto demo = studies::demoStudy();
    if (!demo) return fail(demo.error());
    settings = std::move(*demo);
    // Items from a file replace the demo study's generated ones, and with them how those are made.
    if (flags.text("--data")) {
        settings.task.keys.reset();
        settings.task.itemSeed.reset();
        for (const char* drawn : {"keys", "item_seed"}) settings.origins.erase(drawn);
    }
    return {};
}

}  // namespace lpes::cli
