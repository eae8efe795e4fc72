#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lpes::test {

enum class ArchiveKind { Tar, TarGz, Zip };

/// An archive of regular files, in the given order.
inline std::string archiveBytes(const std::vector<std::pair<std::string, std::string>>& files,
                                ArchiveKind kind = ArchiveKind::TarGz) {
    std::string bytes(1 << 24, '\0');
    std::size_t used = 0;
    archive* out = archive_write_new();
    kind == ArchiveKind::Zip ? archive_write_set_format_zip(out) : archive_write_set_format_pax_restricted(out);
    if (kind == ArchiveKind::TarGz) archive_write_add_filter_gzip(out);
    archive_write_open_memory(out, bytes.data(), bytes.size(), &used);
    for (const auto& [name, text] : files) {
        archive_entry* entry = archive_entry_new();
        archive_entry_set_pathname(entry, name.c_str());
        archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        const bool written = archive_write_header(out, entry) == ARCHIVE_OK &&
                             archive_write_data(out, text.data(), text.size()) == static_cast<la_ssize_t>(text.size());
        archive_entry_free(entry);
        if (!written) throw std::runtime_error("archive_write");
    }
    archive_write_close(out);
    archive_write_free(out);
    bytes.resize(used);
    return bytes;
}

}  // namespace lpes::test
