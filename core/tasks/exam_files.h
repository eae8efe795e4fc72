#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// The CSV files of an exam in subjects: "<split>/<subject>_<split>.csv" with split dev, val or test, as MMLU and
/// C-Eval publish them. They stand in a folder (there or below its "data/"), or at any depth in an archive: tar, plain
/// or compressed with gzip, bzip2 or xz, or zip. Nothing of an archive is written to disk, so its paths can do no harm.
/// immutable.
class ExamFiles {
  public:
    static constexpr std::size_t kMaxFileBytes = std::size_t{32} << 20;
    static constexpr std::int64_t kMaxMembers = 100'000;
    static constexpr std::int64_t kMaxArchiveBytes = std::int64_t{4} << 30;  ///< decompressed

    struct File {
        std::string subject, split;
        friend auto operator<=>(const File&, const File&) = default;
    };

    /// Lists the files. BadInput when the path is missing, is neither folder nor archive, holds none of them or one of
    /// them twice, and for an archive that is damaged, incomplete, or above the limits.
    [[nodiscard]] static Result<ExamFiles> open(const std::filesystem::path& path);

    [[nodiscard]] const std::vector<File>& files() const { return m_files; }  ///< by subject, then split
    [[nodiscard]] bool has(const std::string& subject, const std::string& split) const;

    /// Hands the texts of the wanted files to `visit`, one at a time, in the order in which they lie; `where` names
    /// archive and member in quotes. Ends at the first error of `visit`. BadInput for a file above kMaxFileBytes, and
    /// as open().
    using Visit = std::function<Result<void>(const File& file, std::string_view text, const std::string& where)>;
    [[nodiscard]] Result<void> read(const std::function<bool(const File&)>& wanted, const Visit& visit) const;

  private:
    [[nodiscard]] Result<void> listFolder();
    [[nodiscard]] Result<void> readArchive(const std::function<bool(const File&)>& wanted, const Visit& visit) const;

    std::filesystem::path m_path;
    std::filesystem::path m_folder;  ///< that holds the splits; empty: m_path is an archive
    std::vector<File> m_files;
};

}  // namespace lpes::tasks
