#include <fmt/format.h>

#include <utility>

#include "core/store/file_system.h"
#include "core/store/run_merger.h"
#include "core/store/snapshot.h"
#include "core/store/sql_writer.h"

namespace lpes::store {

namespace {

/// Another data base beside that of a connection, as "other", for as long as the object lives.
class Attached {
  public:
    [[nodiscard]] static Result<void> attach(Connection& connection, const std::filesystem::path& file) {
        return connection.guarded([&]() -> Result<void> {
            connection.query("ATTACH DATABASE ? AS other").bind(file.string()).run();
            return {};
        });
    }
    explicit Attached(Connection& connection) : m_connection(connection) {}
    ~Attached() {
        // Nothing is written to it; a failure would only keep it attached until the connection closes.
        static_cast<void>(m_connection.guarded([&]() -> Result<void> {
            m_connection.query("DETACH DATABASE other").run();
            return {};
        }));
    }
    Attached(const Attached&) = delete;
    Attached& operator=(const Attached&) = delete;

  private:
    Connection& m_connection;
};

}  // namespace

Result<std::vector<MergedRun>> SqlWriter::merge(const std::filesystem::path& other) {
    const Result<std::filesystem::path> resolved = resolvedDatabasePath(other);
    if (!resolved) return fail(resolved.error());
    if (*resolved == m_connection->path()) {
        return fail(ErrorCode::Usage, fmt::format("'{}' is the data base that the runs are to be copied into; name "
                                                  "another file, or another data base with --db",
                                                  resolved->string()));
    }
    const std::lock_guard<std::mutex> lock(m_mutex);
    std::filesystem::path name = m_connection->path();
    const ScratchFile copy(name += ".merge");
    if (Result<void> taken = takeSnapshot(*resolved, copy); !taken) return fail(taken.error());
    if (Result<void> ready = Attached::attach(*m_connection, copy.path()); !ready) return fail(ready.error());
    const Attached attached(*m_connection);
    return m_connection->transaction(
        [&]() -> Result<std::vector<MergedRun>> { return RunMerger(*m_connection).mergeAll(); });
}

}  // namespace lpes::store
