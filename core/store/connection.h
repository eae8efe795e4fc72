#pragma once

// Private to core/store: the one place where SQLite meets lpes::Result.

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/result.h"

namespace lpes::store {

inline constexpr int kBusyTimeoutMs = 5000;

/// How a connection may touch the file.
enum class Access { ReadOnly, ReadWrite };

/// One use of a cached statement: bound, stepped, and reset when it goes out of scope. The reset matters: a statement
/// left in the middle keeps its snapshot of the data base, and no checkpoint can pass it. Throws SQLite::Exception.
class Query {
  public:
    explicit Query(SQLite::Statement& statement) : m_statement(&statement) {}
    ~Query();
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    /// Binds to parameters 1, 2, … in order. A double that is NaN becomes NULL, as does an empty optional.
    template <class... Values>
    Query& bind(const Values&... values) {
        int index = 0;
        (bindOne(++index, values), ...);
        return *this;
    }
    /// Steps to the next row; false after the last one.
    [[nodiscard]] bool next() { return m_statement->executeStep(); }
    /// Runs a statement that returns no rows.
    void run() { m_statement->exec(); }

    [[nodiscard]] std::int64_t integer(int column) const { return m_statement->getColumn(column).getInt64(); }
    [[nodiscard]] int smallInteger(int column) const { return m_statement->getColumn(column).getInt(); }
    [[nodiscard]] std::string text(int column) const { return m_statement->getColumn(column).getString(); }
    [[nodiscard]] bool null(int column) const { return m_statement->isColumnNull(column); }
    /// NaN where the column is NULL.
    [[nodiscard]] double real(int column) const;

  private:
    template <class Value>
    void bindOne(int index, const Value& value) {
        if constexpr (std::is_same_v<Value, bool>) {
            m_statement->bind(index, value ? 1 : 0);
        } else if constexpr (std::is_integral_v<Value>) {
            m_statement->bind(index, static_cast<std::int64_t>(value));
        } else {
            m_statement->bind(index, value);
        }
    }
    template <class Value>
    void bindOne(int index, const std::optional<Value>& value) {
        if (value) {
            bindOne(index, *value);
        } else {
            m_statement->bind(index);
        }
    }
    void bindOne(int index, std::string_view value) { m_statement->bind(index, std::string(value)); }

    SQLite::Statement* m_statement;
};

/// An open data base file with its prepared statements. thread-compatible.
///
/// Nobody may open the data base file of a live connection in any other way in the same process: closing such a
/// descriptor would drop SQLite's POSIX locks behind its back. Hence all checks of the file go through SQLite.
class Connection {
  public:
    /// Opens `path` (absolute) with a busy timeout of 5 s. ReadWrite creates the file when it is missing. A read-only
    /// connection never checkpoints, not even as the last one to close. Database error when that fails; a file that is
    /// no data base shows at the first query only.
    [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const std::filesystem::path& path, Access access);

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
    [[nodiscard]] SQLite::Database& database() { return m_database; }

    /// A cached statement; the characters of `sql` must live as long as the program. The same statement must not be in
    /// use already. Throws.
    [[nodiscard]] Query query(const char* sql);

    /// Runs `work` (returns a Result) and turns whatever it throws into an Error that names the file.
    template <class Work>
    [[nodiscard]] std::invoke_result_t<Work> guarded(Work&& work) {
        try {
            return work();
        } catch (...) {
            return fail(currentFailure());
        }
    }

    /// guarded(), inside a transaction that is committed when the result is good and rolled back otherwise.
    template <class Work>
    [[nodiscard]] std::invoke_result_t<Work> transaction(Work&& work) {
        return guarded([&]() -> std::invoke_result_t<Work> {
            Transaction transaction(*this);
            std::invoke_result_t<Work> result = work();
            if (result) transaction.commit();
            return result;
        });
    }

  private:
    class Transaction {
      public:
        explicit Transaction(Connection& connection);
        ~Transaction();
        Transaction(const Transaction&) = delete;
        Transaction& operator=(const Transaction&) = delete;
        void commit();

      private:
        Connection& m_connection;
        bool m_committed = false;
    };

    Connection(std::filesystem::path path, Access access);
    /// The exception in flight as an Error; call inside a handler.
    [[nodiscard]] Error currentFailure() const;

    std::filesystem::path m_path;
    Access m_access;
    SQLite::Database m_database;
    std::map<std::string_view, std::unique_ptr<SQLite::Statement>> m_statements;
};

}  // namespace lpes::store
