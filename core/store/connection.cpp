#include "core/store/connection.h"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <limits>
#include <new>
#include <utility>

#include "core/store/database_error.h"

namespace lpes::store {

Query::~Query() {
    // What was wrong was already thrown by the step. Bindings stay: every use binds every parameter again.
    m_statement->tryReset();
}

double Query::real(int column) const {
    return null(column) ? std::numeric_limits<double>::quiet_NaN() : m_statement->getColumn(column).getDouble();
}

Connection::Transaction::Transaction(Connection& connection) : m_connection(connection) {
    // IMMEDIATE takes the write lock now, where the busy timeout applies, and not at the first INSERT, where it may
    // not.
    m_connection.query("BEGIN IMMEDIATE").run();
}

Connection::Transaction::~Transaction() {
    // After a full disk or an I/O error SQLite may have rolled back by itself.
    sqlite3* handle = m_connection.m_database.getHandle();
    if (!m_committed && sqlite3_get_autocommit(handle) == 0)
        sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Connection::Transaction::commit() {
    m_connection.query("COMMIT").run();
    m_committed = true;
}

Connection::Connection(std::filesystem::path path, Access access)
    : m_path(std::move(path)),
      m_access(access),
      m_database(m_path.string(),
                 access == Access::ReadOnly ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                 kBusyTimeoutMs) {
    sqlite3_extended_result_codes(m_database.getHandle(), 1);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::filesystem::path& path, Access access) {
    std::unique_ptr<Connection> connection;
    try {
        connection.reset(new Connection(path, access));
    } catch (const SQLite::Exception& failure) {
        return fail(databaseError(path, access, failure.getExtendedErrorCode(), failure.what()));
    } catch (const std::bad_alloc&) {
        return fail(databaseError(path, access, SQLITE_NOMEM, "out of memory"));
    }
    sqlite3* handle = connection->m_database.getHandle();
    if (access == Access::ReadOnly) {
        sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    } else if (sqlite3_db_readonly(handle, "main") == 1) {
        // SQLite opens a write-protected file for reading without a word.
        return fail(databaseError(path, access, SQLITE_READONLY, "the file is write-protected"));
    }
    return connection;
}

Query Connection::query(const char* sql) {
    std::unique_ptr<SQLite::Statement>& statement = m_statements[sql];
    if (!statement) statement = std::make_unique<SQLite::Statement>(m_database, sql);
    return Query(*statement);
}

Error Connection::currentFailure() const {
    try {
        throw;
    } catch (const SQLite::Exception& failure) {
        return databaseError(m_path, m_access, failure.getExtendedErrorCode(), failure.what());
    } catch (const std::bad_alloc&) {
        return databaseError(m_path, m_access, SQLITE_NOMEM, "out of memory");
    } catch (const std::exception& failure) {
        return Error{
            ErrorCode::Database, fmt::format("work on the data base '{}' failed", m_path.string()), failure.what(), {}};
    }
}

}  // namespace lpes::store
