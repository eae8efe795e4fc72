#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// Records of a file on disk, to be read back in any order: memory holds their offsets alone. The file has no name, so
/// nothing is left behind however the process ends. It stands in $TMPDIR, else /var/tmp, which is a disk where /tmp may
/// be memory.
/// thread-safe once the last record is appended.
class RecordSpool {
  public:
    /// Failed when the folder is not writable (names it, and $TMPDIR as the remedy).
    [[nodiscard]] static Result<RecordSpool> create();
    ~RecordSpool();
    RecordSpool(RecordSpool&& other) noexcept;
    RecordSpool& operator=(RecordSpool&& other) noexcept;

    /// Puts a record behind the others. Failed when the disk is full.
    [[nodiscard]] Result<void> append(std::string_view record);
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(m_ends.size()); }
    /// 0 ≤ index < size().
    [[nodiscard]] Result<std::string> read(std::int64_t index) const;

  private:
    explicit RecordSpool(int file) : m_file(file) {}
    int m_file = -1;
    std::vector<std::int64_t> m_ends;  ///< offset behind each record
};

}  // namespace lpes::tasks
