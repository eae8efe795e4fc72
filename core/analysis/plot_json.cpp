#include "core/analysis/plot_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace lpes::analysis {
namespace {

using Json = nlohmann::json;

const char* roleName(SeriesRole role) {
    switch (role) {
        case SeriesRole::Baseline:
            return "baseline";
        case SeriesRole::Current:
            return "current";
        case SeriesRole::Best:
            return "best";
        case SeriesRole::Other:
            return "other";
    }
    return "other";
}

// Infinities would be written as null as well; made explicit so that comparing two documents in memory works too.
Json number(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json numbers(const std::vector<double>& values) {
    Json out = Json::array();
    for (const double value : values) out.push_back(number(value));
    return out;
}

Json points(const std::vector<std::pair<double, double>>& values) {
    Json out = Json::array();
    for (const auto& [x, y] : values) out.push_back(Json::array({number(x), number(y)}));
    return out;
}

Json estimate(const Estimate& e) {
    return Json::array({number(e.value), number(e.low), number(e.high)});
}

template <class T, class Write>
Json list(const std::vector<T>& values, Write write) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(write(value));
    return out;
}

Json write(const CurvePlot& plot) {
    return {{"kind", "curve"},
            {"trained_context", plot.trainedContext},
            {"scale_min", plot.scaleMin},
            {"scale_max", plot.scaleMax},
            {"grid_step", plot.gridStep},
            {"series", list(plot.series, [](const CurvePlot::Series& s) {
                 return Json{{"name", s.name},
                             {"role", roleName(s.role)},
                             {"scales", numbers(s.scales)},
                             {"control_points", points(s.controlPoints)},
                             {"line", points(s.line)},
                             {"low", numbers(s.low)},
                             {"high", numbers(s.high)}};
             })}};
}

Json write(const AccuracyPlot& plot) {
    const auto point = [](const AccuracyPlot::Point& p) {
        return Json{{"label", p.label}, {"relative", number(p.relative)},   {"gold_index", p.goldIndex},
                    {"n", p.n},         {"accuracy", estimate(p.accuracy)}, {"answer_nll", estimate(p.answerNll)}};
    };
    return {{"kind", "accuracy"},
            {"series", list(plot.series, [&](const AccuracyPlot::Series& s) {
                 return Json{{"name", s.name}, {"role", roleName(s.role)}, {"points", list(s.points, point)}};
             })}};
}

Json write(const ConvergencePlot& plot) {
    const auto generation = [](const ConvergencePlot::Generation& g) {
        return Json{{"generation", g.generation},
                    {"best", number(g.best)},
                    {"mean", number(g.mean)},
                    {"worst", number(g.worst)},
                    {"diversity", number(g.diversity)}};
    };
    return {{"kind", "convergence"},
            {"fitness_label", plot.fitnessLabel},
            {"generations", list(plot.generations, generation)},
            {"candidates", list(plot.candidates,
                                [](const std::pair<int, double>& c) {
                                    return Json::array({c.first, number(c.second)});
                                })},
            {"baseline_fitness", number(plot.baselineFitness)},
            {"has_baseline", plot.hasBaseline}};
}

Json write(const ProgressPlot& plot) {
    const auto step = [](const ProgressPlot::Step& s) {
        return Json::array({number(s.x), number(s.mean), number(s.low), number(s.high)});
    };
    return {{"kind", "progress"},
            {"fitness_label", plot.fitnessLabel},
            {"baseline_fitness", number(plot.baselineFitness)},
            {"series", list(plot.series, [&](const ProgressPlot::Series& s) {
                 return Json{{"name", s.name},
                             {"role", roleName(s.role)},
                             {"searches", s.searches},
                             {"by_generation", list(s.byGeneration, step)},
                             {"by_prompts", list(s.byPrompts, step)}};
             })}};
}

Json write(const AttentionPlot& plot) {
    const auto position = [](const AttentionPlot::Position& p) {
        return Json{{"label", p.label},
                    {"gold_index", p.goldIndex},
                    {"share", numbers(p.share)},
                    {"mean_per_token", numbers(p.meanPerToken)},
                    {"share_by_layer", list(p.shareByLayer, numbers)}};
    };
    return {{"kind", "attention"},
            {"series", list(plot.series, [&](const AttentionPlot::Series& s) {
                 return Json{{"name", s.name}, {"role", roleName(s.role)}, {"positions", list(s.positions, position)}};
             })}};
}

Json write(const DeviationPlot& plot) {
    return {{"kind", "deviation"}, {"series", list(plot.series, [](const DeviationPlot::Series& s) {
                                        return Json{{"name", s.name},
                                                    {"role", roleName(s.role)},
                                                    {"deviation", numbers(s.deviation)},
                                                    {"low", numbers(s.low)},
                                                    {"high", numbers(s.high)}};
                                    })}};
}

Json write(const SensitivityPlot& plot) {
    const auto row = [](const SensitivityPlot::Row& r) {
        return Json{{"label", r.label}, {"slope", numbers(r.slope)}};
    };
    return {
        {"kind", "sensitivity"},
        {"series", list(plot.series, [&](const SensitivityPlot::Series& s) {
             return Json{{"name", s.name}, {"role", roleName(s.role)}, {"rows", list(s.rows, row)}, {"items", s.items}};
         })}};
}

Json write(const ParetoPlot& plot) {
    return {{"kind", "pareto"},
            {"x_label", plot.xLabel},
            {"y_label", plot.yLabel},
            {"color_label", plot.colorLabel},
            {"members", list(plot.members,
                             [](const ParetoPlot::Member& m) {
                                 return Json{{"x", number(m.x)},   {"y", number(m.y)},   {"color", number(m.color)},
                                             {"number", m.number}, {"picked", m.picked}, {"baseline", m.baseline}};
                             })},
            {"generations", list(plot.generations, [](const ParetoPlot::Generation& g) {
                 return Json{
                     {"generation", g.generation}, {"front_size", g.frontSize}, {"hypervolume", number(g.hypervolume)}};
             })}};
}

Json write(const LossPlot& plot) {
    return {{"kind", "loss"},
            {"steps", list(plot.steps, [](const LossPlot::Step& s) {
                 return Json{
                     {"step", s.step},         {"lm_loss", number(s.lmLoss)},     {"aux_loss", number(s.auxLoss)},
                     {"loss", number(s.loss)}, {"grad_norm", number(s.gradNorm)}, {"tokens", s.tokens}};
             })}};
}

Json write(const MethodsPlot& plot) {
    return {{"kind", "methods"}, {"methods", list(plot.methods, [](const MethodsPlot::Method& m) {
                                      return Json{{"name", m.name},
                                                  {"role", roleName(m.role)},
                                                  {"accuracy", estimate(m.accuracy)},
                                                  {"gap", estimate(m.gap)},
                                                  {"answer_nll", estimate(m.answerNll)},
                                                  {"nll_difference", estimate(m.nllDifference)},
                                                  {"p_value", number(m.pValue)},
                                                  {"p_holm", number(m.pHolm)},
                                                  {"score_difference", estimate(m.scoreDifference)},
                                                  {"score_p_holm", number(m.scoreHolm)},
                                                  {"mcnemar_holm", numbers(m.mcnemarHolm)},
                                                  {"time_ratio", estimate(m.timeRatio)},
                                                  {"tokens_per_second", number(m.tokensPerSecond)},
                                                  {"peak_bytes", number(m.peakBytes)},
                                                  {"passes", m.passes},
                                                  {"attentions_per_layer", m.attentionsPerLayer},
                                                  {"verdict", m.verdict},
                                                  {"bias", m.bias},
                                                  {"guardrail", m.guardrail},
                                                  {"guardrail_reason", m.guardrailReason},
                                                  {"guardrail_detail", m.guardrailDetail},
                                                  {"perplexity_ratio", number(m.perplexityRatio)},
                                                  {"searched_items", m.searchedItems},
                                                  {"all_items", m.allItems}};
                                  })}};
}

}  // namespace

Json toJson(const PlotData& data) {
    return std::visit(
        [](const auto& plot) {
            Json json = write(plot);
            json["title"] = plot.title;
            json["subtitle"] = plot.subtitle;
            return json;
        },
        data);
}

}  // namespace lpes::analysis
