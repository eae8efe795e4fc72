#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/base/result.h"

namespace lpes::store {

/// Versions of a schema.
struct SchemaChange {
    std::int64_t from = 0, to = 0;
    std::filesystem::path backup;  ///< the data base as it was
};

/// Brings a data base of an older schema to that of this program, as StoreWriter::open does; nothing where it has that
/// already. Database error: there is none; otherwise as StoreWriter::open. thread-safe.
[[nodiscard]] Result<std::optional<SchemaChange>> upgrade(const std::filesystem::path& path);

}  // namespace lpes::store
