#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/studies/model_setup.h"

namespace lpes::studies {

/// `train moice`. What is unset is the checkpoint's when a training is resumed, else the released recipe's
/// (model::MoiceRecipe); a value that contradicts the checkpoint is refused, but for `steps`.
struct TrainMoiceSettings {
    ModelOptions model;          ///< always with its tokenizer
    std::optional<int> threads;  ///< results depend on it, so a resumed training keeps the checkpoint's
    std::filesystem::path text;  ///< see TrainingText
    std::filesystem::path out;   ///< router file; the checkpoint is beside it, with ".training" behind the name
    bool resume = false;
    bool overwrite = false;    ///< a finished router at `out`, and its checkpoint, may be replaced by a new training
    std::optional<int> steps;  ///< in all, those before a resumption included
    std::optional<int> sequencesPerStep, maxLength, topK;
    std::optional<std::vector<double>> bases;
    std::optional<double> learningRate, auxCoefficient, weightDecay, beta1, beta2, epsilon, maxGradNorm;
    std::optional<std::uint64_t> seed;
    std::map<std::string, std::string> origins;  ///< setting → "flag" or "environment"
};

struct TrainMoiceOutcome {
    bool stoppedEarly = false;  ///< stopped by the user: the checkpoint holds every step that was finished
    /// {"state", "router" (null until finished), "checkpoint" (null before the first step), "steps", "curve": [{"step",
    /// "loss", "lm_loss", "aux_loss", "grad_norm", "tokens"}], "text": {…}, "aux_loss_constant", "warnings", "seconds",
    /// "seconds_per_sequence", "tokens_per_second", "peak_bytes" (of the
    /// process while it trained, weights included), "settings"}
    nlohmann::json result;
};

/// Trains the routers and writes them. After every step routers, optimiser and curve are written atomically into the
/// checkpoint, so that a killed training loses at most the step in flight; resuming goes on with the next step and ends
/// in the same bits as a training that was never interrupted. Blocks; stops within a layer's time.
///
/// Usage for settings out of range or against the checkpoint; for a new training where an unfinished one's checkpoint
/// is, or a finished one without `overwrite`; where `out` or its checkpoint would replace the text, a file of the model
/// or anything else that no training wrote; BadInput for a text that cannot be used, and when model or text are no
/// longer those of the checkpoint; Unsupported where MoICE cannot be used on the model; OutOfMemory before anything is
/// computed. kStoppedMessage when stopped before the training began.
[[nodiscard]] Result<TrainMoiceOutcome> trainMoice(const TrainMoiceSettings& settings, ProgressObserver& observer,
                                                   std::stop_token stop);

/// Where the checkpoint of a training that writes `out` is.
[[nodiscard]] std::filesystem::path moiceCheckpointPath(const std::filesystem::path& out);

}  // namespace lpes::studies
