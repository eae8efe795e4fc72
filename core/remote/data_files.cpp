#include "core/remote/data_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/base/checksum.h"
#include "core/base/files.h"

namespace lpes::remote {

namespace fs = std::filesystem;

namespace {

Error unreadable(const fs::path& path, const std::string& why) {
    return {ErrorCode::BadInput,
            fmt::format("cannot read '{}'; check the path and its permissions", path.string()),
            why,
            {}};
}

Result<std::string> contentHash(const fs::path& file, std::uint64_t bytes) {
    Sha256 hash;
    if (bytes > 0) {
        const auto mapped = MappedFile::open(file);
        if (!mapped) return fail(mapped.error());
        hash.add(mapped->bytes());
    }
    return hash.hex();
}

}  // namespace

Result<DataFiles> listData(const fs::path& root) {
    DataFiles data;
    std::error_code error;
    data.root = fs::canonical(root, error);
    if (error) return fail(unreadable(root, error.message()));
    data.name = data.root.filename().string();
    data.folder = fs::is_directory(data.root, error);
    if (data.folder) {
        for (fs::recursive_directory_iterator at(data.root, error), end; !error && at != end; at.increment(error)) {
            std::error_code dangling;  // a link to nowhere is no file
            if (at->is_regular_file(dangling)) {
                data.files.push_back({at->path().lexically_relative(data.root).generic_string(), 0});
            }
        }
        if (error) return fail(unreadable(root, error.message()));
        std::sort(data.files.begin(), data.files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    } else {
        data.files.push_back({data.name, 0});
    }
    Sha256 key;
    for (DataFiles::File& file : data.files) {
        file.bytes = fs::file_size(data.pathOf(file), error);
        if (error) return fail(unreadable(data.pathOf(file), error.message()));
        const auto hash = contentHash(data.pathOf(file), file.bytes);
        if (!hash) return fail(hash.error());
        // A single file keeps its name: benchmarks are told apart by it.
        key.add(fmt::format("{}\n{}\n{}\n", file.name, file.bytes, *hash));
    }
    data.key = key.hex();
    return data;
}

}  // namespace lpes::remote
