#include "core/model/torch/tile_attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/model/torch/tile_kernels.h"

namespace lpes::model {
namespace {

static_assert(kMostTileHeadDim == kMostTileDepth);

/// Keys that one packing task takes: a multiple of the kernel's block.
constexpr std::int64_t kPackedKeys = 512;
/// Groups of queries that are worth going through the keys together.
constexpr std::int64_t kUsefulGroups = 4;

constexpr std::int64_t roundUp(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}

struct PackedPart {
    std::int64_t begin = 0;  ///< of its first key/value head, in halves
    std::int64_t rows = 0;   ///< keys rounded up
};

/// `heads` query heads from `firstHead` on, of `queries` queries from `firstQuery` on.
struct Task {
    std::size_t part;
    std::int64_t kvHead, firstHead, heads, firstQuery, queries;
    std::int64_t scores;  ///< how much work it is
};

}  // namespace

void tileAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::span<const AttentionPart> parts,
                   const AttentionRule& rule, const at::Tensor& out, BlockAttentionScratch& scratch) {
    const TileKernels& kernel = tileKernels();
    const std::int64_t heads = q.size(0), kvHeads = k.size(0), headDim = q.size(2), group = heads / kvHeads;
    const std::int64_t padded = roundUp(headDim, kTileDepth);

    std::vector<PackedPart> packed;
    std::vector<Task> packing, tasks;
    std::int64_t halves = 0;
    const std::int64_t headsTogether = std::min(group, kMostTileGroups);
    const std::int64_t queriesTogether = std::max<std::int64_t>(1, kUsefulGroups / headsTogether) * kTileQueries;
    for (std::size_t index = 0; index < parts.size(); ++index) {
        const AttentionPart& part = parts[index];
        const std::int64_t past = part.keys - part.queries;
        packed.push_back({halves, roundUp(part.keys, kTileKeys)});
        halves += packed.back().rows * padded * kvHeads;
        for (std::int64_t head = 0; head < kvHeads; ++head) {
            for (std::int64_t first = rule.firstKey(past) / kPackedKeys * kPackedKeys; first < part.keys;
                 first += kPackedKeys) {
                packing.push_back({index, head, 0, 0, first, 0, 0});
            }
            for (std::int64_t inGroup = 0; inGroup < group; inGroup += headsTogether) {
                for (std::int64_t first = 0; first < part.queries; first += queriesTogether) {
                    const std::int64_t count = std::min(queriesTogether, part.queries - first);
                    const std::int64_t together = std::min(headsTogether, group - inGroup);
                    const std::int64_t keys = past + first + count - rule.firstKey(past + first);
                    tasks.push_back(
                        {index, head, head * group + inGroup, together, first, count, together * count * keys});
                }
            }
        }
    }
    // The largest first, so that the threads finish together. Which thread takes which does not matter to the result.
    std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.scores > b.scores; });

    std::uint16_t* packedKeys = BlockAttentionScratch::reserve<std::uint16_t>(scratch.keys, halves);
    std::uint16_t* packedValues = BlockAttentionScratch::reserve<std::uint16_t>(scratch.values, halves);
    const auto* qData = static_cast<const std::uint16_t*>(q.const_data_ptr());
    const auto* kData = static_cast<const std::uint16_t*>(k.const_data_ptr());
    const auto* vData = static_cast<const std::uint16_t*>(v.const_data_ptr());
    auto* outData = static_cast<std::uint16_t*>(out.data_ptr());

    at::parallel_for(0, static_cast<std::int64_t>(packing.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t index = begin; index < end; ++index) {
            const Task& task = packing[static_cast<std::size_t>(index)];
            const AttentionPart& part = parts[task.part];
            const PackedPart& target = packed[task.part];
            const std::int64_t first = task.firstQuery, source = (part.keyBegin + first) * headDim;
            const std::int64_t rows = std::min(kPackedKeys, target.rows - first);
            const std::int64_t offset = target.begin + (task.kvHead * target.rows + first) * padded;
            kernel.packKeys(kData + task.kvHead * k.stride(0) + source, part.keys - first, headDim, rows, padded,
                            packedKeys + offset);
            kernel.packValues(vData + task.kvHead * v.stride(0) + source, part.keys - first, headDim, rows, padded,
                              packedValues + offset);
        }
    });

    const auto run = [&](const Task& task, void* memory) {
        const AttentionPart& part = parts[task.part];
        const PackedPart& source = packed[task.part];
        const std::int64_t keyOffset = source.begin + task.kvHead * source.rows * padded;
        TileAttention work{};
        work.headDim = headDim;
        work.padded = padded;
        work.outStride = heads * headDim;
        work.keys = packedKeys + keyOffset;
        work.values = packedValues + keyOffset;
        work.window = rule.window;
        work.scale = static_cast<float>(rule.scale);
        work.softcap = static_cast<float>(rule.softcap);
        for (std::int64_t i = 0; i < task.queries; i += kTileQueries) {
            const std::int64_t row = part.queryBegin + task.firstQuery + i;
            for (std::int64_t head = task.firstHead; head < task.firstHead + task.heads; ++head) {
                work.groups[work.groupCount++] = {
                    qData + head * q.stride(0) + row * headDim, outData + row * work.outStride + head * headDim,
                    part.keys - part.queries + task.firstQuery + i, std::min(kTileQueries, task.queries - i)};
            }
        }
        kernel.attend(work, memory);
    };
    const std::int64_t threads = std::min<std::int64_t>(at::get_num_threads(), static_cast<std::int64_t>(tasks.size()));
    scratch.perThread.resize(std::max(scratch.perThread.size(), static_cast<std::size_t>(threads)));
    for (std::int64_t i = 0; i < threads; ++i) {
        (void)BlockAttentionScratch::reserve<std::byte>(scratch.perThread[static_cast<std::size_t>(i)],
                                                        kernel.scratchBytes);
    }
    std::atomic<std::size_t> next = 0;
    at::parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
        kernel.begin();
        for (std::int64_t i = begin; i < end; ++i) {
            void* memory = scratch.perThread[static_cast<std::size_t>(i)].data_ptr();
            for (std::size_t index = next++; index < tasks.size(); index = next++) run(tasks[index], memory);
        }
        kernel.end();
    });
}

}  // namespace lpes::model
