#pragma once

#include <nlohmann/json.hpp>
#include <string>

/// The objects that --json prints (cli.md), as tables for people.
namespace lpes::cli {

[[nodiscard]] std::string inspectText(const nlohmann::json& model);
[[nodiscard]] std::string tokensText(const nlohmann::json& tokens);
[[nodiscard]] std::string scoreText(const nlohmann::json& score);
[[nodiscard]] std::string evalText(const nlohmann::json& result);
[[nodiscard]] std::string compareText(const nlohmann::json& result);
[[nodiscard]] std::string suiteText(const nlohmann::json& result);
/// "40", or "12 of 40" where a run was stopped before it had them all.
[[nodiscard]] std::string itemsText(const nlohmann::json& result);
/// The names of rows of "groups" and of "lengths".
[[nodiscard]] std::string groupName(const nlohmann::json& row);
[[nodiscard]] std::string lengthName(const nlohmann::json& row);
/// Lines that evaluations and comparisons share: position bias in numbers and words; a warning where a profile was
/// searched on the items of its report. Empty where there is nothing to say.
[[nodiscard]] std::string biasText(const nlohmann::json& bias);
[[nodiscard]] std::string guardrailText(const nlohmann::json& guardrail);
/// The line below a table whose p values are dashes.
[[nodiscard]] std::string fewItemsNote();
/// Which bases were searched, and which were found.
[[nodiscard]] std::string basesText(const nlohmann::json& search);
[[nodiscard]] std::string searchedOnText(const nlohmann::json& searched);
/// That a method's file does not say what it was searched on.
[[nodiscard]] std::string provenanceText(const nlohmann::json& side);
/// That answers were generated of which some tokens could not be written.
[[nodiscard]] std::string unknownTokensText(const nlohmann::json& side);
/// What the benchmark's own rule left out of prompts, a line each.
[[nodiscard]] std::string notesText(const nlohmann::json& result);
[[nodiscard]] std::string benchText(const nlohmann::json& result);
[[nodiscard]] std::string searchText(const nlohmann::json& result);
/// The Pareto front of a search with several objectives, as a table; empty for others.
[[nodiscard]] std::string frontText(const nlohmann::json& result);
/// `--dry-run`: what a search will take, and the forecast for the paper's setting alone.
[[nodiscard]] std::string studyText(const nlohmann::json& result);
[[nodiscard]] std::string studyForecastText(const nlohmann::json& forecast);
[[nodiscard]] std::string forecastText(const nlohmann::json& forecast);
[[nodiscard]] std::string paperText(const nlohmann::json& paper);
[[nodiscard]] std::string trainText(const nlohmann::json& result);
[[nodiscard]] std::string attentionText(const nlohmann::json& result);
[[nodiscard]] std::string deviationText(const nlohmann::json& result);

}  // namespace lpes::cli
