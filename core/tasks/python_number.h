#pragma once

#include <optional>
#include <string_view>

namespace lpes::tasks {

/// float(text) of Python: white space around it, a sign, digits of any script with single underscores between them, an
/// exponent, "inf", "infinity" and "nan" in any case; nothing where Python raises ValueError. Too large is infinity.
[[nodiscard]] std::optional<double> pythonFloat(std::string_view text);

}  // namespace lpes::tasks
