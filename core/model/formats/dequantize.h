#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/formats/weight_source.h"

/// Numbers as files store them → numbers to compute with. Block layouts: block_q4_0 … block_q8_0 in ggml's
/// ggml-common.h (ggml-org/llama.cpp): a half scale d, for the …_1 formats a half minimum m, for the 5-bit formats 32
/// fifth bits, then the levels; element i of 0 … 15 is the low nibble of byte i, element 16 + i its high nibble.
namespace lpes::model {

/// `count` elements (a multiple of the block size) to float32. False when a value is not finite; `out` is filled all
/// the same. thread-safe.
[[nodiscard]] bool widenToFloat(StorageType type, const std::byte* in, std::size_t count, float* out);

/// The same to bfloat16 bits: computed in float32 and rounded to nearest even last. Rounding beyond the largest
/// bfloat16 counts as not finite.
[[nodiscard]] bool convertToBFloat16(StorageType type, const std::byte* in, std::size_t count, std::uint16_t* out);

}  // namespace lpes::model
