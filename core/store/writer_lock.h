#pragma once

// Private to core/store.

#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace lpes::store {

/// "<data base>.lock", beside the data base.
[[nodiscard]] std::filesystem::path lockPath(const std::filesystem::path& database);

/// The right to write a data base, held by at most one object over all processes. It is an open-file-description lock
/// on the lock file: it conflicts within one process too, survives that somebody else closes a descriptor of the same
/// file, and the kernel drops it when the process dies. The file itself stays (removing it would let two writers lock
/// two different files of that name); its text, {"holder","pid","host"}, names the holder and is empty between writers.
/// thread-compatible.
class WriterLock {
  public:
    /// Does not wait. Database error: held by another (names holder, process, host), or the lock file cannot be made.
    [[nodiscard]] static Result<WriterLock> acquire(const std::filesystem::path& database, const std::string& holder);
    /// Whether anybody holds it, without taking it even for an instant. Database error when the lock file exists but
    /// cannot be examined.
    [[nodiscard]] static Result<bool> held(const std::filesystem::path& database);

    ~WriterLock();
    WriterLock(WriterLock&& other) noexcept;
    WriterLock& operator=(WriterLock&& other) noexcept;

  private:
    explicit WriterLock(int fd) : m_fd(fd) {}
    int m_fd = -1;
};

}  // namespace lpes::store
