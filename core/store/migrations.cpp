#include "core/store/migrations.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>

#include <array>
#include <string>
#include <system_error>

namespace lpes::resources {
extern const std::string_view schemaV1Sql;
extern const std::string_view schemaV2Sql;
extern const std::string_view schemaV3Sql;
extern const std::string_view schemaV4Sql;
extern const std::string_view schemaV5Sql;
extern const std::string_view schemaV6Sql;
}  // namespace lpes::resources

namespace lpes::store {

std::span<const Migration> builtInMigrations() {
    static const std::array<Migration, kSchemaVersion> steps = {{
        {1, resources::schemaV1Sql},
        {2, resources::schemaV2Sql},
        {3, resources::schemaV3Sql},
        {4, resources::schemaV4Sql},
        {5, resources::schemaV5Sql},
        {6, resources::schemaV6Sql},
    }};
    return steps;
}

Result<Identity> identify(Connection& connection) {
    return connection.guarded([&]() -> Result<Identity> {
        Identity identity;
        const auto number = [&](const char* sql) {
            Query query = connection.query(sql);
            return query.next() ? query.integer(0) : 0;
        };
        identity.applicationId = number("PRAGMA application_id");
        identity.version = number("PRAGMA user_version");
        identity.objects = number("SELECT count(*) FROM sqlite_schema");
        return identity;
    });
}

Result<void> checkIdentity(const Connection& connection, const Identity& identity, int newestVersion) {
    if (identity.blank()) return {};
    const std::string file = connection.path().string();
    if (!identity.ours()) {
        return fail(ErrorCode::Database,
                    fmt::format("'{}' is not a data base of LPES Studio but one of another program; it was left as it "
                                "is; name another one with --db",
                                file),
                    fmt::format("application_id {:#x}", identity.applicationId));
    }
    if (identity.version > newestVersion) {
        return fail(ErrorCode::Database,
                    fmt::format("the data base '{}' has schema version {}, and this program knows versions up to {}; "
                                "update LPES Studio or name another data base with --db",
                                file, identity.version, newestVersion));
    }
    return {};
}

std::filesystem::path backupPath(std::filesystem::path database, std::int64_t version) {
    database += fmt::format(".v{}-backup", version);
    return database;
}

Result<void> backUp(Connection& connection, std::int64_t version) {
    const std::filesystem::path target = backupPath(connection.path(), version);
    std::filesystem::path part = target;
    part += ".part";
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
    const Result<void> copied = connection.guarded([&]() -> Result<void> {
        SQLite::Database copy(part.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        SQLite::Backup backup(copy, connection.database());
        backup.executeStep(-1);
        return {};
    });
    std::error_code failure;
    if (copied) std::filesystem::rename(part, target, failure);
    if (copied && !failure) return {};
    std::filesystem::remove(part, ignored);
    return fail(ErrorCode::Database,
                fmt::format("cannot back up the data base '{}' to '{}' before bringing it to a newer schema, so it was "
                            "left as it is; check that the folder is writable and has space",
                            connection.path().string(), target.string()),
                copied ? failure.message() : copied.error().detail);
}

Result<void> migrate(Connection& connection, std::int64_t version, std::span<const Migration> steps) {
    for (const Migration& step : steps) {
        if (step.to <= version) continue;
        Result<void> done = connection.transaction([&]() -> Result<void> {
            connection.database().exec(std::string(step.sql));
            connection.database().exec(fmt::format("PRAGMA user_version = {}", step.to));
            Query broken = connection.query("PRAGMA foreign_key_check");
            if (broken.next()) {
                return fail(ErrorCode::Database, {},
                            fmt::format("table {} refers to rows that do not exist", broken.text(0)));
            }
            return {};
        });
        if (!done) {
            return fail(
                ErrorCode::Database,
                fmt::format("cannot bring the data base '{}' from schema version {} to {}, so it was left as it "
                            "is; name another one with --db and report this",
                            connection.path().string(), step.to - 1, step.to),
                done.error().message.empty() ? done.error().detail : done.error().text());
        }
    }
    return {};
}

}  // namespace lpes::store
