#include "core/model/formats/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lpes::model {

std::string storageTypeName(StorageType type) {
    switch (type) {
        case StorageType::F32:
            return "F32";
        case StorageType::F16:
            return "F16";
        case StorageType::BF16:
            return "BF16";
        case StorageType::Q8_0:
            return "Q8_0";
        case StorageType::Q4_0:
            return "Q4_0";
        case StorageType::Q4_1:
            return "Q4_1";
        case StorageType::Q5_0:
            return "Q5_0";
        case StorageType::Q5_1:
            return "Q5_1";
    }
    return "?";
}

BlockSize blockSize(StorageType type) {
    switch (type) {
        case StorageType::F32:
            return {1, 4};
        case StorageType::F16:
            return {1, 2};
        case StorageType::BF16:
            return {1, 2};
        case StorageType::Q8_0:
            return {32, 2 + 32};
        case StorageType::Q4_0:
            return {32, 2 + 16};
        case StorageType::Q4_1:
            return {32, 2 + 2 + 16};
        case StorageType::Q5_0:
            return {32, 2 + 4 + 16};
        case StorageType::Q5_1:
            return {32, 2 + 2 + 4 + 16};
    }
    return {};
}

std::optional<std::int64_t> multiplied(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

std::optional<std::int64_t> elementCount(std::span<const std::int64_t> shape) {
    std::optional<std::int64_t> count = 1;
    for (const std::int64_t dim : shape) {
        count = multiplied(*count, dim);
        if (!count) return std::nullopt;
    }
    return count;
}

std::string shapeText(std::span<const std::int64_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace lpes::model
