#pragma once

#include <span>
#include <vector>

#include "core/model/session_values.h"
#include "core/studies/prompt_maker.h"

// Private to core/studies: a prompt's continuations on their way through the model.
namespace lpes::studies {

/// The answer alone, or every choice where there are some.
[[nodiscard]] std::size_t continuationCount(const TokenizedPrompt& prompt);
/// Appends them to what a pass scores.
void addContinuations(const TokenizedPrompt& prompt, std::vector<model::ScoredPrompt>& batch);

/// What the likelihoods of a prompt's continuations say about it.
struct Judgement {
    double answerNll = 0.0;  ///< mean over the answer's tokens
    /// Minus the logarithm of the answer's share of all choices' likelihood: not moved by how likely the model is to
    /// answer by a choice at all. 0 where there is nothing to choose from.
    double choiceNll = 0.0;
    bool strict = false;  ///< every token of the answer is the likeliest
    bool chosen = false;  ///< the answer is the likeliest of the choices, by its whole log-probability; the first of
                          ///< equal ones counts. False where there is nothing to choose from
};
/// `scores` [continuationCount], in the order of addContinuations.
[[nodiscard]] Judgement judge(const TokenizedPrompt& prompt, std::span<const model::AnswerScore> scores);

}  // namespace lpes::studies
