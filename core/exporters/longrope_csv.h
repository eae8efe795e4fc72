#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/exporters/profile.h"

/// microsoft/LongRoPE's files of factors (methods.md §5.1): numbers separated by commas, without a header; every
/// inverse frequency is divided by its factor. Of d rotated values of a head a file has d/2 factors for all layers, or
/// a row of d/2 for each layer.
namespace lpes::exporters {

/// One row per layer, or one for all of them: a single column is taken as a single row. Empty lines are left out.
/// BadInput, with line and column, for what is no finite number above 0, and for a file without numbers. `origin` (the
/// file) starts every message. How many there must be in a row, and how many rows, only the model knows.
[[nodiscard]] Result<std::vector<std::vector<double>>> longRopeFromCsv(const std::string& text,
                                                                       const std::string& origin);
[[nodiscard]] Result<std::vector<std::vector<double>>> readLongRope(const std::filesystem::path& path);

/// A row per layer that holds its scale `frequencies` (d/2) times: LPES as LongRoPE's loader takes it. Shortest digits
/// that read back as the same number, decimal points in every locale.
[[nodiscard]] std::string toLongRopeCsv(std::span<const double> scales, int frequencies);
/// The same of a profile: L rows of d/2. `frequencies` is the model's d/2, 0 where it is not known; a profile by band
/// has its own. Usage where neither says it, BadInput where they differ, Unsupported for scales by key/value head,
/// which no factor of a frequency can be.
[[nodiscard]] Result<std::string> profileToLongRope(const Profile& profile, int frequencies);

}  // namespace lpes::exporters
