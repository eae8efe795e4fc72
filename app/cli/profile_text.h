#pragma once

#include <string>

#include "core/exporters/profile.h"

namespace lpes::cli {

/// A profile as a table: scale and its reciprocal, because both are in use for the same thing.
[[nodiscard]] std::string profileText(const exporters::Profile& profile);

}  // namespace lpes::cli
