#pragma once

#include <span>

#include "core/base/result.h"
#include "core/model/causal_lm.h"

/// What a session refuses before it computes anything.
namespace lpes::model {

/// Usage for no ids or an id outside the vocabulary (`what` names the sequence: "prompt", "answer"); BadInput when
/// `tokens` exceed the context (under the
/// method in force).
[[nodiscard]] Result<void> checkIds(std::span<const TokenId> ids, const char* what, const ModelConfig& config);
[[nodiscard]] Result<void> checkLength(std::size_t tokens, const char* what, int contextLength);

/// OutOfMemory, with the longest context that fits, when that many tokens under the method (`cached`: which are all
/// kept for generation, in every cache that it has) are estimated to need more memory than is free. Small passes are
/// let through without looking.
[[nodiscard]] Result<void> checkMemoryFor(std::size_t tokens, bool cached, const PositionMethod& method,
                                          const ModelConfig& config, ComputeType type);

/// The same for scaleGradients, which keeps every layer's activations, and all scores where a window or a cap rules.
[[nodiscard]] Result<void> checkGradientMemory(std::size_t tokens, const ModelConfig& config, ComputeType type);

/// Prompt, answer and their common length.
[[nodiscard]] Result<void> checkScoredPrompt(const ScoredPrompt& prompt, const ModelConfig& config, int contextLength);

/// Usage for spans that are not inside 0 … tokens.
[[nodiscard]] Result<void> checkSpans(std::span<const TokenSpan> spans, std::size_t tokens);

}  // namespace lpes::model
