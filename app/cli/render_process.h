#pragma once

#include <nlohmann/json.hpp>

#include "core/base/result.h"

namespace lpes::cli {

/// Draws a job ({"plots": [{"data": …, "out": ["a.svg", …], "width_mm": …, "dpi": …, "theme": …}]}) by running
/// `lpes-render --job -`, which is Qt's part of the program: $LPES_RENDER, else beside this program, else in ../render
/// (the build tree), else in $PATH. Its messages go to standard error.
/// Unsupported when there is none; otherwise the kind of failure that its exit code says.
[[nodiscard]] Result<void> render(const nlohmann::json& job);

}  // namespace lpes::cli
