#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
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

/// The texts under `__metadata__`; none where the header has no such key. BadInput as readSafetensorsTable for the
/// header, and for a value that is no text.
[[nodiscard]] Result<std::map<std::string, std::string>> readSafetensorsMetadata(std::span<const std::byte> bytes,
                                                                                 const std::filesystem::path& file);

/// A tensor to write; values.size() is the product of the shape.
struct FloatTensor {
    std::string name;
    std::vector<std::int64_t> shape;  ///< row major
    std::span<const float> values;
};
/// A whole safetensors file with these float32 tensors, in this order; metadata and names are UTF-8.
[[nodiscard]] std::string makeSafetensors(std::span<const FloatTensor> tensors,
                                          const std::map<std::string, std::string>& metadata);

}  // namespace lpes::model
