#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::model {

/// A file inside a zip archive, stored as it is; views point into the archive's bytes.
struct ZipEntry {
    std::string_view name;
    std::span<const std::byte> bytes;
};

/// Checks the table of a zip archive whose files are stored without compression, as torch.save writes it, and returns
/// it in the archive's order (APPNOTE.TXT of PKWARE, zip64 included). Checksums are not looked at.
///
/// BadInput: no end record (a cut file has none), bytes behind it, a table that is not right in front of it; a count,
/// size or offset that does not fit the file; entries that overlap; a name that is empty, doubled, not printable ASCII,
/// absolute, or leads out of the archive. Unsupported by name: compression, encryption, archives in several files.
[[nodiscard]] Result<std::vector<ZipEntry>> readZipTable(std::span<const std::byte> bytes,
                                                         const std::filesystem::path& file);

}  // namespace lpes::model
