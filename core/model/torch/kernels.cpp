#include "core/model/torch/kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "core/model/torch/device_kernels.h"
#include "core/model/torch/processor.h"
#include "core/model/torch/row_kernels.h"

namespace lpes::model::kernels {
namespace {

// Elements per task: enough work to be worth a thread.
constexpr std::int64_t kGrainElements = 16384;

bool& wideVectors() {
    static bool wide = hasWideVectors();
    return wide;
}

const KernelSet& kernelSet() {
    return wideVectors() ? avx512Kernels() : portableKernels();
}

template <class Body>
void forRows(std::int64_t rows, std::int64_t width, const Body& body) {
    at::parallel_for(0, rows, std::max<std::int64_t>(1, kGrainElements / std::max<std::int64_t>(1, width)), body);
}

template <class T>
T* data(const at::Tensor& tensor) {
    return static_cast<T*>(tensor.data_ptr());
}

/// Calls body with a value of the storage type.
template <class Body>
void withType(const at::Tensor& tensor, const Body& body) {
    if (tensor.scalar_type() == at::kBFloat16) {
        body(Bf16{});
    } else {
        TORCH_CHECK(tensor.scalar_type() == at::kFloat, "float32 or bfloat16 expected, got ", tensor.scalar_type());
        body(float{});
    }
}

}  // namespace

bool hasWideVectors() {
    return processor().avx512 && processor().avx512Bf16;
}
void useWideVectors(bool use) {
    wideVectors() = use && hasWideVectors();
}
const AttentionKernels& attentionKernels() {
    return kernelSet().attention;
}

template <>
const RowKernels<float>& rowKernels<float>() {
    return kernelSet().float32;
}
template <>
const RowKernels<Bf16>& rowKernels<Bf16>() {
    return kernelSet().bfloat16;
}

void addRmsNorm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double eps,
                const at::Tensor& out) {
    if (!x.is_cpu()) return device_kernels::addRmsNorm(x, delta, weight, eps, out);
    const std::int64_t size = x.size(1);
    const bool wide = weight.scalar_type() != x.scalar_type();
    withType(x, [&](auto tag) {
        using T = decltype(tag);
        const RowKernels<T>& rows = rowKernels<T>();
        T* added = delta.defined() ? data<T>(delta) : nullptr;
        forRows(x.size(0), size, [&](std::int64_t begin, std::int64_t end) {
            if (wide) {
                rows.wideNorm(data<T>(x), added, data<float>(weight), static_cast<float>(eps), size, data<T>(out),
                              begin, end);
            } else {
                rows.norm(data<T>(x), added, data<T>(weight), static_cast<float>(eps), size, data<T>(out), begin, end);
            }
        });
    });
}

void normHeads(const at::Tensor& x, const at::Tensor& weight, double eps) {
    if (!x.is_cpu()) return device_kernels::normHeads(x, weight, eps);
    const std::int64_t headDim = weight.size(0), heads = x.size(1) / headDim;
    const bool wide = weight.scalar_type() != x.scalar_type();
    withType(x, [&](auto tag) {
        using T = decltype(tag);
        const RowKernels<T>& rows = rowKernels<T>();
        forRows(x.size(0), x.size(1), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                T* values = data<T>(x) + row * x.stride(0);
                if (wide) {
                    rows.wideNorm(values, nullptr, data<float>(weight), static_cast<float>(eps), headDim, values, 0,
                                  heads);
                } else {
                    rows.norm(values, nullptr, data<T>(weight), static_cast<float>(eps), headDim, values, 0, heads);
                }
            }
        });
    });
}

void rmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps, const at::Tensor& out) {
    addRmsNorm(x, at::Tensor(), weight, eps, out);
}

void gatedActivation(Activation activation, const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out) {
    if (!gate.is_cpu()) return device_kernels::gatedActivation(activation, gate, up, out);
    const std::int64_t size = gate.size(1);
    withType(gate, [&](auto tag) {
        using T = decltype(tag);
        const RowKernels<T>& rows = rowKernels<T>();
        forRows(gate.size(0), size, [&](std::int64_t begin, std::int64_t end) {
            const auto gated = activation == Activation::Silu ? rows.siluMul : rows.geluMul;
            gated(data<T>(gate), gate.stride(0), data<T>(up), up.stride(0), size, data<T>(out), begin, end);
        });
    });
}

void rotateAndSplit(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const RotaryTable& table,
                    std::span<const std::int32_t> tableRows, const at::Tensor& qOut, const at::Tensor& kOut,
                    const at::Tensor& vOut) {
    if (!q.is_cpu()) return device_kernels::rotateAndSplit(q, k, v, table, tableRows, qOut, kOut, vOut);
    const std::int64_t headDim = qOut.size(2);
    withType(q, [&](auto tag) {
        using T = decltype(tag);
        const RowKernels<T>& rows = rowKernels<T>();
        const auto rotate = [&](const at::Tensor& in, const at::Tensor& out, std::int64_t begin, std::int64_t end) {
            rows.rotate(data<T>(in), in.stride(0), out.size(0), headDim, table.cos.size(1), data<T>(table.cos),
                        data<T>(table.sin), tableRows.data(), data<T>(out), out.stride(0), begin, end);
        };
        forRows(q.size(0), q.size(1) + k.size(1) + v.size(1), [&](std::int64_t begin, std::int64_t end) {
            rotate(q, qOut, begin, end);
            rotate(k, kOut, begin, end);
            const T* values = data<T>(v);
            T* target = data<T>(vOut);
            for (std::int64_t row = begin; row < end; ++row) {
                for (std::int64_t head = 0; head < vOut.size(0); ++head) {
                    std::memcpy(target + head * vOut.stride(0) + row * headDim,
                                values + row * v.stride(0) + head * headDim,
                                static_cast<std::size_t>(headDim) * sizeof(T));
                }
            }
        });
    });
}

}  // namespace lpes::model::kernels
