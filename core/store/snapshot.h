#pragma once

// Private to core/store: data bases as files of their own, to be carried elsewhere or to be read at leisure.

#include <cstdint>
#include <filesystem>

#include "core/base/result.h"

namespace lpes::store {

/// A file that only this process knows; removed, with SQLite's helper files, when the object goes.
class ScratchFile {
  public:
    explicit ScratchFile(std::filesystem::path path);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

  private:
    void remove() const;
    std::filesystem::path m_path;
};

/// Copies a data base as it is at one moment, whoever writes to it, into `copy`, checks the copy, and brings it to the
/// newest schema. The copy has a rollback journal: it is one file. Database error as StoreReader::open (an older schema
/// is accepted), or when the copy cannot be written.
[[nodiscard]] Result<void> takeSnapshot(const std::filesystem::path& database, const ScratchFile& copy);

/// store::extractRun; may throw what std::filesystem throws.
[[nodiscard]] Result<void> extract(const std::filesystem::path& database, std::int64_t runId,
                                   const std::filesystem::path& file);

}  // namespace lpes::store
