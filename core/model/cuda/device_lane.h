#pragma once

#include <cstdint>

#include "core/model/cuda/numeric.h"

namespace lpes::cuda {

/// What a kernel's body sees of the GPU: one thread of one block. tests/core/model_cuda has its twin on the CPU.
struct DeviceLane {
    __device__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ int threads() const { return static_cast<int>(blockDim.x); }
    __device__ std::int64_t block() const { return blockIdx.x; }
    __device__ int blockRow() const { return static_cast<int>(blockIdx.y); }
    __device__ unsigned char* shared() const {
        extern __shared__ __align__(16) unsigned char memory[];
        return memory;
    }
    __device__ void sync() const { __syncthreads(); }
    template <class Value>
    __device__ Value shuffleXor(Value value, int mask) const {
        return __shfl_xor_sync(0xffffffffu, value, mask);
    }
    /// c [16, 8] += a [16, 16] · b [16, 8] by all lanes of the warp; registers are laid out as PTX's mma.m16n8k16 says.
    template <class T>
    __device__ void multiplyAdd(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) const;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <>
__device__ inline void DeviceLane::multiplyAdd<BFloat16>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                         std::uint32_t b1) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void DeviceLane::multiplyAdd<Float16>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                        std::uint32_t b1) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

}  // namespace lpes::cuda
