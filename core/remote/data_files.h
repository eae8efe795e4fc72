#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::remote {

/// A data file, or a folder with all files in it, known by its content.
struct DataFiles {
    struct File {
        std::string name;  ///< beneath the root, with '/' between folders; of a single file its own name
        std::uint64_t bytes = 0;
    };
    std::filesystem::path root;
    std::string name;  ///< last part of the root
    bool folder = false;
    std::vector<File> files;  ///< in order of their names
    std::string key;          ///< SHA-256 over names and contents: equal on every machine

    [[nodiscard]] std::filesystem::path pathOf(const File& file) const { return folder ? root / file.name : root; }
};

/// BadInput when something beneath cannot be read. Follows symbolic links to files; reads every byte once.
[[nodiscard]] Result<DataFiles> listData(const std::filesystem::path& root);

}  // namespace lpes::remote
