#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/model/moice_training.h"

/// Training of MoICE's routers on a loaded model; no LibTorch type is here.
namespace lpes::model {

/// Losses of one text under some routers, and their gradient.
struct MoiceLoss {
    double lmLoss = 0.0;          ///< mean NLL of ids[1…], nats per token
    double auxLoss = 0.0;         ///< N·Σ f·P over all layers (methods.md §1.6)
    std::vector<float> gradient;  ///< of lmLoss + auxCoefficient·auxLoss, in the order of moiceMatrices
};

/// Differentiates the losses of one text with respect to every value of the routers; the model stays as it is. The LM
/// loss agrees with the mean of scoreText under the same routers within rounding. Results are a function of weights,
/// routers, ids, compute type and threads.
///
/// Usage for fewer than 2 ids or an id outside the vocabulary, BadInput beyond the model's context and for routers that
/// do not fit, OutOfMemory with an estimate before anything is computed. Failed with kStoppedMessage when stopped
/// (between layers). thread-safe.
[[nodiscard]] Result<MoiceLoss> moiceLoss(const CausalLm& model, const rope::MoiceRouters& routers,
                                          std::span<const TokenId> ids, double auxCoefficient, int threads,
                                          std::stop_token stop = {});

/// One optimiser step: the mean gradient over `sequences`, each of which weighs alike, then AdamW; the step's record is
/// appended to the curve. The state changes only when everything has gone well. `sequenceDone` is called after each
/// sequence with its number of tokens. Errors as moiceLoss; Failed when the loss is not finite.
[[nodiscard]] Result<void> trainMoiceStep(const CausalLm& model, const MoiceRecipe& recipe,
                                          std::span<const std::vector<TokenId>> sequences, int threads,
                                          MoiceTrainingState& state,
                                          const std::function<void(std::int64_t tokens)>& sequenceDone,
                                          std::stop_token stop = {});

/// Estimated bytes beside the weights for a sequence of so many tokens under so many experts.
[[nodiscard]] double estimateMoiceTrainingBytes(const ModelConfig& config, ComputeType type, std::int64_t tokens,
                                                std::int64_t experts);
/// OutOfMemory, naming both numbers, when that is more than is free.
[[nodiscard]] Result<void> checkMoiceTrainingMemory(const CausalLm& model, std::int64_t tokens, std::int64_t experts);

}  // namespace lpes::model
