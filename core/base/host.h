#pragma once

#include <string>

namespace lpes {

/// Name of this machine, for people: "unknown" where the system does not say.
[[nodiscard]] std::string hostName();

}  // namespace lpes
