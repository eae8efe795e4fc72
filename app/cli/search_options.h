#pragma once

#include "app/cli/setting_flags.h"
#include "core/studies/run_settings.h"

namespace lpes::cli {

/// Options of `search` besides model and task: the genetic search, the splits and the fitness.
void addSearchOptions(SettingFlags& flags, studies::SearchRunSettings& settings);

/// What the options are set upon: the demo study where the model is demo and no task is named. Usage where model or
/// task are missing.
[[nodiscard]] Result<void> chooseSearchBase(const SettingFlags& flags, studies::SearchRunSettings& settings);

}  // namespace lpes::cli
