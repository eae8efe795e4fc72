#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/model/cuda/column_sums.h"
#include "core/model/cuda/numeric.h"

namespace lpes::cuda {
namespace {

constexpr std::int64_t kBlock = 64;

/// Softmax of one row of scores in place.
void softmax(float* scores, std::int64_t count, float scale, float softcap) {
    float largest = -INFINITY;
    for (std::int64_t j = 0; j < count; ++j) {
        scores[j] *= scale;
        if (softcap > 0.0f) scores[j] = softcap * std::tanh(scores[j] / softcap);
        largest = std::max(largest, scores[j]);
    }
    double sum = 0.0;
    for (std::int64_t j = 0; j < count; ++j) {
        scores[j] = std::exp(scores[j] - largest);
        sum += static_cast<double>(scores[j]);
    }
    const float factor = static_cast<float>(1.0 / sum);
    for (std::int64_t j = 0; j < count; ++j) scores[j] *= factor;
}

/// Adds a head's shares to columns [S].
template <class T>
void addHead(const ColumnSumsTask& task, int head, std::vector<float>& scores, double* columns) {
    const std::int64_t dim = task.headDim, keys = task.keys, offset = keys - task.queries;
    const T* q = static_cast<const T*>(task.q) + head * task.qHeadStride;
    const T* k = static_cast<const T*>(task.k) + head / (task.heads / task.kvHeads) * task.kHeadStride;
    std::vector<float> queries(static_cast<std::size_t>(kBlock * dim)),
        transposed(static_cast<std::size_t>(dim * kBlock));
    for (std::int64_t first = 0; first < task.queries; first += kBlock) {
        const std::int64_t count = std::min(kBlock, task.queries - first);
        // A block of queries sees keys begin … end−1; scores [count, end − begin].
        const std::int64_t begin = task.window == 0 ? 0 : std::max<std::int64_t>(0, offset + first - task.window + 1);
        const std::int64_t end = offset + first + count, width = end - begin;
        scores.assign(static_cast<std::size_t>(count * width), 0.0f);
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t d = 0; d < dim; ++d) {
                queries[static_cast<std::size_t>(i * dim + d)] = toFloat(q[(first + i) * task.qRowStride + d]);
            }
        }
        for (std::int64_t keyBlock = begin; keyBlock < end; keyBlock += kBlock) {
            const std::int64_t present = std::min(kBlock, end - keyBlock);
            for (std::int64_t j = 0; j < kBlock; ++j) {
                for (std::int64_t d = 0; d < dim; ++d) {
                    transposed[static_cast<std::size_t>(d * kBlock + j)] =
                        j < present ? toFloat(k[(keyBlock + j) * task.kRowStride + d]) : 0.0f;
                }
            }
            for (std::int64_t i = 0; i < count; ++i) {
                float sums[kBlock] = {};
                for (std::int64_t d = 0; d < dim; ++d) {
                    const float value = queries[static_cast<std::size_t>(i * dim + d)];
                    const float* row = transposed.data() + d * kBlock;
                    for (std::int64_t j = 0; j < kBlock; ++j) sums[j] += value * row[j];
                }
                std::copy(sums, sums + present, scores.begin() + i * width + (keyBlock - begin));
            }
        }
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t position = offset + first + i;
            const std::int64_t from = task.window == 0 ? 0 : std::max<std::int64_t>(0, position - task.window + 1);
            float* row = scores.data() + i * width + (from - begin);
            softmax(row, position + 1 - from, static_cast<float>(task.scale), static_cast<float>(task.softcap));
            for (std::int64_t j = from; j <= position; ++j) columns[j] += static_cast<double>(row[j - from]);
        }
    }
}

}  // namespace

Status columnSumsCpu(const ColumnSumsTask& task) {
    Status status = checkTask(task);
    if (!status.ok()) return status;
    std::fill(task.mean, task.mean + task.keys, 0.0);
    std::vector<float> scores;
    std::vector<double> columns(static_cast<std::size_t>(task.keys));
    for (int head = 0; head < task.heads; ++head) {
        std::fill(columns.begin(), columns.end(), 0.0);
        switch (task.type) {
            case DataType::Float32:
                addHead<float>(task, head, scores, columns.data());
                break;
            case DataType::BFloat16:
                addHead<BFloat16>(task, head, scores, columns.data());
                break;
            case DataType::Float16:
                addHead<Float16>(task, head, scores, columns.data());
                break;
        }
        for (std::int64_t j = 0; j < task.keys; ++j) task.mean[j] += columns[static_cast<std::size_t>(j)];
        if (task.perHead) std::copy(columns.begin(), columns.end(), task.perHead + head * task.keys);
    }
    for (std::int64_t j = 0; j < task.keys; ++j) task.mean[j] /= task.heads;
    for (int s = 0; s < task.numSpans; ++s) {
        task.spanSums[s] = 0.0;
        for (std::int64_t j = task.spans[s].begin; j < task.spans[s].end; ++j) task.spanSums[s] += task.mean[j];
    }
    return {};
}

}  // namespace lpes::cuda
