#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/curve/scale_curve.h"
#include "core/curve/scale_groups.h"

namespace lpes::search {

/// Where candidates come from. All have the same first generation size, the same number of candidates in the ones
/// behind it, and the same history format.
enum class OptimizerKind {
    Genetic,    ///< methods.md §2
    Random,     ///< every candidate a random curve of generation 0
    CmaEs,      ///< arXiv 1604.00772 over the control points (cma_es.cpp)
    Gradient,   ///< descents along the slope of the answers' likelihood (gradient_descent.h)
    Exhaustive  ///< every grid value at every control point, evenly spaced; `population` candidates a generation
};
[[nodiscard]] std::string optimizerName(OptimizerKind kind);                  ///< "genetic", "cma-es", …
[[nodiscard]] Result<OptimizerKind> parseOptimizer(const std::string& text);  ///< Usage for anything else
/// What a search with several objectives weighs against each other; more of it is better.
enum class Objective {
    Middle,  ///< the score where the evidence stands neither first nor last
    Ends,    ///< where it stands first or last
    Short    ///< the likelihood of short texts
};
[[nodiscard]] std::string objectiveName(Objective objective);  ///< "middle", …
/// "middle,ends" → at least two different ones, in the order of the enumeration; Usage for anything else.
[[nodiscard]] Result<std::vector<Objective>> parseObjectives(const std::string& text);
[[nodiscard]] std::string objectivesText(const std::vector<Objective>& objectives);  ///< "middle,ends"

struct SearchSettings;
/// Curves that an exhaustive search goes through: every grid value at every control point. −1: more than 2⁵³, or no
/// grid.
[[nodiscard]] std::int64_t exhaustiveSize(const SearchSettings& settings, int numLayers);
inline constexpr std::int64_t kMostExhaustive = 1'000'000;  ///< curves that an exhaustive search may have

/// Descents along the slope of the loss (gradient_descent.h). Our defaults.
struct GradientSettings {
    int starts = 1;     ///< optimizer Gradient: descents side by side
    int refined = 0;    ///< optimizer Genetic: best individuals that a descent takes on in every generation; in the
                        ///< first, known curves
    int steps = 6;      ///< that a descent takes between two evaluations
    int items = 3;      ///< search items, each at all its positions, that a step looks at
    double rate = 0.2;  ///< longest step: root mean square over the genes, in units of scale
};

/// Everything that decides a search besides the fitness. Two searches with equal settings and equal fitness values have
/// equal histories, whatever the number of workers and however often they were interrupted (methods.md §2).
struct SearchSettings {
    std::uint64_t seed = 1;
    OptimizerKind optimizer = OptimizerKind::Genetic;
    int population = 32;                     ///< ≥ 4; the first population is generation 0
    int maxGenerations = 12;                 ///< bred generations, ≥ 0
    std::optional<std::int64_t> maxEvals;    ///< distinct candidates evaluated, failures included
    std::optional<double> timeLimitSeconds;  ///< working time, earlier parts of a resumed run counted in
    std::optional<double> target;            ///< best fitness at which the search ends
    std::optional<int> patience;             ///< generations without a gain above minDelta before the search ends
    double minDelta = 0.0;
    /// A gain has to exceed its own noise as well: the standard error of the mean difference over the search items
    /// between the best and the one that patience was last reset by (Fitness::items).
    bool aboveNoise = false;
    curve::CurveKind curve = curve::CurveKind::Bezier;
    int points = 4;  ///< control points; ignored for Free, which has one per layer
    /// What a scale belongs to besides its layer. Each of the G groups has a curve of its own, all of one kind and
    /// within the same constraints.
    curve::ScaleGroups groups;
    curve::Constraints constraints;
    double mutationRate = 0.3;  ///< per coordinate
    double maxDx = 0.125;
    double maxDy = 0.2;
    int maxConsecutiveFailures = 5;
    int duplicateRetries = 20;
    /// A candidate with an earlier one's scales shares its evaluation. Otherwise it is evaluated again and still shares
    /// it, so that no value depends on this.
    bool memo = true;
    GradientSettings gradient;
    /// Probability at most with which a look wrongly gives up a candidate that is no worse than the last that is kept
    /// (racing.h); the looks of a race share it. Unset: every candidate sees all items.
    std::optional<double> racing;
    /// NSGA-II in place of one fitness (pareto.h), with the optimizer Genetic; empty: the fitness decides.
    std::vector<Objective> objectives;
};

/// Candidates of a generation: a population in the first one, then what is left of it when the better half, rounded up,
/// stays; of descents one each. Exhaustive: the most there are.
[[nodiscard]] int candidatesOf(const SearchSettings& settings, int generation);
/// Descents that lead to a generation, at most. Those of the optimizer Gradient begin at the candidates of its first.
[[nodiscard]] int descentsOf(const SearchSettings& settings, int generation);
/// Those that lead to it and to all before it.
[[nodiscard]] int descentsUpTo(const SearchSettings& settings, int generation);

/// An option that a search with these settings does not look at, why, and with what it would.
struct UnusedOption {
    std::string key;     ///< "max_dx", as settings are stored
    std::string option;  ///< "--max-dx"
    std::string where;   ///< "with --optimizer cma-es", "without --patience"
    std::string usedBy;  ///< "--optimizer genetic"
};
[[nodiscard]] std::vector<UnusedOption> unusedOptions(const SearchSettings& settings);

/// Usage with the setting's command-line name, its value and the allowed range. thread-safe.
[[nodiscard]] Result<void> checkSettings(const SearchSettings& settings, int numLayers);

}  // namespace lpes::search
