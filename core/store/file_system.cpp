#include "core/store/file_system.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace lpes::store {

namespace {

struct NetworkType {
    std::uint32_t fType;
    const char* name;
};

// From linux/magic.h and the file systems' own sources, because the header lacks half of them.
constexpr NetworkType kNetworkTypes[] = {
    {0x00006969, "NFS"},  {0x0000517B, "SMB"},    {0xFF534D42, "CIFS"},  {0xFE534D42, "SMB2"},
    {0x5346414F, "AFS"},  {0x6B414653, "AFS"},    {0x73757245, "Coda"},  {0x01021997, "9p"},
    {0x65735546, "FUSE"}, {0x0000564C, "NCP"},    {0x00C36400, "Ceph"},  {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"}, {0xAAD7AAEA, "PanFS"}, {0x7461636F, "OCFS2"},
    {0x01161970, "GFS2"}, {0x786F4256, "vboxsf"},
};

}  // namespace

std::string networkFileSystemName(std::uint32_t fType) {
    for (const NetworkType& type : kNetworkTypes) {
        if (type.fType == fType) return type.name;
    }
    return {};
}

Result<std::string> networkFileSystemOf(const std::filesystem::path& folder) {
    struct statfs info {};
    if (::statfs(folder.c_str(), &info) != 0) {
        return fail(ErrorCode::Database,
                    fmt::format("cannot find out which file system holds '{}'; check the path and its permissions",
                                folder.string()),
                    std::strerror(errno));
    }
    return networkFileSystemName(static_cast<std::uint32_t>(info.f_type));
}

Result<std::filesystem::path> resolvedDatabasePath(const std::filesystem::path& path) {
    std::error_code failure;
    const auto refused = [&](const char* why) {
        return fail(ErrorCode::Database,
                    fmt::format("'{}' cannot be a data base: {}; name another one with --db", path.string(), why),
                    failure ? failure.message() : std::string());
    };
    if (path.filename().empty()) return refused("a file name is missing");
    const std::filesystem::path absolute = std::filesystem::absolute(path, failure);
    if (failure) return refused("the current folder is not accessible");
    const std::filesystem::path resolved = std::filesystem::weakly_canonical(absolute, failure);
    if (failure) return refused("a folder on the way to it is not accessible");
    if (std::filesystem::is_directory(resolved, failure)) return refused("it is a folder");
    return resolved;
}

}  // namespace lpes::store
