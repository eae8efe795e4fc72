#include <fmt/format.h>

#include "app/cli/output.h"
#include "app/cli/result_text.h"
#include "core/studies/suite_study.h"

namespace lpes::cli {

namespace {

using nlohmann::json;

/// A figure with its interval over items, where it has one.
std::string estimate(const json& row, const char* value, const std::string& ends, int decimals) {
    return formatEstimate(row.value(value, json()), row.value(ends + "_low", json()), row.value(ends + "_high", json()),
                          decimals);
}

/// The same with the standard deviation over searches, where there are several.
std::string withSd(const json& row, const char* mean, const std::string& ends, const char* sd, int decimals) {
    const std::string value = estimate(row, mean, ends, decimals);
    return row.at(sd).is_number() ? value + " ± " + formatNumber(row.at(sd), decimals) : value;
}

std::string interval(const json& row) {
    return formatEstimate(row.at("nll_difference"), row.at("nll_low"), row.at("nll_high"), 4);
}

std::string levelsTable(const json& result) {
    Table table({"held out", "searches", "accuracy (95 %)", "gap (95 %)", "answer NLL (95 %)", "to the baseline (95 %)",
                 "p", "p, Holm"});
    if (const json& baseline = result.at("baseline"); baseline.is_object()) {
        table.add({"baseline", "", estimate(baseline, "mean_accuracy", "accuracy", 3),
                   estimate(baseline, "gap", "gap", 3), estimate(baseline, "answer_nll", "answer_nll", 4), "", "", ""});
    }
    for (const json& level : result.at("levels")) {
        table.add({level.at("level"), level.at("searches").dump(),
                   withSd(level, "mean_accuracy", "accuracy", "accuracy_sd", 3), estimate(level, "gap", "gap", 3),
                   withSd(level, "answer_nll", "answer_nll", "nll_sd", 4), interval(level),
                   formatP(level.at("p_value")), formatP(level.at("p_holm"))});
    }
    const bool tested = result.at("levels").back().at("p_value").is_number();
    return table.text(kTableColumns) + (tested ? "" : fewItemsNote());
}

std::string pairsTable(const json& pairs) {
    if (pairs.empty()) return {};
    Table table({"against each other", "answer NLL, second − first (95 %)", "p", "p, Holm"});
    for (const json& pair : pairs) {
        table.add({fmt::format("{} / {}", pair.at("a").get<std::string>(), pair.at("b").get<std::string>()),
                   interval(pair), formatP(pair.at("p_value")), formatP(pair.at("p_holm"))});
    }
    return "\n" + table.text();
}

std::string profilesText(const json& result) {
    std::string text;
    for (const json& profile : result.at("profiles")) {
        text += fmt::format("\nProfiles, {}: {} differ by {} per scale on average (mean |Δs|), correlation {}\n",
                            profile.at("level").get<std::string>(), profile.at("searches").dump(),
                            formatNumber(profile.at("mean_abs_difference"), 4),
                            formatNumber(profile.at("mean_correlation"), 3));
        std::string means, sds;
        for (const json& value : profile.at("mean")) means += " " + formatNumber(value, 2);
        for (const json& value : profile.at("stddev")) sds += " " + formatNumber(value, 2);
        text += "  mean " + means + "\n  sd   " + sds + "\n";
    }
    if (result.at("shared_items").is_number()) {
        text += fmt::format("Two searches share {} % of their search items on average.\n",
                            formatNumber(100.0 * result.at("shared_items").get<double>(), 0));
    }
    return text;
}

std::string searchesTable(const json& searches) {
    Table table(
        {"search", "state", "run", "evaluations", "prompts", "s", "fitness", "held-out accuracy (95 %)", "NLL (95 %)"});
    const auto plain = [](const json& row, const char* key) {
        return row.contains(key) && !row.at(key).is_null() ? row.at(key).dump() : std::string("–");
    };
    for (const json& search : searches) {
        const auto number = [&](const char* key, int decimals) {
            return formatNumber(search.value(key, json()), decimals);
        };
        table.add({search.at("label"), search.at("state"), plain(search, "run_id"), plain(search, "evaluations"),
                   plain(search, "prompts"), number("seconds", 1), number("fitness", 4),
                   estimate(search, "mean_accuracy", "accuracy", 3), estimate(search, "answer_nll", "answer_nll", 4)});
    }
    return "\n" + table.text(kTableColumns);
}

}  // namespace

std::string studyText(const json& result) {
    std::string text = fmt::format("Run {}: study {}, {}, {}\n\n", result.at("run_id").dump(),
                                   result.value("study", ""), result.value("model", ""), studies::stateText(result));
    if (!result.contains("searches")) return text;
    if (!result.at("levels").empty()) text += levelsTable(result);
    text += searchedOnText(result.value("searched_on", json()));
    text += pairsTable(result.at("pairs")) + profilesText(result) + searchesTable(result.at("searches"));
    for (const json& search : result.at("searches")) {
        if (search.contains("error"))
            text += fmt::format("{} failed: {}\n", search.value("label", ""), search.value("error", ""));
    }
    return text;
}

std::string studyForecastText(const json& forecast) {
    Table table({"search, at most", "candidates", "prompts", "s"});
    for (const json& search : forecast.at("searches")) {
        table.add({search.at("label"), search.at("candidates").dump(), search.at("prompts").dump(),
                   formatNumber(search.at("seconds"), 1)});
    }
    table.add({"together", forecast.at("candidates").dump(), forecast.at("prompts").dump(),
               formatNumber(forecast.at("seconds"), 1)});
    return table.text() + "\nThe first search:\n" + forecastText(forecast);
}

}  // namespace lpes::cli
