#pragma once

// Private to core/store.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/store/connection.h"
#include "core/store/store.h"

namespace lpes::store {

/// One step of the schema: SQL that turns version `to` − 1 into version `to`.
struct Migration {
    int to = 0;
    std::string_view sql;
};

/// Every step from an empty file to kSchemaVersion, in order. A new version is one more SQL file and one more line.
[[nodiscard]] std::span<const Migration> builtInMigrations();

/// What a file says about itself.
struct Identity {
    std::int64_t applicationId = 0;
    std::int64_t version = 0;
    std::int64_t objects = 0;  ///< tables and indexes

    /// A file without content: new, or left by a process that died before it made the first table.
    [[nodiscard]] bool blank() const { return applicationId == 0 && version == 0 && objects == 0; }
    [[nodiscard]] bool ours() const { return applicationId == kApplicationId; }
};
[[nodiscard]] Result<Identity> identify(Connection& connection);

/// Database error when the file belongs to another program, or to a newer version of this one (names both versions).
/// A blank file and an older version pass.
[[nodiscard]] Result<void> checkIdentity(const Connection& connection, const Identity& identity, int newestVersion);

/// "<name>.v<version>-backup", beside the data base of that version.
[[nodiscard]] std::filesystem::path backupPath(std::filesystem::path database, std::int64_t version);

/// Copies the data base to backupPath with SQLite's backup API, under another name first, so
/// that a backup of this name is always complete. Database error when that fails; nothing is left behind then.
[[nodiscard]] Result<void> backUp(Connection& connection, std::int64_t version);

/// Runs the steps above `version`, each with its version number in one transaction: a failure leaves the last complete
/// version. Foreign keys must be off (a step may rebuild tables); they are checked before each commit.
[[nodiscard]] Result<void> migrate(Connection& connection, std::int64_t version, std::span<const Migration> steps);

}  // namespace lpes::store
