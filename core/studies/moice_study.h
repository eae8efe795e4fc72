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
#include "core/store/store.h"
#include "core/studies/model_setup.h"
#include "core/studies/studies.h"

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

/// Trains the routers and writes them, as a run of the kind "train" whose result is {"run_id", "state", "router" and
/// "method_hash" of what it holds (null until finished), "checkpoint", "steps", "curve": [{"step", "loss", "lm_loss",
/// "aux_loss", "grad_norm", "tokens"}], "text": {…}, "aux_loss_constant", "warnings", "seconds",
/// "seconds_per_sequence", "tokens_per_second", "peak_bytes" (of the process while it trained, weights included),
/// "settings"}.
///
/// At the beginning and after every step routers, optimiser and curve are written atomically into the checkpoint, then
/// the step's losses into the data base, so that a killed training loses at most the step in flight; resuming goes on
/// with the next step and ends in the same bits as a training that was never interrupted. With `resume` the run that
/// was left goes on where the data base has it and its settings are the same, else a new one has the whole curve.
/// Blocks; stops within a layer's time.
///
/// Usage for settings out of range or against the checkpoint; for a new training where an unfinished one's checkpoint
/// is, or a finished one without `overwrite`; where `out` or its checkpoint would replace the text, a file of the model
/// or anything else that no training wrote; BadInput for a text that cannot be used, and when model or text are no
/// longer those of the checkpoint; Unsupported where MoICE cannot be used on the model; OutOfMemory before anything is
/// computed. kStoppedMessage when stopped before the training began.
[[nodiscard]] Result<StudyOutcome> trainMoice(const TrainMoiceSettings& settings, store::StoreWriter& store,
                                              ProgressObserver& observer, std::stop_token stop);

/// `resume` of a training: goes on from its checkpoint. BadInput, naming the file, when that is gone or is another's,
/// or when model or text have changed; Usage when the run is no training or is finished.
[[nodiscard]] Result<StudyOutcome> resumeTraining(std::int64_t runId, store::StoreWriter& store,
                                                  ProgressObserver& observer, std::stop_token stop);

/// Where the checkpoint of a training that writes `out` is.
[[nodiscard]] std::filesystem::path moiceCheckpointPath(const std::filesystem::path& out);

}  // namespace lpes::studies
