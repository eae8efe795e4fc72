#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/remote/session.h"

namespace lpes::remote {

/// Sees to it that the data which some settings name are on the other machine, and puts their paths there into the
/// settings ({key: {"value": path}}). Data of this machine are copied unless equal ones are there already, brought
/// earlier or under the same path; a path that is only there is left as it is. BadInput where it is on neither.
[[nodiscard]] Result<void> bringData(Session& session, const Host& host, nlohmann::json& settings,
                                     const std::vector<std::string>& keys, ProgressObserver& observer);

}  // namespace lpes::remote
