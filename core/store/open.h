#pragma once

// Private to core/store: opening, with what tests put in place of the real thing.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/store/migrations.h"
#include "core/store/store.h"

namespace lpes::store {

/// What opening depends on besides its arguments.
struct Surroundings {
    /// Steps of the schema; the last one's version is the one written.
    std::span<const Migration> migrations = builtInMigrations();
    /// Name of the network file system that holds a folder, empty when it is local.
    std::function<Result<std::string>(const std::filesystem::path&)> networkFileSystem;
};
[[nodiscard]] Surroundings realSurroundings();

/// A file that holds a data base of ours, opened for reading.
struct ExistingFile {
    std::unique_ptr<Connection> connection;
    std::int64_t version = 0;  ///< of its schema; may be older than the newest
};
/// Database error when the file is missing, empty, damaged, another program's, or newer than `newestVersion`.
[[nodiscard]] Result<ExistingFile> openExisting(const std::filesystem::path& path, int newestVersion);

/// StoreWriter::open and StoreReader::open in given surroundings.
[[nodiscard]] Result<std::unique_ptr<StoreWriter>> openWriter(const std::filesystem::path& path,
                                                              const StoreWriter::Options& options,
                                                              const Surroundings& surroundings);
[[nodiscard]] Result<std::unique_ptr<StoreReader>> openReader(const std::filesystem::path& path,
                                                              const Surroundings& surroundings);

}  // namespace lpes::store
