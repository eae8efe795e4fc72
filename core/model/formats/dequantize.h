#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/formats/weight_source.h"

/// Numbers as files store them → numbers to compute with. Block layouts and the order of the operations are ggml's;
/// they stand in block_kernels_impl.h. The result is the same on every processor.
namespace lpes::model {

/// `count` elements (a multiple of the block size) to float32. False when a value is not finite; `out` is filled all
/// the same. thread-safe.
[[nodiscard]] bool widenToFloat(StorageType type, const std::byte* in, std::size_t count, float* out);

/// The same to bfloat16 bits: computed in float32 and rounded to nearest even last. Rounding beyond the largest
/// bfloat16 counts as not finite.
[[nodiscard]] bool convertToBFloat16(StorageType type, const std::byte* in, std::size_t count, std::uint16_t* out);

}  // namespace lpes::model
