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
        case StorageType::Q2_K:
            return "Q2_K";
        case StorageType::Q3_K:
            return "Q3_K";
        case StorageType::Q4_K:
            return "Q4_K";
        case StorageType::Q5_K:
            return "Q5_K";
        case StorageType::Q6_K:
            return "Q6_K";
        case StorageType::IQ4_NL:
            return "IQ4_NL";
        case StorageType::IQ4_XS:
            return "IQ4_XS";
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
        case StorageType::Q2_K:
            return {256, 16 + 64 + 2 + 2};
        case StorageType::Q3_K:
            return {256, 32 + 64 + 12 + 2};
        case StorageType::Q4_K:
            return {256, 2 + 2 + 12 + 128};
        case StorageType::Q5_K:
            return {256, 2 + 2 + 12 + 32 + 128};
        case StorageType::Q6_K:
            return {256, 128 + 64 + 16 + 2};
        case StorageType::IQ4_NL:
            return {32, 2 + 16};
        case StorageType::IQ4_XS:
            return {256, 2 + 2 + 4 + 128};
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
