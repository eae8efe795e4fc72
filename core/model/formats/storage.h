#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/formats/weight_source.h"

namespace lpes::model {

/// A tensor as its file's table describes it, inside the mapped bytes. The table was checked: `bytes` fits the shape.
struct StoredTensor {
    std::string name;
    std::vector<std::int64_t> shape;  ///< row major
    std::optional<StorageType> type;  ///< empty for a type that no weight may have
    std::string typeName;             ///< the file's own spelling
    std::span<const std::byte> bytes;
    std::filesystem::path file;
};

/// Elements per block (1, 32 or 256) and bytes per block.
struct BlockSize {
    std::int64_t elements = 1;
    std::int64_t bytes = 0;
};
[[nodiscard]] BlockSize blockSize(StorageType type);

/// a·b, empty when it does not fit into 63 bits; both ≥ 0.
[[nodiscard]] std::optional<std::int64_t> multiplied(std::int64_t a, std::int64_t b);
/// Product of the dimensions, empty when it does not fit. An empty shape has one element.
[[nodiscard]] std::optional<std::int64_t> elementCount(std::span<const std::int64_t> shape);
/// "[32, 8]"
[[nodiscard]] std::string shapeText(std::span<const std::int64_t> shape);

}  // namespace lpes::model
