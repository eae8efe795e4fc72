#include "core/store/snapshot.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <system_error>
#include <utility>
#include <vector>

#include "core/store/database_error.h"
#include "core/store/migrations.h"
#include "core/store/open.h"
#include "core/store/run_numbers.h"

namespace lpes::store {

namespace {

Error notCopied(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& why) {
    return {ErrorCode::Database,
            fmt::format("cannot copy the data base '{}' to '{}'; check that the folder is writable and has space",
                        from.string(), to.string()),
            why,
            {}};
}

Result<void> copyPages(Connection& from, const std::filesystem::path& to) {
    std::error_code failure;
    std::filesystem::create_directories(to.parent_path(), failure);
    try {
        SQLite::Database copy(to.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
        // One step holds one read transaction: what another process commits meanwhile is not seen.
        const int code = SQLite::Backup(copy, from.database()).executeStep(-1);
        if (code == SQLITE_DONE) return {};
        return fail(databaseError(from.path(), Access::ReadOnly, code, "the backup came to no end"));
    } catch (const SQLite::Exception& problem) {
        // A damaged source says so itself; everything else is trouble with the copy.
        const int code = problem.getErrorCode();
        if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB) {
            return fail(databaseError(from.path(), Access::ReadOnly, code, problem.what()));
        }
        return fail(notCopied(from.path(), to, problem.what()));
    }
}

/// Damage that copying does not meet: a page that makes no sense.
Result<void> checkPages(Connection& copy, const std::filesystem::path& source) {
    return copy.guarded([&]() -> Result<void> {
        Query query = copy.query("PRAGMA quick_check(1)");
        if (query.next() && query.text(0) == "ok") return {};
        return fail(ErrorCode::Database,
                    fmt::format("the data base '{}' is damaged; restore a backup of it or name another one with --db",
                                source.string()),
                    query.text(0));
    });
}

Result<std::vector<std::int64_t>> runsBeside(Connection& copy, std::int64_t runId) {
    std::vector<std::int64_t> others;
    bool found = false;
    Query query = copy.query("SELECT id, settings_json FROM runs");
    while (query.next()) {
        if (query.integer(0) == runId) {
            found = true;
        } else if (wholeOf(query.text(1)) != runId) {
            others.push_back(query.integer(0));
        }
    }
    if (found) return others;
    return fail(ErrorCode::Usage, fmt::format("there is no run {}; `lpes db list` shows the runs", runId));
}

Result<void> keepOnly(Connection& copy, std::int64_t runId) {
    return copy.guarded([&]() -> Result<void> {
        copy.query("PRAGMA foreign_keys = ON").run();
        Result<void> kept = copy.transaction([&]() -> Result<void> {
            const auto others = runsBeside(copy, runId);
            if (!others) return fail(others.error());
            for (const std::int64_t other : *others) copy.query("DELETE FROM runs WHERE id = ?").bind(other).run();
            copy.query("DELETE FROM models WHERE id NOT IN (SELECT model_id FROM runs WHERE model_id IS NOT NULL)")
                .run();
            copy.query(
                    "DELETE FROM datasets WHERE id NOT IN (SELECT dataset_id FROM runs WHERE dataset_id IS NOT NULL)")
                .run();
            return {};
        });
        if (!kept) return kept;
        copy.query("VACUUM").run();
        return {};
    });
}

}  // namespace

ScratchFile::ScratchFile(std::filesystem::path path) : m_path(std::move(path)) {
    remove();  // what a process that died may have left
}

ScratchFile::~ScratchFile() {
    remove();
}

void ScratchFile::remove() const {
    std::error_code ignored;
    for (const char* helper : {"", "-journal", "-wal", "-shm"}) {
        std::filesystem::path file = m_path;
        std::filesystem::remove(file += helper, ignored);
    }
}

Result<void> takeSnapshot(const std::filesystem::path& database, const ScratchFile& copy) {
    Result<ExistingFile> source = openExisting(database, kSchemaVersion);
    if (!source) return fail(source.error());
    if (Result<void> copied = copyPages(*source->connection, copy.path()); !copied) return copied;
    Result<std::unique_ptr<Connection>> opened = Connection::open(copy.path(), Access::ReadWrite);
    if (!opened) return fail(opened.error());
    Connection& connection = **opened;
    Result<void> single = connection.guarded([&]() -> Result<void> {
        Query query = connection.query("PRAGMA journal_mode = DELETE");
        static_cast<void>(query.next());
        return {};
    });
    if (!single) return single;
    if (Result<void> whole = checkPages(connection, source->connection->path()); !whole) return whole;
    // What the source is by itself was asked a moment before the copy was taken; a writer may have mended it meanwhile.
    const Result<Identity> identity = identify(connection);
    if (!identity) return fail(identity.error());
    if (Result<void> known = checkIdentity(connection, *identity, kSchemaVersion); !known) return known;
    return migrate(connection, identity->version, builtInMigrations());
}

Result<void> extract(const std::filesystem::path& database, std::int64_t runId, const std::filesystem::path& file) {
    std::error_code failure;
    if (std::filesystem::exists(file, failure)) {
        return fail(ErrorCode::Usage,
                    fmt::format("'{}' is there already and is left alone; name a new file", file.string()));
    }
    std::filesystem::path part = std::filesystem::absolute(file);
    // A name of its own: a file of the user's must not be taken for ours, nor that of another extract.
    const ScratchFile copy(part += fmt::format(".{}.part", ::getpid()));
    if (Result<void> taken = takeSnapshot(database, copy); !taken) return taken;
    {
        Result<std::unique_ptr<Connection>> connection = Connection::open(copy.path(), Access::ReadWrite);
        if (!connection) return fail(connection.error());
        if (Result<void> kept = keepOnly(**connection, runId); !kept) return kept;
    }
    std::filesystem::rename(copy.path(), file, failure);
    if (failure) return fail(notCopied(database, file, failure.message()));
    return {};
}

}  // namespace lpes::store
