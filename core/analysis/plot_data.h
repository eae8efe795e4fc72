#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

/// What the plots show, as plain values: read from the data base by core/studies, drawn by widgets/plots, written as
/// CSV by core/analysis/plot_csv.h. No plot computes anything itself.
namespace lpes::analysis {

/// Decides colour and dash, never by colour alone (ui.md): baseline grey, current blue, best vermillion.
enum class SeriesRole { Baseline, Current, Best, Other };

/// A figure that was measured with its 95 % interval. NaN: not measured, or too few items for an interval.
struct Estimate {
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    double value = kUnknown, low = kUnknown, high = kUnknown;
};

struct CurvePlot {
    std::string title;     ///< what it shows
    std::string subtitle;  ///< model, task, items, run
    struct Series {
        std::string name;
        SeriesRole role = SeriesRole::Current;
        std::vector<double> scales;  ///< [L], the values really used
        std::vector<std::pair<double, double>>
            controlPoints;                            ///< (relative depth, scale); empty when there is no curve
        std::vector<std::pair<double, double>> line;  ///< the curve itself, finely sampled; may be empty
        /// [L] smallest and largest of several profiles of which `scales` is the mean; empty for one profile.
        std::vector<double> low = {}, high = {};
    };
    std::vector<Series> series;
    int trainedContext = 0;
    double scaleMin = 0.5, scaleMax = 2.5, gridStep = 0.0;  ///< gridStep 0: no grid
};

struct AccuracyPlot {
    std::string title, subtitle;
    struct Point {
        std::string label;      ///< position as the user wrote it
        double relative = 0.0;  ///< 0 … 1
        int goldIndex = 0;
        std::int64_t n = 0;
        Estimate accuracy;
        Estimate answerNll;  ///< nats per token; its interval is not drawn of a run that is under way
    };
    struct Series {
        std::string name;
        SeriesRole role = SeriesRole::Current;
        std::vector<Point> points;
    };
    std::vector<Series> series;
};

struct ConvergencePlot {
    std::string title, subtitle;
    std::string fitnessLabel;  ///< axis label with unit ("mean log-likelihood of the answer (nats per token)")
    struct Generation {
        int generation = 0;
        double best = 0.0, mean = 0.0, worst = 0.0, diversity = 0.0;
    };
    std::vector<Generation> generations;
    std::vector<std::pair<int, double>> candidates;  ///< (generation, fitness) of every evaluated candidate
    double baselineFitness = 0.0;
    bool hasBaseline = false;
};

/// Several searches: the best fitness so far over generations, and over the prompts that it cost.
struct ProgressPlot {
    std::string title, subtitle;
    std::string fitnessLabel;  ///< as in ConvergencePlot
    struct Step {
        double x = 0.0;                            ///< generation, or prompts
        double mean = 0.0, low = 0.0, high = 0.0;  ///< over the searches of a series
    };
    struct Series {
        std::string name;
        SeriesRole role = SeriesRole::Other;
        std::int64_t searches = 1;
        std::vector<Step> byGeneration, byPrompts;
    };
    std::vector<Series> series;
    double baselineFitness = std::numeric_limits<double>::quiet_NaN();  ///< NaN: not known, or not the same for all
};

/// Attention of the last prompt token, or of all of them, on each record, for each evidence position; the title says
/// whose.
struct AttentionPlot {
    std::string title, subtitle;
    struct Position {
        std::string label;
        int goldIndex = 0;
        std::vector<double> share, meanPerToken;        ///< [records], mean over layers
        std::vector<std::vector<double>> shareByLayer;  ///< [L][records]
    };
    struct Series {
        std::string name;
        SeriesRole role = SeriesRole::Current;
        std::vector<Position> positions;
    };
    std::vector<Series> series;
};

struct DeviationPlot {
    std::string title, subtitle;
    struct Series {
        std::string name;  ///< "smooth", "noisy", "shuffled"
        SeriesRole role = SeriesRole::Current;
        std::vector<double> deviation, low, high;  ///< [L], mean over prompts with a bootstrap interval
    };
    std::vector<Series> series;
};

/// How the likelihood of the answer hangs on the scale of every layer, by where its evidence stands.
struct SensitivityPlot {
    std::string title, subtitle;
    struct Row {
        std::string label;          ///< position as the user wrote it
        std::vector<double> slope;  ///< [L] ∂(mean answer NLL)/∂scale, nats per token; negative: a larger scale helps
    };
    struct Series {
        std::string name;  ///< the scales that were differentiated at: "baseline", "best profile"
        SeriesRole role = SeriesRole::Current;
        std::vector<Row> rows;
        std::int64_t items = 0;
    };
    std::vector<Series> series;
};

/// Several methods on the same items. What was not measured is NaN.
struct MethodsPlot {
    static constexpr double kUnknown = Estimate::kUnknown;
    std::string title, subtitle;
    struct Method {
        std::string name;  ///< its spelling
        SeriesRole role = SeriesRole::Other;
        Estimate accuracy;                                ///< mean over positions
        Estimate gap;                                     ///< best minus worst position
        Estimate answerNll;                               ///< nats per token, mean over positions
        Estimate nllDifference;                           ///< to the first method; NaN for the first
        double pValue = kUnknown;                         ///< of that difference; unknown below 10 items
        double pHolm = kUnknown;                          ///< the same adjusted over the methods, by Holm's method
        Estimate scoreDifference;                         ///< mean score, to the first method; NaN for the first
        double scoreHolm = kUnknown;                      ///< p of that difference, adjusted
        std::vector<double> mcnemarHolm;                  ///< [positions] of McNemar's exact tests, adjusted; or empty
        Estimate timeRatio;                               ///< to the first method; NaN for the first
        double tokensPerSecond = kUnknown;                ///< read, not decoded
        double peakBytes = kUnknown;                      ///< beside the loaded weights
        std::int64_t passes = 1, attentionsPerLayer = 1;  ///< per prompt
        std::string verdict;                              ///< in words; empty for the first
        std::string bias;                                 ///< verdict on position bias; empty: one position only
        std::string guardrail;                            ///< "green", "amber", "red"; empty: was not measured
        std::string guardrailReason;                      ///< one sentence
        std::string guardrailDetail;                      ///< perplexity and exams, a line each
        double perplexityRatio = kUnknown;                ///< of short contexts, to the first method
        std::int64_t searchedItems = 0, allItems = 0;     ///< how many of the items its profile was searched on
    };
    std::vector<Method> methods;  ///< the first is what the others are compared with
};

/// Several objectives at once: the candidates of a search by two of them, a third as colour, and how the front of those
/// that no other dominates grew.
struct ParetoPlot {
    std::string title, subtitle;
    std::string xLabel, yLabel, colorLabel;  ///< objectives, larger is better; no colour: there are two
    struct Member {
        double x = 0.0, y = 0.0, color = 0.0;  ///< color 0 where there are two objectives
        std::int64_t number = 0;               ///< in the front, from 1; 0: another candidate dominates it
        bool picked = false, baseline = false;
    };
    std::vector<Member> members;
    struct Generation {
        int generation = 0;
        std::int64_t frontSize = 0;
        double hypervolume = 0.0;  ///< over the worst of each objective in the first generation
    };
    std::vector<Generation> generations;
};

/// The loss curve of a training.
struct LossPlot {
    std::string title, subtitle;
    struct Step {
        int step = 0;             ///< 1 …
        double lmLoss = 0.0;      ///< nats per token, mean over the step's sequences
        double auxLoss = 0.0;     ///< without its coefficient
        double loss = 0.0;        ///< what is trained on: both together
        double gradNorm = 0.0;    ///< before it is shortened
        std::int64_t tokens = 0;  ///< of the step's sequences
    };
    std::vector<Step> steps;
};

using PlotData = std::variant<CurvePlot, AccuracyPlot, ConvergencePlot, AttentionPlot, DeviationPlot, SensitivityPlot,
                              MethodsPlot, ProgressPlot, ParetoPlot, LossPlot>;

}  // namespace lpes::analysis
