#pragma once

// Private to core/store.

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace lpes::store {

/// Name of the network file system ("NFS", "SMB", …) that a statfs f_type stands for; empty for a local one. FUSE and
/// 9p count as network: sshfs, and folders shared with a virtual machine, come under these names, and shared memory
/// (which WAL needs) is not reliable there either.
[[nodiscard]] std::string networkFileSystemName(std::uint32_t fType);

/// networkFileSystemName of the file system that holds `folder`. Database error when that cannot be found out.
[[nodiscard]] Result<std::string> networkFileSystemOf(const std::filesystem::path& folder);

/// `path` made absolute, symbolic links resolved: two spellings of one data base share one lock file. Database error
/// when a part of it cannot be examined, or when it is a folder.
[[nodiscard]] Result<std::filesystem::path> resolvedDatabasePath(const std::filesystem::path& path);

}  // namespace lpes::store
