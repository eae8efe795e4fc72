#pragma once

// Private to core/store.

#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/store/connection.h"

namespace lpes::store {

/// What went wrong in SQLite, as one sentence for the user that names the file and the remedy. `code` is an extended
/// result code; `detail` is SQLite's own text.
[[nodiscard]] Error databaseError(const std::filesystem::path& path, Access access, int code, std::string detail);

}  // namespace lpes::store
