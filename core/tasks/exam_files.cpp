#include "core/tasks/exam_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/files.h"

namespace lpes::tasks {

namespace {

using File = ExamFiles::File;
using ArchiveHandle = std::unique_ptr<archive, decltype(&archive_read_free)>;

constexpr std::array<std::string_view, 3> kSplits{"dev", "val", "test"};

/// "data/dev/anatomy_dev.csv" → anatomy, dev; nothing for every other name.
std::optional<File> parseName(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    const std::string split = path.parent_path().filename().string();
    const std::string ending = fmt::format("_{}.csv", split);
    if (std::find(kSplits.begin(), kSplits.end(), split) == kSplits.end()) return std::nullopt;
    // Archives made on a Mac hold a "._" twin of every file.
    if (!name.ends_with(ending) || name.size() == ending.size() || name.starts_with('.')) return std::nullopt;
    return File{name.substr(0, name.size() - ending.size()), split};
}

tl::unexpected<Error> damaged(const std::filesystem::path& path, archive* from) {
    const char* words = archive_error_string(from);
    return fail(ErrorCode::BadInput,
                fmt::format("'{}' is no readable archive (tar or zip), or a damaged or incomplete one; fetch it again, "
                            "or name the unpacked folder",
                            path.string()),
                words == nullptr ? "" : words);
}

ArchiveHandle openArchive(const std::filesystem::path& path) {
    ArchiveHandle handle(archive_read_new(), &archive_read_free);
    if (!handle) return handle;
    archive_read_support_format_tar(handle.get());
    archive_read_support_format_zip(handle.get());
    // Not archive_read_support_filter_all: that would start other programs for some compressions.
    archive_read_support_filter_gzip(handle.get());
    archive_read_support_filter_bzip2(handle.get());
    archive_read_support_filter_xz(handle.get());
    archive_read_open_filename(handle.get(), path.c_str(), 1 << 16);
    return handle;
}

/// The next regular file of an exam; false at the end.
Result<bool> nextFile(archive* from, const std::filesystem::path& path, std::int64_t& members, File& file) {
    for (;;) {
        archive_entry* entry = nullptr;
        const int status = archive_read_next_header(from, &entry);
        if (status == ARCHIVE_EOF) return false;
        if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return damaged(path, from);
        if (++members > ExamFiles::kMaxMembers || archive_filter_bytes(from, 0) > ExamFiles::kMaxArchiveBytes) {
            return fail(ErrorCode::BadInput,
                        fmt::format("'{}' has more than {} files or {} bytes; name the unpacked folder", path.string(),
                                    ExamFiles::kMaxMembers, ExamFiles::kMaxArchiveBytes));
        }
        const char* name = archive_entry_pathname(entry);
        if (name == nullptr || archive_entry_filetype(entry) != AE_IFREG) continue;
        if (auto parsed = parseName(name)) {
            file = std::move(*parsed);
            return true;
        }
    }
}

Result<std::string> memberText(archive* from, const std::filesystem::path& path, const std::string& where) {
    std::string text;
    std::array<char, 1 << 16> block{};
    for (;;) {
        const auto got = archive_read_data(from, block.data(), block.size());
        if (got < 0) return damaged(path, from);
        if (got == 0) return text;
        if (text.size() + static_cast<std::size_t>(got) > ExamFiles::kMaxFileBytes) {
            return fail(ErrorCode::BadInput, fmt::format("{} is larger than the {} bytes that are accepted", where,
                                                         ExamFiles::kMaxFileBytes));
        }
        text.append(block.data(), static_cast<std::size_t>(got));
    }
}

std::string memberName(const File& file) {
    return fmt::format("{0}/{1}_{0}.csv", file.split, file.subject);
}

}  // namespace

Result<void> ExamFiles::listFolder() {
    std::error_code error;
    for (const auto& folder : {m_path, m_path / "data"}) {
        for (const std::string_view split : kSplits) {
            for (std::filesystem::directory_iterator entry(folder / split, error), end; !error && entry != end;
                 entry.increment(error)) {
                if (auto file = parseName(entry->path())) m_files.push_back(std::move(*file));
            }
        }
        m_folder = folder;
        if (!m_files.empty()) return {};
    }
    return {};
}

Result<ExamFiles> ExamFiles::open(const std::filesystem::path& path) {
    ExamFiles exam;
    exam.m_path = path;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
        return fail(ErrorCode::BadInput,
                    fmt::format("cannot read '{}'; check the path and its permissions", path.string()));
    }
    if (std::filesystem::is_directory(path, ignored)) {
        if (auto listed = exam.listFolder(); !listed) return fail(listed.error());
    } else {
        const ArchiveHandle handle = openArchive(path);
        if (!handle) return fail(ErrorCode::OutOfMemory, fmt::format("not enough memory to read '{}'", path.string()));
        std::int64_t members = 0;
        for (File file;;) {
            const auto more = nextFile(handle.get(), path, members, file);
            if (!more) return fail(more.error());
            if (!*more) break;
            exam.m_files.push_back(file);
        }
    }
    std::sort(exam.m_files.begin(), exam.m_files.end());
    const auto twin = std::adjacent_find(exam.m_files.begin(), exam.m_files.end());
    if (twin != exam.m_files.end()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' holds '{}' twice; leave one of them", path.string(), memberName(*twin)));
    }
    if (exam.m_files.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' holds no exam; files such as 'dev/SUBJECT_dev.csv' are expected in a folder or a "
                                "tar archive",
                                path.string()));
    }
    return exam;
}

bool ExamFiles::has(const std::string& subject, const std::string& split) const {
    return std::binary_search(m_files.begin(), m_files.end(), File{subject, split});
}

Result<void> ExamFiles::read(const std::function<bool(const File&)>& wanted, const Visit& visit) const {
    if (m_folder.empty()) return readArchive(wanted, visit);
    for (const File& file : m_files) {
        if (!wanted(file)) continue;
        const auto path = m_folder / memberName(file);
        const auto text = readTextFile(path, kMaxFileBytes);
        if (!text) return fail(text.error());
        if (auto visited = visit(file, *text, fmt::format("'{}'", path.string())); !visited) return visited;
    }
    return {};
}

Result<void> ExamFiles::readArchive(const std::function<bool(const File&)>& wanted, const Visit& visit) const {
    const ArchiveHandle handle = openArchive(m_path);
    if (!handle) return fail(ErrorCode::OutOfMemory, fmt::format("not enough memory to read '{}'", m_path.string()));
    std::int64_t members = 0;
    for (File file;;) {
        const auto more = nextFile(handle.get(), m_path, members, file);
        if (!more) return fail(more.error());
        if (!*more) return {};
        if (!wanted(file)) continue;
        const std::string where = fmt::format("'{}' in '{}'", memberName(file), m_path.string());
        const auto text = memberText(handle.get(), m_path, where);
        if (!text) return fail(text.error());
        if (auto visited = visit(file, *text, where); !visited) return visited;
    }
}

}  // namespace lpes::tasks
