#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/store.h"

// Private to core/studies: the sections of a report, each HTML, empty where there is nothing to say.
namespace lpes::studies {

/// What a result says of one method: of an evaluation its only one, of a comparison each, of a search baseline and
/// winner on the held-out items.
struct ReportSide {
    std::string name;
    nlohmann::json said;
};
[[nodiscard]] std::vector<ReportSide> reportSides(const nlohmann::json& result);

/// Accuracy by position, what was left out, and how the intervals were made.
[[nodiscard]] std::string positionSection(const nlohmann::json& result);
/// Does accuracy hang on the place of the evidence? Test, verdict, PSI and U-shape.
[[nodiscard]] std::string biasSection(const std::vector<ReportSide>& sides);
/// What a method costs in short contexts: the light with its word and its reason.
[[nodiscard]] std::string guardrailSection(const nlohmann::json& result);
/// Accuracy by group of items and by length of prompt.
[[nodiscard]] std::string groupSection(const std::vector<ReportSide>& sides);
[[nodiscard]] std::string lengthSection(const std::vector<ReportSide>& sides);
/// Teacher forcing beside generated answers, and the noise of rounding.
[[nodiscard]] std::string scoringSection(const nlohmann::json& result);
/// What the benchmark's own rule left out of prompts.
[[nodiscard]] std::string noteSection(const nlohmann::json& result);
/// "NOT HELD OUT" for every profile that was searched on these items (overlapText), and a quiet line for every
/// file that does not say what it was searched on.
[[nodiscard]] std::string overlapWarnings(const std::vector<ReportSide>& sides);
/// All of the above in their order.
[[nodiscard]] std::string findings(const nlohmann::json& result);

/// The methods of a comparison by its stored result, with costs and verdicts.
[[nodiscard]] std::string methodSection(store::StoreReader& store, const store::RunRow& run);

/// A suite: the paper's table (methods × benchmarks), then each benchmark's sections, out of the result or, before
/// there is one, out of the comparisons that are stored.
[[nodiscard]] Result<std::string> suiteSections(store::StoreReader& store, const store::RunRow& run,
                                                const nlohmann::json& result);

/// A study of a search: held-out scores of its levels with their tests, its profiles' spread, its searches.
[[nodiscard]] Result<std::string> studySections(store::StoreReader& store, const store::RunRow& run);

/// A training: its loss by step, its text and what it wrote.
[[nodiscard]] Result<std::string> trainingSections(store::StoreReader& store, const store::RunRow& run,
                                                   const nlohmann::json& result);

/// What a search found and how.
[[nodiscard]] std::string profileSection(const nlohmann::json& result);
[[nodiscard]] std::string generationSection(const nlohmann::json& result);
/// The Pareto front of a search with several objectives; empty for others.
[[nodiscard]] std::string frontSection(const nlohmann::json& result);
[[nodiscard]] Result<std::string> failureSection(store::StoreReader& store, const store::RunRow& run);
/// Attention on the record that holds the answer, and the mean deviation of each variant: the plots' figures in
/// numbers.
[[nodiscard]] std::string measuredSections(store::StoreReader& store, const store::RunRow& run);

}  // namespace lpes::studies
