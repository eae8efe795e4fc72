#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/formats/weight_source.h"

namespace lpes::model {

/// The inner loops of dequantize.h, compiled twice from one source (block_kernels_impl.h): for any processor, and for
/// x86-64 with AVX2 and F16C. Both give the same bits, because nothing is contracted to a fused multiply-add.
struct BlockKernels {
    /// `count` elements to float32, a multiple of the type's block. False when a scale or value is not finite.
    bool (*widen)(StorageType type, const std::byte* in, std::size_t count, float* out);
    /// float32 → bfloat16 bits, nearest even. False when a result is not finite.
    bool (*round)(const float* in, std::size_t count, std::uint16_t* out);
};

[[nodiscard]] const BlockKernels& portableBlockKernels();
/// Only where the processor has both; the portable ones where the program was not built for x86-64.
[[nodiscard]] const BlockKernels& avx2BlockKernels();

}  // namespace lpes::model
