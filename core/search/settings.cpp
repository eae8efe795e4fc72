#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/search/optimizer.h"
#include "core/search/population.h"

namespace lpes::search {
namespace {

/// Beyond these a setting is a slip of the keyboard: the ranking and the diversity of a population cost its square.
constexpr int kMaxPopulation = 10000;
constexpr int kMaxGenerations = 1000000;
constexpr int kMaxPoints = 256;
constexpr int kMaxBands = 1024;
/// Scales that a model accepts at all (the profile format's range).
constexpr double kMinScale = 0.01, kMaxScale = 100.0;

/// Collects the first setting that is out of its range.
class Checker {
  public:
    void range(const char* option, double value, double low, double high) {
        if (m_result && !(value >= low && value <= high)) {
            m_result =
                fail(ErrorCode::Usage, fmt::format("{} is {}; it must be from {} to {}", option, value, low, high));
        }
    }
    void above(const char* option, double value, double bound) {
        if (m_result && !(std::isfinite(value) && value > bound)) {
            m_result = fail(ErrorCode::Usage, fmt::format("{} is {}; it must be above {}", option, value, bound));
        }
    }
    void finite(const char* option, double value) {
        if (m_result && !std::isfinite(value))
            m_result = fail(ErrorCode::Usage, fmt::format("{} is {}; it must be a number", option, value));
    }
    void atLeast(const char* option, double value, double low) {
        if (m_result && !(std::isfinite(value) && value >= low)) {
            m_result = fail(ErrorCode::Usage, fmt::format("{} is {}; it must be {} or more", option, value, low));
        }
    }
    void groups(const curve::ScaleGroups& groups) {
        if (!m_result) return;
        if (const auto broken = curve::violation(groups)) {
            m_result = fail(ErrorCode::Usage, fmt::format("--per {}: {}", curve::groupsText(groups), *broken));
        }
        range("the number of bands in --per", groups.count(), 1, kMaxBands);
    }
    [[nodiscard]] Result<void> result() const { return m_result; }

  private:
    Result<void> m_result;
};

}  // namespace

namespace {

/// What goes with several objectives, and what does not.
Result<void> checkObjectives(const SearchSettings& settings) {
    if (settings.objectives.empty()) return {};
    const auto parsed = parseObjectives(objectivesText(settings.objectives));
    if (!parsed) return fail(parsed.error());
    const auto refuse = [](const std::string& what, const char* why) {
        return fail(ErrorCode::Usage,
                    fmt::format("{} does not go with --objectives: {}; leave one of them out", what, why));
    };
    if (settings.optimizer != OptimizerKind::Genetic) {
        return refuse("--optimizer " + optimizerName(settings.optimizer), "only the genetic search ranks by a front");
    }
    if (settings.racing) return refuse("--racing", "a race is run over the items of one fitness");
    if (settings.target) return refuse("--target", "it is a value of one fitness");
    if (settings.gradient.refined > 0) return refuse("--refine", "a descent follows one likelihood");
    if (settings.aboveNoise) return refuse("--min-delta noise", "patience then counts hypervolume, which has no items");
    return {};
}

}  // namespace

std::vector<UnusedOption> unusedOptions(const SearchSettings& settings) {
    std::vector<UnusedOption> unused;
    const bool genetic = settings.optimizer == OptimizerKind::Genetic;
    const bool gradient = settings.optimizer == OptimizerKind::Gradient;
    const bool refines = settings.gradient.refined > 0;
    const auto add = [&, here = "with --optimizer " + optimizerName(settings.optimizer)](
                         const char* key, const char* option, const char* usedBy) {
        unused.push_back({key, option, here, usedBy});
    };
    // A generation of descents has one candidate from each; only a race asks how many a population keeps.
    if (gradient && !settings.racing) add("population", "--population", "--gradient-starts");
    const std::int64_t kept = keptOf(settings.population);
    if (gradient && settings.racing && settings.gradient.starts * (settings.maxGenerations + std::int64_t{1}) <= kept) {
        unused.push_back({"racing", "--racing",
                          "with --optimizer gradient and no more candidates than half a population, which none falls "
                          "out of",
                          "a smaller --population or more --gradient-starts"});
    }
    if (!settings.patience) unused.push_back({"min_delta", "--min-delta", "without --patience", "--patience"});
    if (!genetic) {
        for (const auto& [key, option] :
             {std::pair("mutation_rate", "--mutation-rate"), {"max_dx", "--max-dx"}, {"max_dy", "--max-dy"}})
            add(key, option, "--optimizer genetic");
    }
    if (!genetic && refines) add("refine", "--refine", "--optimizer genetic");
    if (!gradient) add("gradient_starts", "--gradient-starts", "--optimizer gradient");
    if (!gradient && !(genetic && refines)) {
        for (const auto& [key, option] : {std::pair("gradient_steps", "--gradient-steps"),
                                          {"gradient_items", "--gradient-items"},
                                          {"gradient_rate", "--gradient-rate"}})
            add(key, option, "--optimizer gradient, or --optimizer genetic with --refine");
    }
    return unused;
}

Result<void> checkSettings(const SearchSettings& settings, int numLayers) {
    Checker check;
    const curve::Constraints& bounds = settings.constraints;
    const bool free = settings.curve == curve::CurveKind::Free;
    check.atLeast("the number of layers", numLayers, free ? curve::kMinPoints : 1);
    check.range("--population", settings.population, 4, kMaxPopulation);
    check.range("--max-generations", settings.maxGenerations, 0, kMaxGenerations);
    if (settings.maxEvals) check.atLeast("--max-evals", static_cast<double>(*settings.maxEvals), 1);
    if (settings.timeLimitSeconds) check.above("--time-limit", *settings.timeLimitSeconds, 0);
    if (settings.target) check.finite("--target", *settings.target);
    if (settings.patience) check.atLeast("--patience", *settings.patience, 1);
    check.atLeast("--min-delta", settings.minDelta, 0);
    if (!free) {
        const bool bezier = settings.curve == curve::CurveKind::Bezier;
        check.range("--points", settings.points, curve::kMinPoints, bezier ? curve::kMaxBezierPoints : kMaxPoints);
    }
    check.groups(settings.groups);
    check.range("--scale-min", bounds.scaleMin, kMinScale, kMaxScale);
    check.range("--scale-max", bounds.scaleMax, kMinScale, kMaxScale);
    check.above("--scale-max", bounds.scaleMax, bounds.scaleMin);
    if (bounds.gridStep) {
        check.above("--grid-step", *bounds.gridStep, 0);
        check.range("--grid-step", *bounds.gridStep, 0, bounds.scaleMax - bounds.scaleMin);
    }
    check.range("--mutation-rate", settings.mutationRate, 0, 1);
    check.range("--max-dx", settings.maxDx, 0, 1);
    check.range("--max-dy", settings.maxDy, 0, kMaxScale);
    if (settings.racing) {
        check.above("--racing", *settings.racing, 0);
        check.range("--racing", *settings.racing, 0, 0.5);
    }
    check.range("--gradient-starts", settings.gradient.starts, 1, kMaxPopulation);
    check.range("--refine", settings.gradient.refined, 0, kMaxPopulation);
    check.range("--gradient-steps", settings.gradient.steps, 1, kMaxGenerations);
    check.range("--gradient-items", settings.gradient.items, 1, kMaxGenerations);
    check.above("--gradient-rate", settings.gradient.rate, 0);
    check.range("--gradient-rate", settings.gradient.rate, 0, kMaxScale);
    check.atLeast("the number of failures in a row that ends the search", settings.maxConsecutiveFailures, 1);
    check.atLeast("the number of times that a duplicate is drawn again", settings.duplicateRetries, 0);
    if (auto valid = check.result(); !valid) return valid;
    if (auto valid = checkObjectives(settings); !valid || settings.optimizer != OptimizerKind::Exhaustive) return valid;
    if (!bounds.gridStep) {
        return fail(ErrorCode::Usage, "an exhaustive search goes through a grid; give --grid-step and not none");
    }
    const std::int64_t size = exhaustiveSize(settings, numLayers);
    if (size >= 0 && size <= kMostExhaustive) return {};
    return fail(ErrorCode::Usage,
                fmt::format("an exhaustive search over {} points on this grid has {} curves and may have {}; use fewer "
                            "--points, a larger --grid-step or narrower bounds",
                            curveSize(settings, numLayers) * settings.groups.count(),
                            size < 0 ? std::string("more than 2^53") : std::to_string(size), kMostExhaustive));
}

}  // namespace lpes::search
