#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/model/formats/weight_source.h"

/// ggml's types with scales inside a block of 256, and the IQ4 types: simple quantisation (every value to the nearest
/// level of the largest magnitude's scale) and reading back, element by element. Part of block_quantizer.h.
namespace lpes::test {

/// Elements of a block: 32 for IQ4_NL, 256 for the others.
[[nodiscard]] std::size_t superBlockElements(model::StorageType type);
[[nodiscard]] std::size_t superBlockBytes(model::StorageType type);

/// Appends one block.
void encodeSuperBlock(std::span<const float> block, model::StorageType type, std::string& out);
/// Reads one block and moves `in` behind it.
void decodeSuperBlock(const char*& in, model::StorageType type, std::vector<float>& out);

}  // namespace lpes::test
