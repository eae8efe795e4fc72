#include "core/store/open.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <system_error>

#include "core/store/file_system.h"
#include "core/store/sql_reader.h"
#include "core/store/sql_writer.h"
#include "core/store/writer_lock.h"

namespace lpes::store {

namespace {

Result<void> makeFolder(const std::filesystem::path& database) {
    std::error_code failure;
    std::filesystem::create_directories(database.parent_path(), failure);
    if (!failure) return {};
    return fail(ErrorCode::Database,
                fmt::format("cannot make the folder '{}' for the data base; check its permissions or name another data "
                            "base with --db",
                            database.parent_path().string()),
                failure.message());
}

/// Refuses a file that this program must not touch before anything (a lock file, a journal mode) touches it. What
/// cannot be read yet, such as a data base that has to be mended after a crash, passes: the writer looks again.
Result<void> refuseForeign(const std::filesystem::path& path, int newestVersion) {
    std::error_code missing;
    if (!std::filesystem::exists(path, missing) || missing) return {};
    Result<std::unique_ptr<Connection>> connection = Connection::open(path, Access::ReadOnly);
    if (!connection) return {};
    const Result<Identity> identity = identify(**connection);
    if (!identity) {
        const int code = (*connection)->database().getErrorCode();
        if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) return fail(identity.error());
        return {};
    }
    return checkIdentity(**connection, *identity, newestVersion);
}

/// WAL on a local disk, a rollback journal on a network file system, where WAL corrupts data bases.
Result<void> chooseJournal(Connection& connection, const std::string& network) {
    return connection.guarded([&]() -> Result<void> {
        const std::string wanted = network.empty() ? "wal" : "delete";
        std::string got;
        {
            Query query =
                connection.query(network.empty() ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
            if (query.next()) got = query.text(0);
        }
        if (got != wanted) {
            return fail(ErrorCode::Database,
                        fmt::format("the data base '{}' cannot change its journal from '{}' to '{}', which this file "
                                    "system needs; close every program that has it open, or name another one with --db",
                                    connection.path().string(), got, wanted));
        }
        // WAL stays whole with NORMAL; a rollback journal does not in every power cut, so that one is synced fully.
        connection.query(network.empty() ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL").run();
        { static_cast<void>(connection.query("PRAGMA journal_size_limit = 67108864").next()); }
        return {};
    });
}

/// Brings a blank or older data base to the newest schema; a backup of the older one comes first.
Result<void> bringUpToDate(Connection& connection, const Identity& identity, std::span<const Migration> steps) {
    if (!identity.blank()) {
        if (identity.version == steps.back().to) return {};
        if (Result<void> saved = backUp(connection, identity.version); !saved) return saved;
    }
    return migrate(connection, identity.version, steps);
}

}  // namespace

Surroundings realSurroundings() {
    Surroundings surroundings;
    surroundings.networkFileSystem = networkFileSystemOf;
    return surroundings;
}

Result<ExistingFile> openExisting(const std::filesystem::path& path, int newestVersion) {
    const Result<std::filesystem::path> resolved = resolvedDatabasePath(path);
    if (!resolved) return fail(resolved.error());
    const std::string file = resolved->string();
    std::error_code failure;
    if (!std::filesystem::exists(*resolved, failure)) {
        return fail(ErrorCode::Database,
                    fmt::format("there is no data base '{}'; run an evaluation or a search first, or name another one "
                                "with --db",
                                file),
                    failure ? failure.message() : std::string());
    }
    Result<std::unique_ptr<Connection>> connection = Connection::open(*resolved, Access::ReadOnly);
    if (!connection) return fail(connection.error());
    const Result<Identity> identity = identify(**connection);
    if (!identity) return fail(identity.error());
    if (identity->blank()) {
        return fail(ErrorCode::Database,
                    fmt::format("the data base '{}' is empty; run an evaluation or a search first, or name another one "
                                "with --db",
                                file));
    }
    if (Result<void> known = checkIdentity(**connection, *identity, newestVersion); !known) return fail(known.error());
    return ExistingFile{std::move(*connection), identity->version};
}

Result<std::unique_ptr<StoreReader>> openReader(const std::filesystem::path& path, const Surroundings& surroundings) {
    const int newest = surroundings.migrations.back().to;
    Result<ExistingFile> existing = openExisting(path, newest);
    if (!existing) return fail(existing.error());
    const std::filesystem::path file = existing->connection->path();
    if (existing->version < newest) {
        return fail(
            ErrorCode::Database,
            fmt::format("the data base '{}' has the older schema version {} (this program reads {}); "
                        "'lpes db upgrade' brings it up to date, after a backup, and so does any command that writes "
                        "to it",
                        file.string(), existing->version, newest));
    }
    return std::make_unique<SqlReader>(std::move(existing->connection),
                                       [database = file] { return WriterLock::held(database); });
}

Result<std::unique_ptr<StoreWriter>> openWriter(const std::filesystem::path& path, const StoreWriter::Options& options,
                                                const Surroundings& surroundings) {
    Result<std::filesystem::path> resolved = resolvedDatabasePath(path);
    if (!resolved) return fail(resolved.error());
    const int newest = surroundings.migrations.back().to;
    if (Result<void> ready = makeFolder(*resolved); !ready) return fail(ready.error());
    // Again, now that the folder exists and a symbolic link in it can be followed.
    resolved = resolvedDatabasePath(*resolved);
    if (!resolved) return fail(resolved.error());
    if (Result<void> known = refuseForeign(*resolved, newest); !known) return fail(known.error());
    const Result<std::string> network = surroundings.networkFileSystem(resolved->parent_path());
    if (!network) return fail(network.error());

    Result<WriterLock> lock = WriterLock::acquire(*resolved, options.holder);
    if (!lock) return fail(lock.error());
    Result<std::unique_ptr<Connection>> connection = Connection::open(*resolved, Access::ReadWrite);
    if (!connection) return fail(connection.error());
    const Result<Identity> identity = identify(**connection);
    if (!identity) return fail(identity.error());
    if (Result<void> known = checkIdentity(**connection, *identity, newest); !known) return fail(known.error());
    if (Result<void> chosen = chooseJournal(**connection, *network); !chosen) return fail(chosen.error());
    if (Result<void> done = bringUpToDate(**connection, *identity, surroundings.migrations); !done) {
        return fail(done.error());
    }

    std::vector<std::string> warnings;
    if (!network->empty()) {
        warnings.push_back(fmt::format(
            "the data base '{}' is on a network file system ({}), where a slower rollback journal is used; a "
            "data base on a local disk (--db) is faster and safer",
            resolved->string(), *network));
    }
    auto writer = std::make_unique<SqlWriter>(std::move(*lock), std::move(*connection), std::move(warnings));
    if (Result<void> ready = writer->interruptStaleRuns(); !ready) return fail(ready.error());
    return writer;
}

}  // namespace lpes::store
