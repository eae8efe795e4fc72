#pragma once

#include <QString>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/jobs/store_snapshot.h"
#include "core/studies/show_prompt.h"
#include "widgets/common/guardrail_light.h"
#include "widgets/curve_editor/curve_editor.h"
#include "widgets/models/run_table_model.h"
#include "widgets/panels/inspector_panel.h"
#include "widgets/panels/prompt_view.h"

/// Core's values in the words and shapes that the views show. Pure functions; thread-safe.
namespace lpes::app {

/// How a run came out, in a few words: best fitness, accuracy, lowest loss, or why it failed.
[[nodiscard]] std::string outcomeOf(const store::RunRow& run);
[[nodiscard]] std::vector<widgets::RunLine> runLines(const StoreSnapshot& snapshot);

/// One line about a run: what it is, how it stands and, for a search or comparison, what came out.
[[nodiscard]] QString headlineOf(const RunDetail& detail);
/// When what is shown of a run that is under way was written; empty for one that has ended.
[[nodiscard]] QString freshnessOf(const RunDetail& detail);
/// Which methods of a comparison's result are better than its first; empty for anything else.
[[nodiscard]] QString comparisonOf(const nlohmann::json& result);
/// What a finished training's result came to, and where its router is.
[[nodiscard]] QString trainingOf(const nlohmann::json& result);
/// Did a search's winner beat the baseline on the held-out items, by the test that its result holds?
[[nodiscard]] bool isBetter(const nlohmann::json& result);
/// The verdict of a search's result on its held-out items; empty for anything else.
[[nodiscard]] QString verdictOf(const nlohmann::json& result);

/// What a search's result says of short contexts; nothing for anything else.
[[nodiscard]] widgets::GuardrailFacts guardrailOf(const nlohmann::json& result);
[[nodiscard]] widgets::GuardrailFacts guardrailOf(const RunDetail& detail);

/// An item's prompt with its spans in characters of the view; number and count of items are left to the caller.
[[nodiscard]] widgets::PromptFacts promptFactsOf(const studies::ShownPrompt& shown);

/// Layers and trained context of a run's model, as far as its plots tell; 0 when they do not.
[[nodiscard]] std::pair<int, int> shapeOf(const RunDetail& detail);

/// The best scales of a search so far, as curves to draw behind others: one, or one for each head or band.
[[nodiscard]] std::vector<widgets::GhostCurve> bestGhosts(const RunDetail& detail);

/// What `lpes inspect --json` prints as groups of facts. The layers are left to the live pictures.
[[nodiscard]] widgets::ModelFacts factsOf(const nlohmann::json& description);

/// A path as people write it: the home folder is "~".
[[nodiscard]] QString shownPath(const std::filesystem::path& path);
/// "1.2 GiB", "78 MiB".
[[nodiscard]] QString bytesText(double bytes);

}  // namespace lpes::app
