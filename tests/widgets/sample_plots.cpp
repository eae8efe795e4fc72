#include "tests/widgets/sample_plots.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lpes::test {
namespace {

using analysis::SeriesRole;
constexpr int kLayers = 30;

std::string subtitle() {
    return "SmolLM2-135M · key-value retrieval, 40 records · 40 report items · run 7";
}

}  // namespace

analysis::CurvePlot curvePlot() {
    analysis::CurvePlot plot{"Scale by layer", subtitle(), {}, 2048, 0.5, 2.5, 0.05};
    plot.series.push_back({"baseline", SeriesRole::Baseline, std::vector<double>(kLayers, 1.0), {}, {}});
    analysis::CurvePlot::Series best{
        "best of run 7", SeriesRole::Best, {}, {{0, 1.55}, {1.0 / 3, 1.2}, {2.0 / 3, 0.85}, {1, 0.5}}, {}};
    for (int layer = 0; layer < kLayers; ++layer) best.scales.push_back(1.55 - 1.05 * layer / (kLayers - 1));
    for (int i = 0; i <= 100; ++i) best.line.emplace_back(i / 100.0, 1.55 - 1.05 * i / 100.0);
    plot.series.push_back(best);
    return plot;
}

analysis::AccuracyPlot accuracyPlot() {
    analysis::AccuracyPlot plot{"Accuracy by evidence position", subtitle(), {}};
    plot.series.push_back({"baseline",
                           SeriesRole::Baseline,
                           {{"start", 0.0, 0, 40, {0.45, 0.31, 0.60}, {1.167, 0.98, 1.36}},
                            {"middle", 0.5, 19, 40, {0.10, 0.04, 0.23}, {1.823, 1.6, 2.05}},
                            {"end", 1.0, 39, 40, {0.10, 0.04, 0.23}, {2.051, 1.83, 2.28}}}});
    plot.series.push_back({"best of run 7",
                           SeriesRole::Best,
                           {{"start", 0.0, 0, 40, {0.55, 0.40, 0.69}, {0.996}},
                            {"middle", 0.5, 19, 40, {0.225, 0.12, 0.38}, {1.585}},
                            {"end", 1.0, 39, 40, {0.20, 0.11, 0.35}, {1.629}}}});
    return plot;
}

analysis::ConvergencePlot convergencePlot() {
    analysis::ConvergencePlot plot{
        "Convergence", subtitle(), "mean log-likelihood of the answer (nats per token)", {}, {}, -1.68, true};
    for (int g = 0; g < 8; ++g) {
        const double best = -1.6 + 0.03 * g;
        plot.generations.push_back({g, best, best - 0.2, best - 0.5, 0.4 * std::exp(-0.3 * g)});
        for (int i = 0; i < 6; ++i) plot.candidates.emplace_back(g, best - 0.08 * i);
    }
    return plot;
}

analysis::ProgressPlot progressPlot() {
    analysis::ProgressPlot plot{
        "Best fitness so far", subtitle(), "mean log-likelihood of the answer (nats per token)", {}, -1.68};
    for (const auto& [name, gain] :
         {std::pair{"genetic", 0.05}, std::pair{"random", 0.02}, std::pair{"cma-es", 0.04}}) {
        analysis::ProgressPlot::Series series{name, SeriesRole::Other, 3, {}, {}};
        for (int g = 0; g < 8; ++g) {
            const double best = -1.62 + gain * std::sqrt(g);
            series.byGeneration.push_back({static_cast<double>(g), best, best - 0.01, best + 0.015});
            series.byPrompts.push_back({384.0 + 192.0 * g, best, best - 0.01, best + 0.015});
        }
        plot.series.push_back(std::move(series));
    }
    return plot;
}

analysis::AttentionPlot attentionPlot() {
    analysis::AttentionPlot plot{"Attention on each record", subtitle(), {}};
    constexpr int kRecords = 20;
    for (const auto& [name, role, gain] :
         {std::tuple{"baseline", SeriesRole::Baseline, 1.0}, {"best", SeriesRole::Best, 1.7}}) {
        analysis::AttentionPlot::Series series{name, role, {}};
        for (const auto& [label, gold] : {std::pair{"start", 0}, {"middle", 9}, {"end", 19}}) {
            analysis::AttentionPlot::Position position{label, gold, std::vector<double>(kRecords, 0.0), {}, {}};
            for (int layer = 0; layer < kLayers; ++layer) {
                std::vector<double> row;
                for (int record = 0; record < kRecords; ++record) {
                    const double peak = record == gold ? 0.1 * gain * std::exp(-std::pow((layer - 18) / 4.0, 2)) : 0.0;
                    row.push_back(0.003 + 0.02 * std::exp(-(kRecords - 1 - record) / 3.0) + peak);
                    position.share[static_cast<std::size_t>(record)] += row.back() / kLayers;
                }
                position.shareByLayer.push_back(row);
            }
            for (const double share : position.share) position.meanPerToken.push_back(share / 20.0);
            series.positions.push_back(position);
        }
        plot.series.push_back(series);
    }
    return plot;
}

analysis::DeviationPlot deviationPlot() {
    analysis::DeviationPlot plot{"Structure deviation", subtitle(), {}};
    for (const auto& [name, role, size] : {std::tuple{"smooth", SeriesRole::Best, 1.0},
                                           {"shuffled", SeriesRole::Other, 3.5},
                                           {"noisy", SeriesRole::Other, 9.0}}) {
        analysis::DeviationPlot::Series series{name, role, {}, {}, {}};
        for (int layer = 0; layer < kLayers; ++layer) {
            const double value = size * (1e-5 + 0.02 * std::pow(layer / 30.0, 3));
            series.deviation.push_back(value);
            series.low.push_back(value * 0.75);
            series.high.push_back(value * 1.3);
        }
        plot.series.push_back(series);
    }
    return plot;
}

analysis::SensitivityPlot sensitivityPlot() {
    analysis::SensitivityPlot plot{"Slope of the answer's likelihood by layer", subtitle(), {}};
    for (const auto& [name, role, size] :
         {std::tuple{"baseline", SeriesRole::Baseline, 1.0}, {"best profile", SeriesRole::Best, 0.3}}) {
        analysis::SensitivityPlot::Series series{name, role, {}, 8};
        for (const auto& [label, phase] : {std::pair{"begin", 0.0}, {"middle", 0.8}, {"end", 1.9}}) {
            analysis::SensitivityPlot::Row row{label, {}};
            for (int layer = 0; layer < kLayers; ++layer)
                row.slope.push_back(size * 0.2 * std::sin(0.3 * layer + phase) *
                                    std::exp(-std::pow((layer - 9) / 8.0, 2)));
            series.rows.push_back(row);
        }
        plot.series.push_back(series);
    }
    return plot;
}

analysis::LossPlot lossPlot() {
    analysis::LossPlot plot{"Loss by step", "SmolLM2-135M · stories.jsonl · run 9", {}};
    for (int step = 1; step <= 7; ++step) {
        const double lm = 2.9 + 0.4 / step;
        plot.steps.push_back({step, lm, 7.2, lm + 0.3 * 7.2, 1.6 / step, 128 * 4608});
    }
    return plot;
}

analysis::ParetoPlot paretoPlot() {
    analysis::ParetoPlot plot{"Objectives of the candidates",
                              subtitle(),
                              "evidence at the ends: mean log-likelihood of the answer (nats per token)",
                              "evidence in the middle: mean log-likelihood of the answer (nats per token)",
                              "log-likelihood of short texts (nats per token)",
                              {},
                              {}};
    for (int i = 0; i < 40; ++i) {
        const double angle = 0.04 * i, radius = i % 4 == 0 ? 1.0 : 0.7 + 0.05 * (i % 5);
        plot.members.push_back({radius * std::cos(angle) - 2.4, radius * std::sin(angle) - 2.6, -3.1 - 0.01 * i,
                                i % 4 == 0 ? i / 4 + 1 : 0, i == 16, i == 1});
    }
    for (int g = 0; g < 8; ++g) plot.generations.push_back({g, 3 + g, 0.4 * (1.0 - std::exp(-0.5 * (g + 1)))});
    return plot;
}

analysis::MethodsPlot methodsPlot(std::size_t count) {
    constexpr const char* kNames[] = {"baseline",
                                      "lpes:profiles/smollm2-135m-instruct-q4_1-kv-retrieval.json",
                                      "pi:1.5",
                                      "ms-poe:min=1.2,max=1.8,variant=code,gqa=first,layers=2-29",
                                      "attention-buckets:bases=10000/18000/25000,combine=logits",
                                      "ntk:2",
                                      "yarn:2",
                                      "uniform:1.05",
                                      "dynamic-ntk:2",
                                      "moice:routers/smollm2.moice,top_k=3",
                                      "lpes:drawn-curve-0123456789abcdef.json",
                                      "ntk:2+uniform:1.1"};
    analysis::MethodsPlot plot{"Methods compared", subtitle(), {}};
    for (std::size_t i = 0; i < count; ++i) {
        const double at = static_cast<double>(i);
        analysis::MethodsPlot::Method one;
        one.name = kNames[i];
        one.role = i == 0 ? SeriesRole::Baseline : i == 1 ? SeriesRole::Best : SeriesRole::Other;
        const double accuracy = i == 2 ? 0.02 : 0.25 + 0.03 * std::sin(at);
        one.accuracy = {accuracy, std::max(0.0, accuracy - 0.07), accuracy + 0.08};
        one.gap = {0.2 + 0.01 * at, 0.1, 0.35 + 0.01 * at};
        one.answerNll = {1.8 - 0.02 * at, 1.7 - 0.02 * at, 1.9 - 0.02 * at};
        one.tokensPerSecond = 900.0 / (1.0 + 0.1 * at);
        one.peakBytes = 8e7 * (1.0 + 0.2 * at);
        one.passes = i == 4 ? 3 : 1;
        if (i > 0) {
            const double difference = i == 2 ? 1.4 : 0.12 * std::cos(at * 1.3);
            one.nllDifference = {difference, difference - 0.05, difference + 0.06};
            one.pValue = std::abs(difference) > 0.06 ? 0.0002 : 0.21;
            one.pHolm = std::min(1.0, static_cast<double>(count - 1) * one.pValue);
            one.scoreDifference = {accuracy - 0.25, accuracy - 0.33, accuracy - 0.18};
            one.scoreHolm = 0.5;
            one.mcnemarHolm = {1.0, 0.25, 1.0};
            one.timeRatio = {1.0 + (i == 4 ? 1.9 : 0.01 * at), 1.0 + (i == 4 ? 1.8 : 0.01 * at - 0.02),
                             1.0 + (i == 4 ? 2.0 : 0.01 * at + 0.02)};
            one.verdict = difference < -0.05 ? "Better than the first" : "No clear difference";
        }
        plot.methods.push_back(one);
    }
    return plot;
}

analysis::AccuracyPlot methodsAccuracyPlot(std::size_t count) {
    analysis::AccuracyPlot plot{"Accuracy by evidence position", subtitle(), {}};
    for (const auto& method : methodsPlot(count).methods) {
        analysis::AccuracyPlot::Series series{method.name, method.role, accuracyPlot().series[0].points};
        for (auto& point : series.points) {
            const double accuracy = std::clamp(point.accuracy.value + method.accuracy.value - 0.2, 0.0, 1.0);
            point.accuracy = {accuracy, std::max(0.0, accuracy - 0.1), std::min(1.0, accuracy + 0.12)};
            const double nll = method.answerNll.value + 0.3 * point.relative;
            point.answerNll = {nll, nll - 0.18, nll + 0.2};
        }
        plot.series.push_back(series);
    }
    return plot;
}

std::vector<analysis::PlotData> allPlots() {
    return {curvePlot(),       accuracyPlot(), convergencePlot(), attentionPlot(), deviationPlot(),
            sensitivityPlot(), methodsPlot(),  progressPlot(),    paretoPlot(),    lossPlot()};
}

std::vector<analysis::PlotData> emptyPlots() {
    return {analysis::CurvePlot{},     analysis::AccuracyPlot{},  analysis::ConvergencePlot{},
            analysis::AttentionPlot{}, analysis::DeviationPlot{}, analysis::SensitivityPlot{},
            analysis::MethodsPlot{},   analysis::ProgressPlot{},  analysis::ParetoPlot{},
            analysis::LossPlot{}};
}

std::vector<analysis::PlotData> brokenPlots() {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
    auto curve = curvePlot();
    curve.series[1].scales[0] = kNaN;
    curve.series[1].scales[7] = kInf;
    curve.series[1].line[3].second = -kInf;
    curve.series[1].controlPoints[1].first = kNaN;
    curve.series[0].scales.clear();
    auto accuracy = accuracyPlot();
    accuracy.series[0].points[0].accuracy.value = kNaN;
    accuracy.series[0].points[1].accuracy.low = -kInf;
    accuracy.series[1].points[1].answerNll.value = kInf;
    accuracy.series[1].points[2].relative = kNaN;
    accuracy.series[0].points[0].answerNll.high = kInf;
    accuracy.series.push_back({"nothing yet", SeriesRole::Other, {}});
    auto convergence = convergencePlot();
    convergence.generations[2] = {2, kNaN, -kInf, -kInf, kInf};
    convergence.candidates[5].second = -kInf;
    convergence.candidates[6].second = kNaN;
    convergence.baselineFitness = kNaN;
    auto attention = attentionPlot();
    attention.series[0].positions[0].shareByLayer[0][0] = kNaN;
    attention.series[0].positions[0].shareByLayer[4][4] = kInf;
    attention.series[0].positions[1].share[3] = -kInf;
    attention.series[1].positions[2].shareByLayer.clear();
    attention.series[1].positions.pop_back();
    auto deviation = deviationPlot();
    deviation.series[0].deviation[5] = kNaN;
    deviation.series[0].low[6] = -kInf;
    deviation.series[1].high[7] = kInf;
    deviation.series[2].deviation[0] = 0.0;
    deviation.series[2].low[0] = -1.0;
    auto methods = methodsPlot();
    methods.methods[0].accuracy.low = -kInf;
    methods.methods[1].nllDifference = {};
    methods.methods[2].timeRatio = {kInf, kNaN, kNaN};
    methods.methods[3].peakBytes = kNaN;
    auto progress = progressPlot();
    progress.series[0].byGeneration[2] = {2.0, kNaN, -kInf, kInf};
    progress.series[1].byPrompts.clear();
    progress.series[2].byPrompts[3].low = -kInf;
    progress.baselineFitness = kNaN;
    auto pareto = paretoPlot();
    pareto.members[0].x = kNaN;
    pareto.members[5].y = -kInf;
    pareto.members[8].color = kNaN;
    pareto.generations[2].hypervolume = kNaN;
    auto loss = lossPlot();
    loss.steps[1].lmLoss = kNaN;
    loss.steps[2].gradNorm = kInf;
    return {curve, accuracy, convergence, attention, deviation, methods, progress, pareto, loss};
}

std::string kindOf(const analysis::PlotData& data) {
    constexpr const char* kNames[] = {"curve",       "accuracy", "convergence", "attention", "deviation",
                                      "sensitivity", "methods",  "progress",    "pareto",    "loss"};
    return kNames[data.index()];
}

TempFolder::TempFolder() {
    static int count = 0;
    m_path = std::filesystem::temp_directory_path() /
             ("lpes-widgets-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(m_path);
}

TempFolder::~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
}

}  // namespace lpes::test
