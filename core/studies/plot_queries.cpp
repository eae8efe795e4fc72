#include "core/studies/plot_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/curve/scale_curve.h"
#include "core/rope/rope_config.h"
#include "core/studies/run_settings.h"
#include "core/studies/run_view.h"
#include "core/studies/study_summary.h"

namespace lpes::studies {

namespace {

using analysis::SeriesRole;
using nlohmann::json;

std::vector<std::pair<double, double>> pairsOf(const json& points) {
    std::vector<std::pair<double, double>> out;
    if (!points.is_array()) return out;
    for (const json& point : points) {
        const std::vector<double> xy = numbers(point);
        if (xy.size() == 2) out.emplace_back(xy[0], xy[1]);
    }
    return out;
}

/// One group's share of points that are an array for each group, or all groups' one after another.
std::vector<std::pair<double, double>> pointsOfGroup(const json& points, int groups, int group) {
    const bool nested = points.is_array() && !points.empty() && points.front().is_array() && !points.front().empty() &&
                        points.front().front().is_array();
    const auto index = static_cast<std::size_t>(group);
    if (nested) return index < points.size() ? pairsOf(points[index]) : std::vector<std::pair<double, double>>{};
    const auto all = pairsOf(points);
    const std::size_t size = all.size() / static_cast<std::size_t>(groups);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(index * size);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
}

/// Control points and the curve itself, finely sampled without the grid.
void addCurve(analysis::CurvePlot::Series& series, const std::vector<std::pair<double, double>>& points,
              const std::string& kindName) {
    const auto kind = curve::parseCurveKind(kindName);
    if (!kind || points.empty()) return;
    std::vector<curve::ControlPoint> controls;
    for (const auto& [x, y] : points) controls.push_back({x, y});
    const auto made = curve::ScaleCurve::make(*kind, controls, {rope::kMinScale, rope::kMaxScale, std::nullopt});
    if (!made) return;
    series.controlPoints = points;
    constexpr int kSamples = 200;
    for (int i = 0; i <= kSamples; ++i) {
        const double depth = static_cast<double>(i) / kSamples;
        series.line.emplace_back(depth, made->at(depth));
    }
}

/// A series for the scales of a search's candidate, or one for each head or band.
void addSearched(analysis::CurvePlot& plot, const RunView& view, const std::string& name,
                 const std::vector<double>& scales, const json& points) {
    const curve::ScaleGroups groups = groupsOf(view.settings, scales.size(), view.model.layers);
    const std::string kind = settingOr<std::string>(view.settings, "curve", "bezier");
    if (!groups.perLayer()) {
        const bool heads = groups.kind == curve::ScaleGroups::Kind::KvHead;
        plot.title = fmt::format("Scale per layer and {}, {}", heads ? "key/value head" : "band of frequencies", name);
    }
    for (int group = 0; group < groups.count(); ++group) {
        analysis::CurvePlot::Series series{name, SeriesRole::Best, {}, {}, {}};
        if (!groups.perLayer()) {
            series.name = curve::groupName(groups, group);
            series.role = SeriesRole::Other;
        }
        series.scales = curve::scalesOfGroup(scales, groups.count(), group);
        addCurve(series, pointsOfGroup(points, groups.count(), group), kind);
        plot.series.push_back(std::move(series));
    }
}

Result<analysis::PlotData> curvePlot(store::StoreReader& store, const RunView& view) {
    analysis::CurvePlot plot;
    plot.title = "Scale per layer";
    plot.subtitle = view.subtitle(0);
    plot.trainedContext = view.model.contextLength;
    plot.scaleMin = settingOr(view.settings, "scale_min", plot.scaleMin);
    plot.scaleMax = settingOr(view.settings, "scale_max", plot.scaleMax);
    plot.gridStep = settingOr(view.settings, "grid_step", 0.0);
    if (view.run.kind == "search") {
        std::string name = "best profile";
        std::vector<double> scales;
        json points;
        if (view.bestVariant) {
            const json& searched = view.result.at("best");
            scales = scalesOf(searched);
            points = searched.value("control_points", json());
        } else {
            auto best = bestCandidate(store, view.run.id);
            if (!best) return fail(best.error());
            if (!*best) return noData(view, "curve", "no candidate has been evaluated yet");
            const auto it = std::ranges::find(view.variants, (*best)->variantId, &store::VariantRow::id);
            if (it != view.variants.end()) scales = it->scales;
            name = "best so far";
            points = json::parse((*best)->pointsJson, nullptr, false);
        }
        addSearched(plot, view, name, scales, points);
        return plot;
    }
    for (const store::VariantRow& variant : view.variants) {
        if (!variant.scales.empty())
            plot.series.push_back({view.name(variant), view.role(variant), variant.scales, {}, {}});
    }
    if (plot.series.empty()) return noData(view, "curve", "its method has no scale per layer");
    return plot;
}

Result<analysis::PlotData> convergencePlot(store::StoreReader& store, const RunView& view) {
    if (view.run.kind != "search") return noData(view, "convergence", "it is not a search");
    auto generations = store.generations(view.run.id);
    if (!generations) return fail(generations.error());
    auto candidates = store.candidates(view.run.id);
    if (!candidates) return fail(candidates.error());
    analysis::ConvergencePlot plot;
    plot.title = "Fitness by generation";
    plot.subtitle = view.subtitle(settingOr<std::int64_t>(view.settings, "search_items", 0));
    plot.fitnessLabel = fitnessLabel(settingOr<std::string>(view.settings, "score", "nll"));
    for (const store::GenerationRow& row : *generations) {
        plot.generations.push_back({row.generation, row.best, row.mean, row.worst, row.diversity});
    }
    for (const store::CandidateRow& row : *candidates) {
        if (row.state != store::CandidateRow::State::Evaluated) continue;
        plot.candidates.emplace_back(row.generation, row.fitness);
        // All 1.0 gives the bits of the baseline, so its fitness is the baseline's.
        const auto it = std::ranges::find(view.variants, row.variantId, &store::VariantRow::id);
        if (it != view.variants.end() && changesNothing(*it)) {
            plot.baselineFitness = row.fitness;
            plot.hasBaseline = true;
        }
    }
    if (plot.candidates.empty()) return noData(view, "convergence", "no candidate has been evaluated yet");
    return plot;
}

/// A search measures what it found when it is through.
const char* notMeasured(const RunView& view, const char* otherwise) {
    const bool under = view.run.kind == "search" && view.run.state != store::RunState::Finished;
    return under ? "it is measured at the end of the search" : otherwise;
}

Result<analysis::PlotData> attentionPlot(store::StoreReader& store, const RunView& view) {
    auto rows = store.attention(view.run.id);
    if (!rows) return fail(rows.error());
    analysis::AttentionPlot plot;
    const bool ofAll = settingOr<std::string>(view.settings, "queries", "last") == "all";
    plot.title = ofAll ? "Attention of all prompt tokens by record" : "Attention of the last prompt token by record";
    plot.subtitle = view.subtitle(0);
    const std::string positions = settingOr<std::string>(view.settings, "positions", "");
    for (const store::VariantRow& variant : view.variants) {
        std::map<int, analysis::AttentionPlot::Position> byPosition;
        for (const store::AttentionRow& row : *rows) {
            if (row.variantId != variant.id || row.position < 0 || row.span < 0) continue;
            analysis::AttentionPlot::Position& position = byPosition[row.position];
            position.label = row.label;
            const auto span = static_cast<std::size_t>(row.span);
            const auto grow = [span](std::vector<double>& values) {
                if (values.size() <= span) values.resize(span + 1, 0.0);
            };
            if (row.layer < 0) {
                grow(position.share);
                grow(position.meanPerToken);
                position.share[span] = row.share;
                position.meanPerToken[span] = row.meanPerToken;
            } else {
                const auto layer = static_cast<std::size_t>(row.layer);
                if (position.shareByLayer.size() <= layer) position.shareByLayer.resize(layer + 1);
                grow(position.shareByLayer[layer]);
                position.shareByLayer[layer][span] = row.share;
            }
        }
        if (byPosition.empty()) continue;
        analysis::AttentionPlot::Series series{view.name(variant), view.role(variant), {}};
        for (auto& [ordinal, position] : byPosition) {
            const auto specs = tasks::parsePositions(positions);
            if (specs && static_cast<std::size_t>(ordinal) < specs->size()) {
                const auto gold =
                    (*specs)[static_cast<std::size_t>(ordinal)].goldIndex(static_cast<int>(position.share.size()));
                if (gold) position.goldIndex = *gold;
            }
            series.positions.push_back(std::move(position));
        }
        plot.series.push_back(std::move(series));
    }
    if (plot.series.empty())
        return noData(view, "attention", notMeasured(view, "attention was not measured; run 'lpes attn'"));
    return plot;
}

Result<analysis::PlotData> deviationPlot(store::StoreReader& store, const RunView& view) {
    auto rows = store.deviations(view.run.id);
    if (!rows) return fail(rows.error());
    analysis::DeviationPlot plot;
    plot.title = "Representation structure deviation by layer (1 − CKA)";
    std::int64_t prompts = 0;
    for (const store::VariantRow& variant : view.variants) {
        analysis::DeviationPlot::Series series{variant.name, SeriesRole::Other, {}, {}, {}};
        if (variant.name.starts_with("smooth") || view.bestVariant == variant.id) {
            series.role = SeriesRole::Best;
            if (variant.name == "candidate") series.name = "smooth";
        }
        for (const store::DeviationRow& row : *rows) {
            if (row.variantId != variant.id) continue;
            series.deviation.push_back(row.deviation);
            series.low.push_back(row.ciLow);
            series.high.push_back(row.ciHigh);
            prompts = std::max(prompts, row.prompts);
        }
        if (!series.deviation.empty()) plot.series.push_back(std::move(series));
    }
    if (plot.series.empty())
        return noData(view, "deviation", notMeasured(view, "deviation was not measured; run 'lpes deviation'"));
    plot.subtitle = fmt::format("{} · {} prompts", view.subtitle(0), prompts);
    return plot;
}

Result<analysis::PlotData> lossPlot(store::StoreReader& store, const RunView& view) {
    if (view.run.kind != "train") return noData(view, "loss", "it is not a training");
    auto steps = store.trainingSteps(view.run.id);
    if (!steps) return fail(steps.error());
    if (steps->empty()) return noData(view, "loss", "no step has been done yet");
    analysis::LossPlot plot;
    plot.title = "Loss by step";
    plot.subtitle = view.subtitle(0);
    for (const store::TrainingStepRow& row : *steps)
        plot.steps.push_back({row.step, row.lmLoss, row.auxLoss, row.loss, row.gradNorm, row.tokens});
    return plot;
}

Result<analysis::PlotData> plotOf(store::StoreReader& store, const RunView& view, const std::string& kind) {
    if (view.run.kind == "study") {
        if (kind == "curve") return studyCurves(store, view);
        if (kind == "convergence") return studyConvergence(store, view);
        if (kind == "methods") return studyScores(store, view);
    }
    if (kind == "curve") return curvePlot(store, view);
    if (kind == "accuracy") return accuracyPlot(store, view);
    if (kind == "convergence") return convergencePlot(store, view);
    if (kind == "attention") return attentionPlot(store, view);
    if (kind == "deviation") return deviationPlot(store, view);
    if (kind == "sensitivity") return sensitivityPlot(store, view);
    if (kind == "pareto") return paretoPlot(store, view);
    if (kind == "loss") return lossPlot(store, view);
    if (kind == "methods") return methodsPlot(store, view);
    return fail(ErrorCode::Usage, fmt::format("unknown plot '{}'; available: {}", kind, fmt::join(kPlotKinds, ", ")));
}

}  // namespace

std::string fitnessLabel(const std::string& score) {
    if (score == "nll") return "mean log-likelihood of the answer (nats per token)";
    if (score.starts_with("blend")) return fmt::format("accuracy plus weighted log-likelihood ({})", score);
    return "weighted accuracy";
}

Result<std::vector<Result<analysis::PlotData>>> allPlots(store::StoreReader& store, const store::RunRow& run) {
    auto view = viewOf(store, run);
    if (!view) return fail(view.error());
    std::vector<Result<analysis::PlotData>> plots;
    for (const char* kind : kPlotKinds) {
        auto plot = plotOf(store, *view, kind);
        if (!plot && plot.error().code == ErrorCode::Database) return fail(plot.error());
        plots.push_back(std::move(plot));
    }
    return plots;
}

Result<std::vector<std::string>> availablePlots(store::StoreReader& store, const store::RunRow& run) {
    auto plots = allPlots(store, run);
    if (!plots) return fail(plots.error());
    std::vector<std::string> kinds;
    for (std::size_t kind = 0; kind < kPlotKinds.size(); ++kind) {
        if ((*plots)[kind]) kinds.emplace_back(kPlotKinds[kind]);
    }
    return kinds;
}

Result<analysis::PlotData> plotData(store::StoreReader& store, const store::RunRow& run, const std::string& kind) {
    auto view = viewOf(store, run);
    if (!view) return fail(view.error());
    return plotOf(store, *view, kind);
}

Result<store::RunRow> findRun(store::StoreReader& store, const std::string& name) {
    if (name == "last") return store.lastRun();
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc{} || end != name.data() + name.size() || id < 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("'{}' is no run; give its number from 'lpes db list', or 'last'", name));
    }
    return store.run(id);
}

}  // namespace lpes::studies
