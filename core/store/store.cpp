#include "core/store/store.h"

#include <cstdlib>
#include <exception>

#include "core/base/files.h"
#include "core/store/file_system.h"
#include "core/store/migrations.h"
#include "core/store/open.h"
#include "core/store/snapshot.h"
#include "core/store/upgrade.h"
#include "core/store/writer_lock.h"

namespace lpes::store {

namespace {

/// std::filesystem and memory can still throw around what Connection guards.
template <class Work>
std::invoke_result_t<Work> contained(const std::filesystem::path& path, Work&& work) {
    try {
        return work();
    } catch (const std::exception& failure) {
        return fail(ErrorCode::Database, "the data base '" + path.string() + "' could not be opened", failure.what());
    }
}

}  // namespace

std::filesystem::path defaultDatabasePath() {
    const char* named = std::getenv("LPES_DB");
    if (named != nullptr && *named != '\0') return named;
    return userDataFolder() / "lpes.db";
}

Result<bool> isBeingWritten(const std::filesystem::path& path) {
    return contained(path, [&]() -> Result<bool> {
        const Result<std::filesystem::path> resolved = resolvedDatabasePath(path);
        if (!resolved) return fail(resolved.error());
        return WriterLock::held(*resolved);
    });
}

Result<std::optional<SchemaChange>> upgrade(const std::filesystem::path& path) {
    return contained(path, [&]() -> Result<std::optional<SchemaChange>> {
        SchemaChange change{0, kSchemaVersion, {}};
        {
            const auto existing = openExisting(path, kSchemaVersion);
            if (!existing) return fail(existing.error());
            change.from = existing->version;
            change.backup = backupPath(existing->connection->path(), change.from);
        }
        if (change.from == kSchemaVersion) return std::nullopt;
        if (auto writer = StoreWriter::open(path, {"lpes db upgrade"}); !writer) return fail(writer.error());
        return change;
    });
}

Result<void> extractRun(const std::filesystem::path& database, std::int64_t runId, const std::filesystem::path& file) {
    return contained(database, [&] { return extract(database, runId, file); });
}

Result<std::unique_ptr<StoreReader>> StoreReader::open(const std::filesystem::path& path) {
    return contained(path, [&] { return openReader(path, realSurroundings()); });
}

Result<std::unique_ptr<StoreWriter>> StoreWriter::open(const std::filesystem::path& path, const Options& options) {
    return contained(path, [&] { return openWriter(path, options, realSurroundings()); });
}

}  // namespace lpes::store
