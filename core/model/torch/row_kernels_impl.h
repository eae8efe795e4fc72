#pragma once

#include "core/model/torch/attention_kernels_impl.h"
#include "core/model/torch/row_kernels.h"
#include "core/model/torch/vector_math.h"

// Included once by each file that compiles it for an instruction set. Everything here is local to that file, and no
// header of the standard library with inline functions may be included: the linker would keep one copy of such a
// function, perhaps the one that other processors cannot run.
namespace lpes::model {
namespace {

using namespace lanes;

/// What a norm's weight makes of a normed value: a weight of the row's own type multiplies the rounded value, a float32
/// one beside bfloat16 the unrounded.
LPES_INLINE Floats weighted(const float*, const float*, Floats weight, Floats normed) {
    return weight * normed;
}
LPES_INLINE Floats weighted(const Bf16* tag, const Bf16*, Floats weight, Floats normed) {
    return weight * roundTo(tag, normed);
}
LPES_INLINE Floats weighted(const Bf16*, const float*, Floats weight, Floats normed) {
    return weight * normed;
}

template <class T, class W>
inline void normRow(T* x, const T* delta, const W* weight, float eps, std::int64_t size, T* out) {
    Floats squares{};
    const std::int64_t whole = size - size % kLanes, rest = size % kLanes;
    for (std::int64_t i = 0; i < whole; i += kLanes) {
        Floats value = load(x + i);
        if (delta) {
            value = roundTo(x, value + load(delta + i));
            store(x + i, value);
        }
        squares += value * value;
    }
    if (rest > 0) {
        Floats value = loadSome(x + whole, rest);
        if (delta) {
            value = roundTo(x, value + loadSome(delta + whole, rest));
            storeSome(x + whole, value, rest);
        }
        squares += value * value;
    }
    const Floats scale = broadcast(1.0f / __builtin_sqrtf(sum(squares) / static_cast<float>(size) + eps));
    for (std::int64_t i = 0; i < whole; i += kLanes) {
        store(out + i, weighted(x, weight, load(weight + i), load(x + i) * scale));
    }
    if (rest > 0) {
        storeSome(out + whole, weighted(x, weight, loadSome(weight + whole, rest), loadSome(x + whole, rest) * scale),
                  rest);
    }
}

template <class T, class W>
void normRows(T* x, const T* delta, const W* weight, float eps, std::int64_t size, T* out, std::int64_t begin,
              std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
        normRow(x + row * size, delta ? delta + row * size : nullptr, weight, eps, size, out + row * size);
    }
}

template <class T>
void addValues(T* x, const T* delta, std::int64_t count) {
    const std::int64_t whole = count - count % kLanes, rest = count % kLanes;
    for (std::int64_t i = 0; i < whole; i += kLanes) store(x + i, load(x + i) + load(delta + i));
    if (rest > 0) storeSome(x + whole, loadSome(x + whole, rest) + loadSome(delta + whole, rest), rest);
}

template <class T, class Gate>
void gateRows(const T* gates, std::int64_t gateStride, const T* ups, std::int64_t upStride, std::int64_t size, T* outs,
              std::int64_t begin, std::int64_t end) {
    const std::int64_t whole = size - size % kLanes, rest = size % kLanes;
    for (std::int64_t row = begin; row < end; ++row) {
        const T* gate = gates + row * gateStride;
        const T* up = ups + row * upStride;
        T* out = outs + row * size;
        for (std::int64_t i = 0; i < whole; i += kLanes) {
            store(out + i, roundTo(gate, Gate::of(load(gate + i))) * load(up + i));
        }
        if (rest > 0) {
            storeSome(out + whole, roundTo(gate, Gate::of(loadSome(gate + whole, rest))) * loadSome(up + whole, rest),
                      rest);
        }
    }
}

/// (a, b) → (round(a·cos) − round(b·sin), round(b·cos) + round(a·sin)), as transformers rounds it.
template <class T>
inline void rotateLanes(const T* tag, Floats a, Floats b, Floats cos, Floats sin, Floats& first, Floats& second) {
    first = roundTo(tag, a * cos) - roundTo(tag, b * sin);
    second = roundTo(tag, b * cos) + roundTo(tag, a * sin);
}

template <class T>
inline void rotateHead(const T* in, const T* cos, const T* sin, std::int64_t headDim, std::int64_t half, T* out) {
    const std::int64_t whole = half - half % kLanes, rest = half % kLanes;
    Floats first, second;
    for (std::int64_t i = 0; i < whole; i += kLanes) {
        rotateLanes(in, load(in + i), load(in + half + i), load(cos + i), load(sin + i), first, second);
        store(out + i, first);
        store(out + half + i, second);
    }
    if (rest > 0) {
        rotateLanes(in, loadSome(in + whole, rest), loadSome(in + half + whole, rest), loadSome(cos + whole, rest),
                    loadSome(sin + whole, rest), first, second);
        storeSome(out + whole, first, rest);
        storeSome(out + half + whole, second, rest);
    }
    for (std::int64_t i = 2 * half; i < headDim; ++i) out[i] = in[i];
}

template <class T>
void rotateRows(const T* in, std::int64_t inStride, std::int64_t heads, std::int64_t headDim, std::int64_t half,
                const T* cos, const T* sin, const std::int32_t* tableRows, T* out, std::int64_t headStride,
                std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t angles = tableRows[row] * half;
        for (std::int64_t head = 0; head < heads; ++head) {
            rotateHead(in + row * inStride + head * headDim, cos + angles, sin + angles, headDim, half,
                       out + head * headStride + row * headDim);
        }
    }
}

constexpr KernelSet kKernels{{normRows<float, float>, normRows<float, float>, addValues<float>, gateRows<float, Silu>,
                              gateRows<float, GeluTanh>, rotateRows<float>, attendRow<float>},
                             {normRows<Bf16, Bf16>, normRows<Bf16, float>, addValues<Bf16>, gateRows<Bf16, Silu>,
                              gateRows<Bf16, GeluTanh>, rotateRows<Bf16>, attendRow<Bf16>},
                             {softmaxBlock, packKeys, packValues, finishRow}};

}  // namespace
}  // namespace lpes::model
