#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace lpes {

/// A whole file as text. BadInput when it cannot be read or is larger than maxBytes (names file, size and limit).
[[nodiscard]] Result<std::string> readTextFile(const std::filesystem::path& path, std::size_t maxBytes = 256u << 20);

/// Writes beside the target, syncs, and renames over it: a reader sees the old file or the new one, never half of one.
/// Failed when the folder is missing or not writable, or the disk is full; nothing is left behind then.
[[nodiscard]] Result<void> writeFileAtomically(const std::filesystem::path& path, std::string_view bytes);

/// "'FILE': WHY", the words of a file that is not accepted.
[[nodiscard]] tl::unexpected<Error> refuseFile(const std::filesystem::path& path, const std::string& why,
                                               ErrorCode code = ErrorCode::BadInput);

/// A file mapped read-only into memory. Pages are read when touched. immutable; the mapping lives as long as the
/// object.
class MappedFile {
  public:
    /// BadInput when the file is missing, is not a regular file, cannot be read, or is empty.
    [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    [[nodiscard]] std::span<const std::byte> bytes() const { return m_bytes; }
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

    /// Takes the whole pages inside `part` of a mapping out of this process's memory; they come back from the system's
    /// cache or the disk when they are touched. A hint: nothing depends on it. thread-safe.
    static void dropPages(std::span<const std::byte> part);

  private:
    MappedFile() = default;
    std::span<const std::byte> m_bytes;
    std::filesystem::path m_path;
};

/// $XDG_DATA_HOME/lpes, else ~/.local/share/lpes: data base, models, profiles. Not created here.
[[nodiscard]] std::filesystem::path userDataFolder();

}  // namespace lpes
