#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/torch/attention_rule.h"
#include "core/model/torch/large_pages.h"

namespace lpes::model {

/// One prompt's rows in packed queries and keys; its queries are the last `queries` of its `keys` positions.
struct AttentionPart {
    std::int64_t queryBegin = 0, queries = 0;
    std::int64_t keyBegin = 0, keys = 0;
    /// Its queries go on with a prompt of the same pass, and are computed as they would be among that prompt's rows,
    /// however few they are.
    bool continues = false;
};

/// Buffers of blockAttention and tileAttention, used again from layer to layer. thread-compatible.
struct BlockAttentionScratch {
    at::Tensor keys, values;  ///< as the matrix units read them
    std::vector<at::Tensor> perThread;

    /// At least `count` values in a buffer that is aligned to a cache line.
    template <class T>
    static T* reserve(at::Tensor& buffer, std::int64_t count) {
        const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
        if (!buffer.defined() || buffer.nbytes() < static_cast<std::size_t>(bytes)) {
            buffer.reset();
            buffer = emptyOnLargePages({bytes}, at::kByte);
        }
        return static_cast<T*>(buffer.data_ptr());
    }
};

/// Does this machine have what blockAttention needs: bfloat16 matrix products of small blocks through oneDNN (AMX or
/// AVX512-BF16)? Then it takes head dimensions that are even. With AMX, tileAttention is faster.
[[nodiscard]] bool hasBlockAttention();

/// Causal attention of all parts in one go, bfloat16: q [H, N, D], k, v [K, M, D] with rows of D contiguous values and
/// any head stride → out [N, H·D] contiguous. Blocks of 64 queries meet blocks of 512 keys; softmax in float32 with a
/// running maximum (Milakov & Gimelshein 2018; Dao et al. 2022), probabilities rounded to bfloat16 for the product with
/// the values. Blocks of keys outside every query's window are skipped. The result does not depend on the number of
/// threads, nor on which prompts share the batch.
void blockAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::span<const AttentionPart> parts,
                    const AttentionRule& rule, const at::Tensor& out, BlockAttentionScratch& scratch);

}  // namespace lpes::model
