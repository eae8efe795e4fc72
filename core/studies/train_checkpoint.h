#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/model/moice_training.h"
#include "core/store/store.h"
#include "core/studies/model_setup.h"
#include "core/studies/moice_study.h"
#include "core/studies/training_text.h"

// Private to core/studies: a training and the checkpoint beside its router. Which files it may write, whether the
// checkpoint is its own, and which settings are in force with it.
namespace lpes::studies {

/// Everything that is resolved before the model is loaded.
struct TrainingPlan {
    model::MoiceRecipe recipe;
    int steps = 7, threads = 1;  ///< steps: the released recipe's
    std::string dtype = "auto";
    nlohmann::json values;  ///< key → value
    nlohmann::json shown;   ///< key → {"value", "origin"}
};

/// Settings that are in force: what was given, else the checkpoint's (`stored`: its identity; null: there is none),
/// else the recipe's. Usage for one that is out of range, or is not what the training was begun with (more steps are no
/// contradiction); BadInput for a value of the checkpoint of another type.
[[nodiscard]] Result<TrainingPlan> resolveTraining(const TrainMoiceSettings& settings, const model::ModelConfig& config,
                                                   const nlohmann::json* stored);

/// Nothing that is read is written over, and nothing that no training wrote is replaced. BadInput when there is no
/// checkpoint to go on from; Usage for a router or checkpoint that would replace the text, a file of the model,
/// something else, or, without `overwrite`, a finished router.
[[nodiscard]] Result<void> checkTrainingFiles(const TrainMoiceSettings& settings);

/// The checkpoint to go on from; none for a new training. `left`: the run that goes on, whose checkpoint it has to be.
/// BadInput, naming the file, when it cannot be read or is another run's; Usage where a new training would replace an
/// unfinished one, or a finished one without `overwrite`.
[[nodiscard]] Result<std::optional<model::MoiceCheckpoint>> checkpointFor(const TrainMoiceSettings& settings,
                                                                          const model::ModelConfig& config,
                                                                          store::StoreReader& reader,
                                                                          const std::optional<store::RunRow>& left);

/// What a checkpoint remembers of its training: `values` of the plan, hashes of text, weights and tokenizer
/// ("text_hash", "weights_hash", "tokenizer"), and what rounding depends on ("libtorch", "device_description").
[[nodiscard]] nlohmann::json checkpointIdentity(const nlohmann::json& values, const TrainingText& text,
                                                const LoadedModel& model);

/// BadInput when text, weights or tokenizer are no longer those of the checkpoint; a warning for another processor or
/// LibTorch.
[[nodiscard]] Result<void> requireSameIdentity(const nlohmann::json& stored, const nlohmann::json& now,
                                               ProgressObserver& observer);

}  // namespace lpes::studies
