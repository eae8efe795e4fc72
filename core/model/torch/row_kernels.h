#pragma once

#include <cstdint>

namespace lpes::model {

/// bfloat16 as stored: the upper half of a float.
struct Bf16 {
    std::uint16_t bits;
};

/// What happens to scores: attention_rule.h in the loops' types.
struct ScoreRule {
    float scale, softcap;
    std::int64_t window;
};

/// The inner loops of this folder's kernels, on plain rows of T = float or Bf16. Two sets are compiled from one source
/// (row_kernels_impl.h): a portable one, and one for AVX-512 with BF16 conversions. They agree within a rounding of the
/// result. Row and head strides count elements.
template <class T>
struct RowKernels {
    /// Rows begin … end−1: x += delta (unless nullptr), out = weight · round(x · rsqrt(mean(x²) + eps)).
    void (*norm)(T* x, const T* delta, const T* weight, float eps, std::int64_t size, T* out, std::int64_t begin,
                 std::int64_t end);
    /// The same with float32 weights and one rounding: out = round(x · rsqrt(mean(x²) + eps) · weight).
    void (*wideNorm)(T* x, const T* delta, const float* weight, float eps, std::int64_t size, T* out,
                     std::int64_t begin, std::int64_t end);
    /// x += delta, `count` values.
    void (*add)(T* x, const T* delta, std::int64_t count);
    /// out = round(silu(gate)) · up.
    void (*siluMul)(const T* gate, std::int64_t gateStride, const T* up, std::int64_t upStride, std::int64_t size,
                    T* out, std::int64_t begin, std::int64_t end);
    /// out = round(gelu(gate)) · up, GELU in its tanh form.
    void (*geluMul)(const T* gate, std::int64_t gateStride, const T* up, std::int64_t upStride, std::int64_t size,
                    T* out, std::int64_t begin, std::int64_t end);
    /// `heads` heads of headDim values each, the first 2·half of which are rotated by the angles in the row's row of
    /// cos and sin [·, half]; laid out by head.
    void (*rotate)(const T* in, std::int64_t inStride, std::int64_t heads, std::int64_t headDim, std::int64_t half,
                   const T* cos, const T* sin, const std::int32_t* tableRows, T* out, std::int64_t headStride,
                   std::int64_t begin, std::int64_t end);
    /// One query of each of `heads` heads, q [heads, size] with a head stride, against the same `count` keys and values
    /// [count, size]: softmax in float32 under the rule's scale and cap. out [heads, size]; scores: rowScores floats.
    void (*attend)(const T* q, std::int64_t qStride, std::int64_t heads, std::int64_t size, const T* keys,
                   const T* values, std::int64_t count, const ScoreRule& rule, float* scores, T* out);
};

/// Floats that RowKernels::attend works in.
constexpr std::int64_t rowScores(std::int64_t heads, std::int64_t size, std::int64_t count) {
    return heads * (count + 16) + (heads + 16) * (size + 16);
}

/// The inner loops of blockAttention.
struct AttentionKernels {
    /// Scores [rows, stride] → shares [rows, stride] in units of e^maximum; row i sees the first `visible` + i of
    /// `width` columns, of these the last rule.window (0: all); the rest gets 0. maxima and sums [rows] are kept up to
    /// date; results [rows, headDim] of earlier blocks (nullptr in the first) are brought to the new maxima.
    void (*softmaxBlock)(float* scores, std::int64_t stride, std::int64_t visible, std::int64_t rows,
                         std::int64_t width, std::int64_t headDim, const ScoreRule& rule, Bf16* shares, float* maxima,
                         float* sums, float* results);
    /// keys [count, 2·half] → pairs transposed, words [half, width]; columns from count on are zero.
    void (*packKeys)(const std::uint16_t* keys, std::int64_t count, std::int64_t half, std::int64_t width,
                     std::uint32_t* packed);
    /// values [count, headDim] → rows in pairs, words [rows/2, headDim]; rows from count on are zero.
    void (*packValues)(const std::uint16_t* values, std::int64_t count, std::int64_t headDim, std::int64_t rows,
                       std::uint32_t* packed);
    /// out[i] = results[i] / sum, headDim values.
    void (*finishRow)(const float* results, float sum, std::int64_t headDim, Bf16* out);
};

struct KernelSet {
    RowKernels<float> float32;
    RowKernels<Bf16> bfloat16;
    AttentionKernels attention;
};

[[nodiscard]] const KernelSet& portableKernels();
/// Only where processor().avx512 and processor().avx512Bf16.
[[nodiscard]] const KernelSet& avx512Kernels();

}  // namespace lpes::model
