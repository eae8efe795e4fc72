#include "core/studies/continuations.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lpes::studies {

namespace {

double total(const model::AnswerScore& score) {
    return std::accumulate(score.logProbs.begin(), score.logProbs.end(), 0.0);
}

}  // namespace

std::size_t continuationCount(const TokenizedPrompt& prompt) {
    return prompt.choices.empty() ? 1 : prompt.choices.size();
}

void addContinuations(const TokenizedPrompt& prompt, std::vector<model::ScoredPrompt>& batch) {
    if (prompt.choices.empty()) batch.push_back({prompt.prompt, prompt.answer});
    for (const auto& choice : prompt.choices) batch.push_back({prompt.prompt, choice});
}

Judgement judge(const TokenizedPrompt& prompt, std::span<const model::AnswerScore> scores) {
    std::ptrdiff_t answer = 0;
    Judgement judgement;
    if (!prompt.choices.empty()) {
        answer = std::ranges::find(prompt.choices, prompt.answer) - prompt.choices.begin();
        const auto likeliest = std::ranges::max_element(scores, {}, total);
        judgement.chosen = likeliest - scores.begin() == answer;
        double likelihood = 0.0;  // of all choices, relative to the likeliest
        for (const model::AnswerScore& score : scores) likelihood += std::exp(total(score) - total(*likeliest));
        judgement.choiceNll =
            total(*likeliest) + std::log(likelihood) - total(scores[static_cast<std::size_t>(answer)]);
    }
    const model::AnswerScore& own = scores[static_cast<std::size_t>(answer)];
    judgement.answerNll = own.meanNll;
    judgement.strict = own.allArgmax;
    return judgement;
}

}  // namespace lpes::studies
