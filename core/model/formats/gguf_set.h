#pragma once

#include <filesystem>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/model/formats/gguf.h"

namespace lpes::model {

/// A GGUF model of one file or of a split set, with the mappings that its views point into.
struct MappedGguf {
    GgufFile gguf;  ///< metadata of the first file; tensors of all; trailing bytes of all
    std::vector<MappedFile> files;
};

/// Opens a GGUF file. When its split.count is above 1, it is one of a set NAME-00001-of-0000N.gguf as llama-gguf-split
/// writes it, and the whole set is opened, whichever of its files `path` is.
///
/// BadInput, besides what readGguf says: a file of a set that was renamed; missing files (listed); files whose
/// split.no or split.count say that they are of another set; another number of tensors than split.tensors.count; a
/// tensor that two files have.
[[nodiscard]] Result<MappedGguf> mapGguf(const std::filesystem::path& path);

}  // namespace lpes::model
