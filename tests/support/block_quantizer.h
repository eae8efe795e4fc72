#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/model/formats/weight_source.h"

/// Storing numbers as F16, BF16 and ggml's blocks of 32 and 256, and reading them back: written apart from core's own
/// reader, so that each checks the other. Block layouts: ggml's block_q4_0 … block_q8_0; quantisation as gguf-py's
/// quants.py.
namespace lpes::test {

/// Bytes of `values` in `type`; a multiple of 32 values for the Q formats and IQ4_NL, of 256 for the K formats and
/// IQ4_XS.
[[nodiscard]] std::string encode(std::span<const float> values, model::StorageType type);
[[nodiscard]] std::vector<float> decode(const std::string& bytes, model::StorageType type);

/// Nearest even; overflow becomes infinity.
[[nodiscard]] std::uint16_t toHalf(float value);
[[nodiscard]] float fromHalf(std::uint16_t bits);

}  // namespace lpes::test
