#include "core/model/formats/dequantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/model/formats/block_kernels.h"
#include "core/model/formats/storage.h"

namespace lpes::model {

static_assert(std::endian::native == std::endian::little,
              "safetensors, PyTorch and GGUF files are little-endian, and bytes are used in place");

namespace {

const BlockKernels& kernels() {
#if defined(__x86_64__)
    static const BlockKernels& chosen =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") ? avx2BlockKernels() : portableBlockKernels();
#else
    static const BlockKernels& chosen = portableBlockKernels();
#endif
    return chosen;
}

}  // namespace

bool widenToFloat(StorageType type, const std::byte* in, std::size_t count, float* out) {
    return kernels().widen(type, in, count, out);
}

bool convertToBFloat16(StorageType type, const std::byte* in, std::size_t count, std::uint16_t* out) {
    std::uint32_t bad = 0;
    if (type == StorageType::BF16) {
        std::memcpy(out, in, count * sizeof(std::uint16_t));
        for (std::size_t i = 0; i < count; ++i) bad |= (out[i] & 0x7f80u) == 0x7f80u;
        return bad == 0;
    }
    constexpr std::size_t kChunk = 1024;  // a multiple of every block size, and small enough for the first cache
    std::array<float, kChunk> wide;
    const BlockSize size = blockSize(type);
    while (count > 0) {
        const std::size_t now = std::min(count, kChunk);
        bad |= !kernels().widen(type, in, now, wide.data());
        bad |= !kernels().round(wide.data(), now, out);
        in += now / static_cast<std::size_t>(size.elements) * static_cast<std::size_t>(size.bytes);
        out += now;
        count -= now;
    }
    return bad == 0;
}

}  // namespace lpes::model
