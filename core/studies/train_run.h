#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/moice_training.h"
#include "core/store/store.h"
#include "core/studies/model_setup.h"
#include "core/studies/moice_study.h"
#include "core/studies/training_text.h"

// Private to core/studies: what a training has in the data base.
namespace lpes::studies {

inline constexpr const char* kTrainKind = "train";

/// `recipe` (key → {"value", "origin"}) with what a run needs beside it to go on from another folder: model, device,
/// text and router file.
[[nodiscard]] nlohmann::json trainSettingsJson(const TrainMoiceSettings& settings, nlohmann::json recipe,
                                               const OpenedModel& model);
/// Back again. BadInput naming a key of the wrong type or one that is not known.
[[nodiscard]] Result<TrainMoiceSettings> readTrainSettings(const nlohmann::json& stored);

/// A training's text as the data set of its run: its hash is the file's, its items are documents.
[[nodiscard]] store::DatasetRow datasetRow(const TrainingText& text, const std::filesystem::path& file);

[[nodiscard]] Result<void> recordSteps(store::StoreWriter& store, std::int64_t runId,
                                       std::span<const model::MoiceStepRecord> steps);

/// The newest run that was left with these settings and whose steps are the first ones of `curve`.
[[nodiscard]] Result<std::optional<store::RunRow>> findLeftTraining(store::StoreReader& reader,
                                                                    const nlohmann::json& settings,
                                                                    std::span<const model::MoiceStepRecord> curve);

/// BadInput, naming the file and what is different, for a checkpoint that is not one of this run: another recipe, text
/// or model, or a loss curve that does not begin with the run's.
[[nodiscard]] Result<void> requireOwnCheckpoint(store::StoreReader& reader, const store::RunRow& run,
                                                const model::MoiceCheckpoint& checkpoint,
                                                const std::filesystem::path& file);

/// SHA-256 of what a router file holds, as runs that use it store it ("method_hash").
[[nodiscard]] Result<std::string> routerHash(const std::filesystem::path& file, const model::WeightSource& weights,
                                             ProgressObserver& observer);

}  // namespace lpes::studies
