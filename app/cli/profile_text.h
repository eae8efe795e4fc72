#pragma once

#include <string>
#include <vector>

#include "core/exporters/profile.h"

namespace lpes::cli {

/// A profile as a table: scale and its reciprocal, because both are in use for the same thing; a column for each head
/// or band where there are several.
[[nodiscard]] std::string profileText(const exporters::Profile& profile);

/// Scales [L][G] with a column for each of the groups' names; beyond what a terminal shows, the smallest, mean and
/// largest scale of each layer.
[[nodiscard]] std::string groupsTable(const std::vector<std::vector<double>>& rows,
                                      const std::vector<std::string>& names);

}  // namespace lpes::cli
