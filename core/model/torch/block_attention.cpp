#include "core/model/torch/block_attention.h"

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/model/torch/kernels.h"

namespace lpes::model {
namespace {

constexpr std::int64_t kQueryBlock = 64;
constexpr std::int64_t kKeyBlock = 512;
// Shapes are rounded up to these steps: every distinct shape is a kernel that oneDNN has to generate.
constexpr std::int64_t kQueryStep = 16;
constexpr std::int64_t kKeyStep = 64;
constexpr float kNoScore = -std::numeric_limits<float>::infinity();

constexpr std::int64_t roundUp(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}

struct Task {
    const AttentionPart* part;
    std::int64_t head, firstQuery;
};

/// Where a part's packed keys and values begin, in words, for its first key/value head.
struct PackedPart {
    std::int64_t keys = 0, values = 0;  ///< offsets
    std::int64_t padded = 0;            ///< keys rounded up
};

struct Shapes {
    std::int64_t headDim, group, qHeadStride, outWidth;
};

/// Columns of the key block that starts at `first`, as packed.
std::int64_t blockWidth(const PackedPart& packed, std::int64_t first) {
    return std::min(kKeyBlock, packed.padded - first);
}

void attendBlock(const Task& task, const PackedPart& packed, const Shapes& shapes, const AttentionRule& rule,
                 const at::BFloat16* q, const std::uint32_t* packedKeys, const std::uint32_t* packedValues, Bf16* out,
                 float* scratch) {
    const AttentionKernels& kernel = kernels::attentionKernels();
    const std::int64_t headDim = shapes.headDim;
    const AttentionPart& part = *task.part;
    const std::int64_t rows = std::min(kQueryBlock, part.queries - task.firstQuery), m = roundUp(rows, kQueryStep);
    const std::int64_t past = part.keys - part.queries, lastKey = past + task.firstQuery + rows;
    const std::int64_t kvHead = task.head / shapes.group;
    float* scores = scratch;
    float* sums = scores + kQueryBlock * kKeyBlock;
    float* maxima = sums + kQueryBlock;
    float* result = maxima + kQueryBlock;
    auto* shares = reinterpret_cast<Bf16*>(result + kQueryBlock * headDim);
    auto* queries = reinterpret_cast<at::BFloat16*>(shares + kQueryBlock * kKeyBlock);

    const at::BFloat16* source = q + task.head * shapes.qHeadStride + (part.queryBegin + task.firstQuery) * headDim;
    std::copy_n(source, rows * headDim, queries);
    std::fill_n(queries + rows * headDim, (m - rows) * headDim, at::BFloat16(0.0f));
    std::fill_n(sums, kQueryBlock, 0.0f);
    std::fill_n(maxima, kQueryBlock, kNoScore);

    const std::int64_t begin = rule.firstKey(past + task.firstQuery) / kKeyBlock * kKeyBlock;
    for (std::int64_t firstKey = begin; firstKey < lastKey; firstKey += kKeyBlock) {
        const std::int64_t width = std::min(kKeyBlock, roundUp(lastKey - firstKey, kKeyStep));
        const std::int64_t packedWidth = blockWidth(packed, firstKey);
        const std::uint32_t* keys = packedKeys + packed.keys + (kvHead * packed.padded + firstKey) * (headDim / 2);
        const std::uint32_t* values = packedValues + packed.values + (kvHead * packed.padded + firstKey) / 2 * headDim;
        at::native::cpublas::brgemm(m, width, headDim, headDim, packedWidth, kKeyBlock, false, queries,
                                    reinterpret_cast<const at::BFloat16*>(keys), scores, true);
        const ScoreRule scoreRule{static_cast<float>(rule.scale), static_cast<float>(rule.softcap), rule.window};
        kernel.softmaxBlock(scores, kKeyBlock, past + task.firstQuery - firstKey + 1, rows, width, headDim, scoreRule,
                            shares, maxima, sums, firstKey > begin ? result : nullptr);
        std::fill_n(reinterpret_cast<std::uint16_t*>(shares + rows * kKeyBlock), (m - rows) * kKeyBlock,
                    std::uint16_t{0});
        at::native::cpublas::brgemm(m, headDim, width, kKeyBlock, headDim, headDim, firstKey > begin,
                                    reinterpret_cast<const at::BFloat16*>(shares),
                                    reinterpret_cast<const at::BFloat16*>(values), result, true);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
        kernel.finishRow(result + row * headDim, sums[row], headDim,
                         out + (part.queryBegin + task.firstQuery + row) * shapes.outWidth + task.head * headDim);
    }
}

}  // namespace

#ifdef CPUBLAS_BRGEMM_BF16BF16F32
bool hasBlockAttention() {
    static const bool has = at::native::cpublas::could_pack(at::kBFloat16);
    return has;
}
#else
bool hasBlockAttention() {
    return false;
}
#endif

void blockAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::span<const AttentionPart> parts,
                    const AttentionRule& rule, const at::Tensor& out, BlockAttentionScratch& scratch) {
    const std::int64_t heads = q.size(0), kvHeads = k.size(0), headDim = q.size(2);
    const Shapes shapes{headDim, heads / kvHeads, q.stride(0), heads * headDim};

    std::vector<PackedPart> packed;
    std::vector<Task> tasks;
    std::int64_t words = 0;
    for (const AttentionPart& part : parts) {
        packed.push_back({words, words, roundUp(part.keys, kKeyStep)});
        words += packed.back().padded * headDim / 2 * kvHeads;
    }
    std::uint32_t* packedKeys = BlockAttentionScratch::reserve<std::uint32_t>(scratch.keys, words);
    std::uint32_t* packedValues = BlockAttentionScratch::reserve<std::uint32_t>(scratch.values, words);
    const AttentionKernels& kernel = kernels::attentionKernels();
    const auto* kData = static_cast<const std::uint16_t*>(k.const_data_ptr());
    const auto* vData = static_cast<const std::uint16_t*>(v.const_data_ptr());
    at::parallel_for(
        0, static_cast<std::int64_t>(parts.size()) * kvHeads, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t index = begin; index < end; ++index) {
                const std::int64_t which = index / kvHeads, head = index % kvHeads;
                const AttentionPart& part = parts[static_cast<std::size_t>(which)];
                const PackedPart& target = packed[static_cast<std::size_t>(which)];
                const std::int64_t headWords = target.padded * headDim / 2;
                for (std::int64_t first = 0; first < target.padded; first += kKeyBlock) {
                    const std::int64_t rows = part.keys - first, width = blockWidth(target, first), half = headDim / 2;
                    const std::int64_t source = (part.keyBegin + first) * headDim;
                    const std::int64_t offset = head * headWords + first * half;
                    kernel.packKeys(kData + head * k.stride(0) + source, rows, half, width,
                                    packedKeys + target.keys + offset);
                    kernel.packValues(vData + head * v.stride(0) + source, rows, headDim, width,
                                      packedValues + target.values + offset);
                }
            }
        });

    // A block of early queries beside one of late queries, so that equal numbers of tasks are equal amounts of work.
    for (const AttentionPart& part : parts) {
        const std::int64_t blocks = (part.queries + kQueryBlock - 1) / kQueryBlock;
        for (std::int64_t head = 0; head < heads; ++head) {
            for (std::int64_t i = 0; i < blocks; ++i) {
                const std::int64_t block = i % 2 == 0 ? i / 2 : blocks - 1 - i / 2;
                tasks.push_back({&part, head, block * kQueryBlock});
            }
        }
    }
    const std::int64_t scratchFloats = kQueryBlock * (kKeyBlock + 2 + headDim + kKeyBlock / 2 + headDim / 2);
    const auto threads = static_cast<std::size_t>(at::get_num_threads());
    scratch.perThread.resize(std::max(scratch.perThread.size(), threads));
    for (at::Tensor& buffer : scratch.perThread) (void)BlockAttentionScratch::reserve<float>(buffer, scratchFloats);
    const auto* qData = static_cast<const at::BFloat16*>(q.const_data_ptr());
    at::parallel_for(0, static_cast<std::int64_t>(tasks.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        auto* own = static_cast<float*>(scratch.perThread[static_cast<std::size_t>(at::get_thread_num())].data_ptr());
        for (std::int64_t index = begin; index < end; ++index) {
            const Task& task = tasks[static_cast<std::size_t>(index)];
            attendBlock(task, packed[static_cast<std::size_t>(task.part - parts.data())], shapes, rule, qData,
                        packedKeys, packedValues, static_cast<Bf16*>(out.data_ptr()), own);
        }
        at::native::cpublas::brgemm_release();
    });
}

}  // namespace lpes::model
