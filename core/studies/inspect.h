#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/studies/model_setup.h"

/// The use-cases that only look: nothing is written.
namespace lpes::studies {

/// What a model file says about itself: `inspect --json` without method and memory; what the data base stores with a
/// model. `inv_freq` and `layer_scales` are the method's (a default one: the model's own RoPE), without what Ms-PoE
/// chooses by the prompt; of Attention Buckets and MoICE they are those of the first base, and `bases` has every one's;
/// `bases_search` says how those of Attention Buckets were found where they were searched for (bucketSearchJson).
/// A profile by key/value head is in `head_scales` [L][K]; factors by frequency, a profile's by band among them, are in
/// `inv_freq` and by themselves in `divisors` [L][R/2].
/// The tokenizer is left out when the model was opened without it.
[[nodiscard]] nlohmann::json describeModel(const OpenedModel& opened, const rope::PositionMethod& method);

/// `inspect --json` (cli.md), with memory estimates per context length and what fits on `device`. `method`: whose
/// effective table, memory (every cache that it keeps) and longest context are shown, with what it means
/// (`method_meaning`, a sentence for each part) and costs (`method_cost`).
/// A device that this machine does not have is refused as loading refuses it.
[[nodiscard]] Result<nlohmann::json> inspectModel(const std::string& model, const std::string& method,
                                                  const std::string& device, ProgressObserver& observer);

/// `tokenize --json`.
[[nodiscard]] Result<nlohmann::json> tokenizeText(const std::string& model, const std::string& text, bool parseSpecial);

struct ScoreTextSettings {
    ModelOptions model;
    std::optional<int> threads;
    std::optional<std::string> text;  ///< exactly one of text and ids
    std::optional<std::vector<text::TokenId>> ids;
    std::string method = "baseline";
    int top = 5;
};
/// `score --json`; perplexity = exp(−mean log-probability of ids[1…]), one window, no BOS beyond the tokenizer's rule.
[[nodiscard]] Result<nlohmann::json> scoreText(const ScoreTextSettings& settings, ProgressObserver& observer,
                                               std::stop_token stop);

struct GenerateSettings {
    ModelOptions model;
    std::optional<int> threads;
    std::string prompt;
    /// Instead of prompt: taken as they are; no tokenizer is needed then, no token ends the text, and `text` is null.
    std::optional<std::vector<text::TokenId>> ids;
    std::string method = "baseline";
    std::string chat;  ///< chat preset (core/text/chat_preset.h); "": the prompt as it is
    int maxNewTokens = 100;
    double temperature = 0.0;  ///< 0: greedy
    std::uint64_t seed = 1;
};
/// `generate --json`. Ends at an end token or after maxNewTokens; BadInput when prompt + maxNewTokens exceed the
/// context.
[[nodiscard]] Result<nlohmann::json> generateText(const GenerateSettings& settings, ProgressObserver& observer,
                                                  std::stop_token stop);

/// Parses "1,2,3"; Usage naming the part that is no id.
[[nodiscard]] Result<std::vector<text::TokenId>> parseIds(const std::string& text);

}  // namespace lpes::studies
