#include "core/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/descriptor.h"

namespace lpes {

namespace {

std::string systemError() {
    return std::strerror(errno);
}

}  // namespace

tl::unexpected<Error> refuseFile(const std::filesystem::path& path, const std::string& why, ErrorCode code) {
    return fail(code, fmt::format("'{}': {}", path.string(), why));
}

Result<std::string> readTextFile(const std::filesystem::path& path, std::size_t maxBytes) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0) {
        return fail(ErrorCode::BadInput,
                    fmt::format("cannot read '{}'; check the path and its permissions", path.string()), systemError());
    }
    struct stat info {};
    if (::fstat(file.fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        return fail(ErrorCode::BadInput, fmt::format("'{}' is not a file", path.string()));
    }
    const auto tooLarge = [&](const std::string& size) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}'{} is larger than the {} bytes that are accepted for a file of this kind",
                                path.string(), size, maxBytes));
    };
    if (S_ISREG(info.st_mode) && static_cast<std::uintmax_t>(info.st_size) > maxBytes) {
        return tooLarge(fmt::format(" ({} bytes)", info.st_size));
    }
    std::string text;
    char buffer[1 << 16];
    for (;;) {
        const ssize_t got = ::read(file.fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(ErrorCode::BadInput, fmt::format("cannot read '{}'", path.string()), systemError());
        if (got == 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > maxBytes) {
            return tooLarge("");
        }
    }
}

Result<void> writeFileAtomically(const std::filesystem::path& path, std::string_view bytes) {
    const auto refused = [&](const std::string& why) {
        return fail(
            ErrorCode::Failed,
            fmt::format("cannot write '{}'; check that the folder exists, is writable and has space", path.string()),
            why);
    };
    // A name of its own for every write, so that two threads do not write into one file.
    static std::atomic<unsigned> writes{0};
    const std::string part = fmt::format("{}.{}.{}.part", path.string(), ::getpid(), writes.fetch_add(1));
    const Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.fd < 0) return refused(systemError());
    while (!bytes.empty()) {
        const ssize_t put = ::write(file.fd, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            const std::string why = systemError();
            ::unlink(part.c_str());
            return refused(why);
        }
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    if (::fsync(file.fd) != 0 || ::rename(part.c_str(), path.c_str()) != 0) {
        const std::string why = systemError();
        ::unlink(part.c_str());
        return refused(why);
    }
    return {};
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd < 0) {
        return fail(ErrorCode::BadInput,
                    fmt::format("cannot read '{}'; check the path and its permissions", path.string()), systemError());
    }
    struct stat info {};
    if (::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return fail(ErrorCode::BadInput, fmt::format("'{}' is not a regular file", path.string()));
    }
    if (info.st_size == 0) return fail(ErrorCode::BadInput, fmt::format("'{}' is empty", path.string()));
    const auto size = static_cast<std::size_t>(info.st_size);
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
    if (address == MAP_FAILED) {
        return fail(ErrorCode::BadInput, fmt::format("cannot map '{}' into memory", path.string()), systemError());
    }
    MappedFile mapped;
    mapped.m_bytes = {static_cast<const std::byte*>(address), size};
    mapped.m_path = path;
    return mapped;
}

void MappedFile::dropPages(std::span<const std::byte> part) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
    if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
    if (!m_bytes.empty()) ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : m_bytes(std::exchange(other.m_bytes, {})), m_path(std::move(other.m_path)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_path, other.m_path);
    return *this;
}

std::filesystem::path userDataFolder() {
    if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data == '/') {
        return std::filesystem::path(data) / "lpes";
    }
    const char* home = std::getenv("HOME");
    return std::filesystem::path(home != nullptr && *home != '\0' ? home : "/") / ".local/share/lpes";
}

}  // namespace lpes
