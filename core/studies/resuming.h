#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/rope/method_spec.h"
#include "core/store/store.h"
#include "core/studies/run_session.h"

// Private to core/studies: what taking up a run that was left has in common.
namespace lpes::studies {

/// Usage when the run is of another kind or is finished.
[[nodiscard]] Result<store::RunRow> resumableRun(store::StoreReader& reader, std::int64_t runId,
                                                 const std::string& kind);

/// Database error when they are damaged.
[[nodiscard]] Result<nlohmann::json> storedSettings(const store::RunRow& run);

/// BadInput when the model's files or the tokenizer are no longer those that the run was started with; a warning when
/// processor or LibTorch differ.
[[nodiscard]] Result<void> requireSameModel(store::StoreReader& reader, const store::RunRow& run,
                                            const LoadedModel& model, const std::string& modelName,
                                            ProgressObserver& observer);

/// The same, and BadInput when the data set or the prompt template are others.
[[nodiscard]] Result<void> requireSameInputs(store::StoreReader& reader, const store::RunRow& run,
                                             const Workbench& bench, const std::string& modelName,
                                             ProgressObserver& observer);

/// Adds a method's hash where files stand behind it.
void noteMethodHash(MethodHashes& hashes, const rope::MethodSpec& spec, const rope::PositionMethod& method);
/// BadInput, naming the files, when those of a method no longer hold what they held when the run began. `now`: its
/// methodHash. A method that `then` does not have passes: no file stands behind it, or the run is of a version that did
/// not store hashes.
[[nodiscard]] Result<void> requireSameMethod(const MethodHashes& then, const rope::MethodSpec& spec,
                                             const std::string& now);

}  // namespace lpes::studies
