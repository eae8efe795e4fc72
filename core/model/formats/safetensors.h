#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/model/formats/storage.h"

namespace lpes::model {

/// Checks a whole safetensors file and returns its table; the views point into `bytes`. Format: README of
/// huggingface/safetensors, "Format". As its reference library does, this refuses trailing bytes, gaps and overlaps
/// between tensors, a header above 100 MB, and duplicate keys.
///
/// BadInput: header length 0, beyond the file or beyond 100 MB; header not UTF-8 JSON; an offset pair that does not
/// match shape × dtype or lies outside the file. Unsupported: a dtype that the format does not have.
[[nodiscard]] Result<std::vector<StoredTensor>> readSafetensorsTable(std::span<const std::byte> bytes,
                                                                     const std::filesystem::path& file);

}  // namespace lpes::model
