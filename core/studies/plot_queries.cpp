#include "core/studies/plot_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "core/curve/scale_curve.h"
#include "core/rope/rope_config.h"
#include "core/studies/run_settings.h"

namespace lpes::studies {

namespace {

using analysis::SeriesRole;
using nlohmann::json;

constexpr const char* kKinds[] = {"curve", "accuracy", "convergence", "attention", "deviation"};

/// What every plot of a run says about itself, and which variant plays which role.
struct RunView {
    store::RunRow run;
    store::ModelRow model;
    store::DatasetRow dataset;
    std::vector<store::VariantRow> variants;
    json result;    ///< object, maybe empty
    json settings;  ///< object
    std::optional<std::int64_t> bestVariant;

    [[nodiscard]] std::string subtitle(std::int64_t items) const {
        return fmt::format("{} · {}{} · run {}", model.name, dataset.name,
                           items > 0 ? fmt::format(" · n = {} items", items) : "", run.id);
    }
    [[nodiscard]] SeriesRole role(const store::VariantRow& variant) const {
        if (bestVariant == variant.id) return SeriesRole::Best;
        if (variant.name == "baseline") return SeriesRole::Baseline;
        return run.kind == "search" ? SeriesRole::Other : SeriesRole::Current;
    }
    [[nodiscard]] std::string name(const store::VariantRow& variant) const {
        return bestVariant == variant.id ? "best profile" : variant.name;
    }
};

json parseObject(const std::string& text) {
    json parsed = json::parse(text, nullptr, false);
    return parsed.is_object() ? parsed : json::object();
}

std::vector<double> numbers(const json& array) {
    std::vector<double> out;
    for (const json& value : array) {
        if (value.is_number()) out.push_back(value.get<double>());
    }
    return out;
}

Result<RunView> viewOf(store::StoreReader& store, const store::RunRow& run) {
    RunView view;
    view.run = run;
    auto model = store.model(run.modelId);
    if (!model) return fail(model.error());
    auto dataset = store.dataset(run.datasetId);
    if (!dataset) return fail(dataset.error());
    auto variants = store.variants(run.id);
    if (!variants) return fail(variants.error());
    view.model = std::move(*model);
    view.dataset = std::move(*dataset);
    view.variants = std::move(*variants);
    // What a series is compared with is drawn and listed first.
    std::ranges::stable_partition(view.variants, [](const store::VariantRow& row) { return row.name == "baseline"; });
    view.result = parseObject(run.resultJson);
    view.settings = parseObject(run.settingsJson);
    if (const auto best = view.result.find("best");
        best != view.result.end() && best->is_object() && best->contains("scales")) {
        const std::vector<double> scales = numbers((*best)["scales"]);
        const auto it = std::ranges::find(view.variants, scales, &store::VariantRow::scales);
        if (it != view.variants.end()) view.bestVariant = it->id;
    }
    return view;
}

tl::unexpected<Error> noData(const RunView& view, const char* kind, const char* why) {
    return fail(ErrorCode::Failed,
                fmt::format("run {} ({}) has no data for the plot '{}': {}", view.run.id, view.run.kind, kind, why));
}

template <class T>
T settingOr(const json& settings, const char* key, T otherwise) {
    const auto it = settings.find(key);
    if (it == settings.end() || !it->is_object() || !it->contains("value")) return otherwise;
    const json& value = (*it)["value"];
    try {
        return value.is_null() ? otherwise : value.get<T>();
    } catch (const json::exception&) {
        return otherwise;
    }
}

std::vector<std::pair<double, double>> pairsOf(const json& points) {
    std::vector<std::pair<double, double>> out;
    if (!points.is_array()) return out;
    for (const json& point : points) {
        const std::vector<double> xy = numbers(point);
        if (xy.size() == 2) out.emplace_back(xy[0], xy[1]);
    }
    return out;
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

/// The best candidate so far of a search that has no result yet.
Result<std::optional<store::CandidateRow>> bestCandidate(store::StoreReader& store, std::int64_t runId) {
    auto candidates = store.candidates(runId);
    if (!candidates) return fail(candidates.error());
    std::optional<store::CandidateRow> best;
    for (const store::CandidateRow& row : *candidates) {
        if (row.state == store::CandidateRow::State::Evaluated && (!best || row.fitness > best->fitness)) best = row;
    }
    return best;
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
        analysis::CurvePlot::Series series{"best profile", SeriesRole::Best, {}, {}, {}};
        const std::string kind = settingOr<std::string>(view.settings, "curve", "bezier");
        if (view.bestVariant) {
            series.scales = numbers(view.result["best"]["scales"]);
            addCurve(series, pairsOf(view.result["best"]["control_points"]), kind);
        } else {
            auto best = bestCandidate(store, view.run.id);
            if (!best) return fail(best.error());
            if (!*best) return noData(view, "curve", "no candidate has been evaluated yet");
            const auto it = std::ranges::find(view.variants, (*best)->variantId, &store::VariantRow::id);
            if (it != view.variants.end()) series.scales = it->scales;
            series.name = "best so far";
            addCurve(series, pairsOf(json::parse((*best)->pointsJson, nullptr, false)), kind);
        }
        plot.series.push_back(std::move(series));
        return plot;
    }
    for (const store::VariantRow& variant : view.variants) {
        if (!variant.scales.empty())
            plot.series.push_back({view.name(variant), view.role(variant), variant.scales, {}, {}});
    }
    if (plot.series.empty()) return noData(view, "curve", "its method has no scale per layer");
    return plot;
}

double relativeOf(const std::string& label, int goldIndex, int maxGold) {
    if (label == "begin") return 0.0;
    if (label == "middle") return 0.5;
    if (label == "end") return 1.0;
    double percent = 0.0;
    const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), percent);
    if (error == std::errc{} && end == label.data() + label.size()) return percent / 100.0;
    return maxGold > 0 ? static_cast<double>(goldIndex) / maxGold : 0.0;
}

Result<analysis::PlotData> accuracyPlot(store::StoreReader& store, const RunView& view) {
    auto rows = store.positions(view.run.id);
    if (!rows) return fail(rows.error());
    const std::string split = view.run.kind == "search" ? "report" : "eval";
    const json spec = parseObject(view.dataset.specJson);
    analysis::AccuracyPlot plot;
    plot.title = "Accuracy by position of the evidence";
    std::int64_t items = 0;
    int maxGold = spec.contains("pairs") && spec["pairs"].is_number_integer() ? spec["pairs"].get<int>() - 1 : 0;
    for (const store::PositionRow& row : *rows) maxGold = std::max(maxGold, row.goldIndex);
    for (const store::VariantRow& variant : view.variants) {
        analysis::AccuracyPlot::Series series{view.name(variant), view.role(variant), {}};
        for (const store::PositionRow& row : *rows) {
            if (row.variantId != variant.id || row.split != split) continue;
            series.points.push_back({row.label, relativeOf(row.label, row.goldIndex, maxGold), row.goldIndex, row.n,
                                     row.accuracy, row.ciLow, row.ciHigh, row.answerNll});
            items = std::max(items, row.n);
        }
        if (!series.points.empty()) plot.series.push_back(std::move(series));
    }
    if (plot.series.empty()) return noData(view, "accuracy", "no position has been reported yet");
    plot.subtitle = view.subtitle(items) + (split == "report" ? " held out" : "");
    return plot;
}

std::string fitnessLabel(const std::string& score) {
    if (score == "nll") return "mean log-likelihood of the answer (nats per token)";
    if (score.starts_with("blend")) return fmt::format("accuracy plus weighted log-likelihood ({})", score);
    return "weighted accuracy";
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
        if (it != view.variants.end() && std::ranges::all_of(it->scales, [](double scale) { return scale == 1.0; })) {
            plot.baselineFitness = row.fitness;
            plot.hasBaseline = true;
        }
    }
    if (plot.candidates.empty()) return noData(view, "convergence", "no candidate has been evaluated yet");
    return plot;
}

Result<analysis::PlotData> attentionPlot(store::StoreReader& store, const RunView& view) {
    auto rows = store.attention(view.run.id);
    if (!rows) return fail(rows.error());
    analysis::AttentionPlot plot;
    plot.title = "Attention of the last prompt token by record";
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
    if (plot.series.empty()) return noData(view, "attention", "attention was not measured; run 'lpes attn'");
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
    if (plot.series.empty()) return noData(view, "deviation", "deviation was not measured; run 'lpes deviation'");
    plot.subtitle = fmt::format("{} · {} prompts", view.subtitle(0), prompts);
    return plot;
}

Result<analysis::PlotData> plotOf(store::StoreReader& store, const RunView& view, const std::string& kind) {
    if (kind == "curve") return curvePlot(store, view);
    if (kind == "accuracy") return accuracyPlot(store, view);
    if (kind == "convergence") return convergencePlot(store, view);
    if (kind == "attention") return attentionPlot(store, view);
    if (kind == "deviation") return deviationPlot(store, view);
    return fail(ErrorCode::Usage,
                fmt::format("unknown plot '{}'; available: curve, accuracy, convergence, attention, deviation", kind));
}

}  // namespace

Result<std::vector<std::string>> availablePlots(store::StoreReader& store, const store::RunRow& run) {
    auto view = viewOf(store, run);
    if (!view) return fail(view.error());
    std::vector<std::string> kinds;
    for (const char* kind : kKinds) {
        auto plot = plotOf(store, *view, kind);
        if (plot) {
            kinds.emplace_back(kind);
        } else if (plot.error().code == ErrorCode::Database) {
            return fail(plot.error());
        }
    }
    return kinds;
}

Result<analysis::PlotData> plotData(store::StoreReader& store, const store::RunRow& run, const std::string& kind) {
    auto view = viewOf(store, run);
    if (!view) return fail(view.error());
    return plotOf(store, *view, kind);
}

Result<RunPopulation> populationOf(store::StoreReader& store, const store::RunRow& run) {
    RunPopulation population;
    if (run.kind != "search") return population;
    auto candidates = store.candidates(run.id);
    if (!candidates) return fail(candidates.error());
    auto generations = store.generations(run.id);
    if (!generations) return fail(generations.error());
    auto variants = store.variants(run.id);
    if (!variants) return fail(variants.error());
    std::map<std::int64_t, const store::VariantRow*> byId;
    for (const store::VariantRow& variant : *variants) byId[variant.id] = &variant;
    // A finished search chose on the selection split, which need not be the best on the search split.
    const json result = parseObject(run.resultJson);
    std::vector<double> chosen;
    if (const auto best = result.find("best"); best != result.end() && best->is_object()) {
        chosen = numbers(best->value("scales", json::array()));
    }
    std::set<std::pair<int, int>> kept;
    const int complete = generations->empty() ? -1 : generations->back().generation;
    if (!generations->empty()) {
        const json pairs = json::parse(generations->back().populationJson, nullptr, false);
        for (const json& pair : pairs.is_array() ? pairs : json::array()) {
            if (const std::vector<double> place = numbers(pair); place.size() == 2) {
                kept.emplace(static_cast<int>(place[0]), static_cast<int>(place[1]));
            }
        }
    }
    for (const store::CandidateRow& row : *candidates) {
        if (row.state == store::CandidateRow::State::Failed) {
            ++population.failed;
            population.lastFailure = row.reason;
        }
        if (row.state != store::CandidateRow::State::Evaluated) continue;
        ++population.evaluated;
        const auto variant = byId.find(row.variantId);
        if (variant == byId.end()) continue;
        const RunPopulation::Member member{row.generation, row.index, variant->second->scales, row.fitness};
        if (chosen.empty() ? !population.best || member.fitness > population.best->fitness : member.scales == chosen) {
            population.best = member;
        }
        if (std::ranges::all_of(member.scales, [](double scale) { return scale == 1.0; })) {
            population.baselineFitness = member.fitness;
        }
        if (row.generation > complete || kept.contains({row.generation, row.index})) {
            population.members.push_back(member);
        }
    }
    return population;
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

Result<json> describeRun(store::StoreReader& store, const store::RunRow& run) {
    auto view = viewOf(store, run);
    if (!view) return fail(view.error());
    auto candidates = store.candidates(run.id);
    if (!candidates) return fail(candidates.error());
    auto generations = store.generations(run.id);
    if (!generations) return fail(generations.error());
    auto positions = store.positions(run.id);
    if (!positions) return fail(positions.error());
    auto attention = store.attention(run.id);
    if (!attention) return fail(attention.error());
    auto deviations = store.deviations(run.id);
    if (!deviations) return fail(deviations.error());
    auto profiles = store.profiles(run.id);
    if (!profiles) return fail(profiles.error());
    json failures = json::array();
    for (const store::CandidateRow& row : *candidates) {
        if (row.state == store::CandidateRow::State::Failed) {
            failures.push_back({{"generation", row.generation}, {"index", row.index}, {"reason", row.reason}});
        }
    }
    return json{
        {"run_id", run.id},
        {"kind", run.kind},
        {"state", store::runStateName(run.state)},
        {"label", run.label},
        {"model", {{"name", view->model.name}, {"path", view->model.path}, {"fingerprint", view->model.fingerprint}}},
        {"data_set", {{"name", view->dataset.name}, {"hash", view->dataset.hash}, {"items", view->dataset.items}}},
        {"seed", run.seed},
        {"created_ms", run.createdMs},
        {"ended_ms", run.endedMs},
        {"elapsed_seconds", run.elapsedSeconds},
        {"end_reason", run.endReason},
        {"error", run.error},
        {"tool_version", run.toolVersion},
        {"libtorch_version", run.libTorchVersion},
        {"device", run.device},
        {"device_description", run.deviceDescription},
        {"dtype", run.computeType},
        {"threads_per_worker", run.threadsPerWorker},
        {"workers", run.workers},
        {"batch_size", run.batchSize},
        {"settings", view->settings},
        {"result", view->result},
        {"failures", std::move(failures)},
        {"rows",
         {{"variants", view->variants.size()},
          {"candidates", candidates->size()},
          {"generations", generations->size()},
          {"positions", positions->size()},
          {"attention", attention->size()},
          {"deviation", deviations->size()},
          {"profiles", profiles->size()}}}};
}

}  // namespace lpes::studies
