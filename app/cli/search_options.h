#pragma once

#include "app/cli/setting_flags.h"
#include "core/studies/run_settings.h"

namespace lpes::cli {

/// Options of `search` besides model and task: the genetic search, the splits and the fitness.
void addSearchOptions(SettingFlags& flags, studies::SearchRunSettings& settings);

}  // namespace lpes::cli
