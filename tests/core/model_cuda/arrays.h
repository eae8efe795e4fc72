#pragma once

#include <cstdint>
#include <vector>

#include "core/model/cuda/cuda_types.h"
#include "core/model/cuda/numeric.h"

namespace lpes::cuda {

/// Numbers from −1 to 1 that look random and are the same everywhere, rounded to T.
template <class T>
std::vector<T> numbers(std::size_t count, std::uint64_t seed) {
    std::vector<T> result(count);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
    for (T& value : result) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        value = fromFloat<T>(static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1.0));
    }
    return result;
}

template <class T>
constexpr DataType typeOf();
template <>
constexpr DataType typeOf<float>() {
    return DataType::Float32;
}
template <>
constexpr DataType typeOf<BFloat16>() {
    return DataType::BFloat16;
}
template <>
constexpr DataType typeOf<Float16>() {
    return DataType::Float16;
}

}  // namespace lpes::cuda
