#include "core/studies/pass_tokens.h"

#include <span>

#include "core/model/torch/shared_prefixes.h"
#include "core/studies/continuations.h"

namespace lpes::studies {

Result<std::vector<PassTokens>> passTokens(const PromptPlan& plan, const rope::PositionMethod& method,
                                           const model::ModelConfig& config) {
    const rope::MethodModel rotated = model::methodModel(config);
    std::vector<PassTokens> passes;
    for (const std::vector<std::size_t>& chunk : plan.chunks()) {
        std::vector<model::ScoredPrompt> batch;
        for (const std::size_t entry : chunk) {
            const auto tokens = plan.tokens(entry);
            if (!tokens) return fail(tokens.error());
            addContinuations(**tokens, batch);
        }
        const auto sequences = model::scoredSequences(batch);
        passes.push_back({model::SharedPrefixes::none(sequences).rows(),
                          model::sharedPrefixes(sequences, method, rotated, plan.pass().sharePrefixes).rows()});
    }
    return passes;
}

PassTokens evaluatedTokens(const search::SearchOutcome& outcome, const PromptPlan& plan,
                           const std::vector<PassTokens>& passes) {
    PassTokens sum;
    for (const search::CandidateRecord& record : outcome.candidates) {
        const search::Evaluation& evaluation = record.evaluation;
        if (record.duplicateOf || (!evaluation.complete() && !evaluation.givenUp)) continue;
        const std::size_t asked =
            evaluation.givenUp ? plan.chunksOf(static_cast<int>(evaluation.byItem.size())) : passes.size();
        for (const PassTokens& pass : std::span(passes).first(asked)) sum += pass;
    }
    return sum;
}

}  // namespace lpes::studies
