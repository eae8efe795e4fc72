#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/adamw.h"
#include "core/model/model_config.h"
#include "core/rope/position_method.h"

/// Training of MoICE's routers (arXiv 2406.19598; methods.md §1.6) without the model: settings, state and checkpoints.
/// core/model/torch/moice_trainer.h computes.
namespace lpes::model {

/// What decides the numbers of a training. Defaults are the released recipe.
struct MoiceRecipe {
    std::vector<double> bases;  ///< of the experts; empty: rope::moiceBases of the model's own
    int topK = 0;               ///< experts kept; 0: all of them
    int sequencesPerStep = 128;
    int maxLength = 4608;         ///< tokens of a sequence
    double auxCoefficient = 0.3;  ///< the loss is LM loss + auxCoefficient · auxiliary loss
    double maxGradNorm = 1.0;     ///< the gradient is shortened to this norm (transformers' default); 0: never
    AdamWSettings adamw;          ///< the learning rate is constant
    std::uint64_t seed = 1;       ///< of the first router and of the order of the sequences
};

/// One optimiser step. Losses are means over the step's sequences, in nats per token for the LM loss.
struct MoiceStepRecord {
    int step = 0;  ///< 1 …
    double loss = 0.0, lmLoss = 0.0, auxLoss = 0.0;
    double gradNorm = 0.0;  ///< over all routers, before it is shortened
    std::int64_t tokens = 0;
    friend bool operator==(const MoiceStepRecord&, const MoiceStepRecord&) = default;
};

/// Everything that the next step depends on. Which sequences come next follows from the number of steps and the seed,
/// so that no state of a generator is kept.
struct MoiceTrainingState {
    rope::MoiceRouters routers;
    AdamWState adamw;
    std::vector<MoiceStepRecord> curve;  ///< of every step so far
};

/// Usage, naming the option's value and its range, for a recipe that makes no sense for this model; Unsupported where
/// the model's RoPE takes no other base (rope::checkMethod).
[[nodiscard]] Result<void> checkMoiceRecipe(const MoiceRecipe& recipe, const ModelConfig& config);

/// The state before the first step: every matrix as torch.nn.Linear begins, uniform in ±1/√(inputs), from the stream
/// (seed, kStreamRouters, layer) in the order w1, w2, w3. `recipe` passed checkMoiceRecipe.
[[nodiscard]] MoiceTrainingState initialMoiceState(const MoiceRecipe& recipe, const ModelConfig& config);

/// Does every choice of experts give the same auxiliary loss? With top_k = N each expert is chosen for every token, so
/// that N·Σ f·P = N·Σ P = N whatever the routers say, and its gradient is zero.
[[nodiscard]] bool auxiliaryLossIsConstant(const rope::MoiceRouters& routers);

/// Which sequences step `step` (0 …) takes of `count`: the numbers step·S … step·S+S−1 of an endless row of shuffles of
/// 0 … count−1, one per round, from the streams (seed, kStreamTrainingText, round). count ≥ 1.
[[nodiscard]] std::vector<std::size_t> sequencesOfStep(std::uint64_t seed, std::size_t count, int sequencesPerStep,
                                                       int step);

[[nodiscard]] nlohmann::json curveJson(const std::vector<MoiceStepRecord>& curve);

/// Writes routers, optimiser and curve atomically as one safetensors file; `identity` is kept as it is and says what
/// the training depends on beside the state. Failed when it cannot be written.
[[nodiscard]] Result<void> writeMoiceCheckpoint(const std::filesystem::path& path, const MoiceTrainingState& state,
                                                const ModelConfig& config, const nlohmann::json& identity);

struct MoiceCheckpoint {
    MoiceTrainingState state;
    nlohmann::json identity;
};
/// Reads it back to the bit. BadInput as readMoiceRouters, for a file that is no checkpoint, and for an optimiser's
/// value that is missing, misshaped or not finite.
[[nodiscard]] Result<MoiceCheckpoint> readMoiceCheckpoint(const std::filesystem::path& path, const ModelConfig& config);

}  // namespace lpes::model
