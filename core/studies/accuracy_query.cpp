#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/position_accuracy.h"
#include "core/studies/json_rows.h"
#include "core/studies/run_view.h"
#include "core/studies/study_summary.h"
#include "core/tasks/position.h"

namespace lpes::studies {

namespace {

using analysis::AccuracyPlot;
using analysis::SeriesRole;
using nlohmann::json;

double relativeOf(const std::string& label, int goldIndex, int maxGold) {
    if (label == "begin") return 0.0;
    if (label == "middle") return 0.5;
    if (label == "end") return 1.0;
    double percent = 0.0;
    const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), percent);
    if (error == std::errc{} && end == label.data() + label.size()) return percent / 100.0;
    return maxGold > 0 ? static_cast<double>(goldIndex) / maxGold : 0.0;
}

/// What a plot needs of one side.
struct Side {
    std::string name;
    SeriesRole role = SeriesRole::Current;
    std::vector<store::PositionRow> rows;
    std::vector<std::optional<analysis::Interval>> nll = {};  ///< of the answer NLL, row by row; or empty
};

/// Row by row, as the result of the run has them.
std::vector<std::optional<analysis::Interval>> nllIntervalsOf(const std::vector<analysis::ItemOutcome>& outcomes,
                                                              const std::vector<store::PositionRow>& rows,
                                                              const RunView& view) {
    const auto seed = settingOr<std::uint64_t>(parseObject(view.run.settingsJson), "seed", 1);
    int positions = 0;
    for (const store::PositionRow& row : rows) positions = std::max(positions, row.position + 1);
    const auto all = analysis::nllIntervals(outcomes, positions, seed).byPosition;
    std::vector<std::optional<analysis::Interval>> intervals;
    for (const store::PositionRow& row : rows) intervals.push_back(all[static_cast<std::size_t>(row.position)]);
    return intervals;
}

Result<std::vector<Side>> reportedSides(store::StoreReader& store, const RunView& view) {
    auto rows = store.positions(view.run.id);
    if (!rows) return fail(rows.error());
    const std::string split = view.run.kind == "search" ? "report" : "eval";
    std::vector<Side> sides;
    for (const store::VariantRow& variant : view.variants) {
        Side side{view.name(variant), view.role(variant), {}};
        for (const store::PositionRow& row : *rows) {
            if (row.variantId == variant.id && row.split == split && row.n > 0) side.rows.push_back(row);
        }
        if (side.rows.empty()) continue;
        // Drawn anew at every look at a run that goes on, they would cost more than the run's own rows.
        if (view.run.state != store::RunState::Running) {
            const auto outcomes = storedOutcomes(store, variant.id, split);
            if (!outcomes) return fail(outcomes.error());
            side.nll = nllIntervalsOf(*outcomes, side.rows, view);
        }
        sides.push_back(std::move(side));
    }
    return sides;
}

Result<std::optional<Side>> searchedSide(store::StoreReader& store, const RunView& view, std::int64_t variant,
                                         const char* name, SeriesRole role) {
    const std::vector<std::string> labels = positionLabels(view);
    if (labels.empty()) return std::optional<Side>();
    const auto outcomes = storedOutcomes(store, variant, "search");
    if (!outcomes) return fail(outcomes.error());
    if (outcomes->empty()) return std::optional<Side>();
    return Side{name, role, positionRows(analysis::accuracyByPosition(*outcomes, labels), variant, "search")};
}

/// The search items of the unchanged model and of the best so far.
Result<std::vector<Side>> searchedSides(store::StoreReader& store, const RunView& view) {
    std::vector<Side> sides;
    const auto add = [&](std::int64_t variant, const char* name, SeriesRole role) -> Result<void> {
        auto side = searchedSide(store, view, variant, name, role);
        if (!side) return fail(side.error());
        if (*side) sides.push_back(std::move(**side));
        return {};
    };
    const auto unchanged = std::ranges::find_if(
        view.variants, [](const store::VariantRow& row) { return row.name == "candidate" && changesNothing(row); });
    if (unchanged != view.variants.end()) {
        if (auto added = add(unchanged->id, "no profile", SeriesRole::Baseline); !added) return fail(added.error());
    }
    auto best = bestCandidate(store, view.run.id);
    if (!best) return fail(best.error());
    if (*best && (unchanged == view.variants.end() || (*best)->variantId != unchanged->id)) {
        if (auto added = add((*best)->variantId, "best so far", SeriesRole::Best); !added) return fail(added.error());
    }
    return sides;
}

/// The methods of a comparison that is under way, on the items that all of them have been asked.
Result<std::vector<Side>> comparedSides(store::StoreReader& store, const RunView& view) {
    auto shared = sharedOutcomes(store, view);
    if (!shared) return fail(shared.error());
    const std::vector<std::string> labels = positionLabels(view);
    std::vector<Side> sides;
    for (const MethodOutcomes& one : *shared) {
        const auto accuracy = analysis::accuracyByPosition(one.outcomes, labels);
        if (accuracy.items == 0) continue;
        const SeriesRole role = one.name == "baseline" ? SeriesRole::Baseline : methodRole(one.name);
        sides.push_back({one.name, role, positionRows(accuracy, one.variantId, "eval")});
    }
    return sides;
}

/// The baseline and the levels of a study, whose outcomes are means over their searches.
Result<std::vector<Side>> studiedSides(store::StoreReader& store, const RunView& view) {
    const auto study = viewOfStudy(store, view.run);
    if (!study) return fail(study.error());
    std::vector<Side> sides;
    const auto add = [&](const std::string& name, SeriesRole role, const std::vector<analysis::ItemOutcome>& outcomes,
                         bool graded) {
        const auto& labels = study->searches.front().positions;
        Side& side = sides.emplace_back(
            Side{name, role, positionRows(analysis::accuracyByPosition(outcomes, labels, graded), 0, "report")});
        if (view.run.state != store::RunState::Running) side.nll = nllIntervalsOf(outcomes, side.rows, view);
    };
    if (!study->searches.empty()) add("baseline", SeriesRole::Baseline, study->searches.front().baseline, false);
    for (const StudyLevel& level : study->levels)
        add(level.name, SeriesRole::Other, level.outcomes, level.searches.size() > 1);
    return sides;
}

/// What there is to show of a run, and which items it was measured on, in words that follow their number.
struct Shown {
    std::vector<Side> sides;
    const char* which = "";
};

Result<Shown> shownOf(store::StoreReader& store, const RunView& view) {
    const auto shown = [](Result<std::vector<Side>> sides, const char* which) -> Result<Shown> {
        if (!sides) return fail(sides.error());
        return Shown{std::move(*sides), which};
    };
    // Asked first: intervals of sides that are not shown would be drawn for nothing.
    if (isUnderWay(view)) return shown(comparedSides(store, view), " so far");
    if (view.run.kind == "study") return shown(studiedSides(store, view), " held out");
    auto reported = reportedSides(store, view);
    if (view.run.kind != "search") return shown(std::move(reported), "");
    if (reported && reported->empty())
        return shown(searchedSides(store, view), " of the search: the held-out ones come at its end");
    return shown(std::move(reported), " held out");
}

}  // namespace

Result<analysis::PlotData> accuracyPlot(store::StoreReader& store, const RunView& view) {
    const auto shown = shownOf(store, view);
    if (!shown) return fail(shown.error());
    const std::vector<Side>& sides = shown->sides;
    if (sides.empty()) {
        return noData(view, "accuracy",
                      view.run.kind == "train" ? "a training evaluates no items" : "no item has been evaluated yet");
    }
    const json spec = parseObject(view.dataset.specJson);
    int maxGold = spec.contains("pairs") && spec["pairs"].is_number_integer() ? spec["pairs"].get<int>() - 1 : 0;
    for (const Side& side : sides) {
        for (const store::PositionRow& row : side.rows) maxGold = std::max(maxGold, row.goldIndex);
    }
    AccuracyPlot plot;
    plot.title = "Accuracy by position of the evidence";
    std::int64_t items = 0;
    for (const Side& side : sides) {
        AccuracyPlot::Series series{side.name, side.role, {}};
        for (std::size_t i = 0; i < side.rows.size(); ++i) {
            const store::PositionRow& row = side.rows[i];
            analysis::Estimate nll{.value = row.answerNll};
            if (i < side.nll.size() && side.nll[i]) {
                nll.low = side.nll[i]->low;
                nll.high = side.nll[i]->high;
            }
            series.points.push_back({row.label,
                                     relativeOf(row.label, row.goldIndex, maxGold),
                                     row.goldIndex,
                                     row.n,
                                     {row.accuracy, row.ciLow, row.ciHigh},
                                     nll});
            items = std::max(items, row.n);
        }
        plot.series.push_back(std::move(series));
    }
    plot.subtitle = view.subtitle(items) + shown->which;
    return plot;
}

}  // namespace lpes::studies
