#include "core/store/database_error.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace lpes::store {

namespace {

std::string sentence(const std::string& file, Access access, int code) {
    switch (code) {
        case SQLITE_READONLY_ROLLBACK:
            return fmt::format(
                "'{}' was left in the middle of a write by a process that died; start any command that writes to it "
                "once, which mends it, and read it then",
                file);
        case SQLITE_READONLY_CANTINIT:
        case SQLITE_READONLY_RECOVERY:
        case SQLITE_READONLY_DIRECTORY:
            return fmt::format(
                "the folder of the data base '{}' is not writable, and SQLite needs helper files beside it; copy the "
                "data base to a folder where you may write",
                file);
        case SQLITE_CONSTRAINT_FOREIGNKEY:
            return fmt::format(
                "the data base '{}' does not hold the run, model, data set or variant that a new row "
                "belongs to",
                file);
        default:
            break;
    }
    switch (code & 0xff) {
        case SQLITE_NOTADB:
            return fmt::format(
                "'{}' is not a data base of LPES Studio (it is not a SQLite file); name another one with --db", file);
        case SQLITE_CORRUPT:
        case SQLITE_FORMAT:
            return fmt::format("the data base '{}' is damaged; restore a backup of it or name another one with --db",
                               file);
        case SQLITE_FULL:
            return fmt::format(
                "the disk that holds the data base '{}' is full, and the last step was not stored; free "
                "some space and resume",
                file);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
            return fmt::format(
                "another program kept the data base '{}' locked for more than {} s; close it and try again", file,
                kBusyTimeoutMs / 1000);
        case SQLITE_NOMEM:
            return fmt::format("there was not enough memory to work on the data base '{}'", file);
        case SQLITE_TOOBIG:
            return fmt::format("a text for the data base '{}' is longer than SQLite accepts, and was not stored", file);
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_CANTOPEN:
            if (access == Access::ReadOnly) {
                return fmt::format(
                    "cannot read the data base '{}': it or its folder is not accessible (SQLite needs "
                    "helper files beside it); check the permissions or copy it to a folder where you may "
                    "write",
                    file);
            }
            return fmt::format(
                "cannot write the data base '{}': it or its folder is not writable; check the permissions "
                "or name another one with --db",
                file);
        case SQLITE_IOERR:
            return fmt::format(
                "the disk refused to {} the data base '{}', and the last step was not stored; check its "
                "free space, quota and health, and resume",
                access == Access::ReadOnly ? "read" : "read or write", file);
        default:
            return fmt::format("the data base '{}' could not be used", file);
    }
}

}  // namespace

Error databaseError(const std::filesystem::path& path, Access access, int code, std::string detail) {
    ErrorCode kind = ErrorCode::Database;
    if ((code & 0xff) == SQLITE_NOMEM) kind = ErrorCode::OutOfMemory;
    if (code == SQLITE_CONSTRAINT_FOREIGNKEY) kind = ErrorCode::Usage;
    return {kind, sentence(path.string(), access, code), fmt::format("SQLite {}: {}", code, std::move(detail)), {}};
}

}  // namespace lpes::store
