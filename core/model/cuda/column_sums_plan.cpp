#include "core/model/cuda/column_sums_plan.h"

#include <string>

namespace lpes::cuda {
namespace {

constexpr std::int64_t kMostPositions = std::int64_t{1} << 30;  // grids stay within a GPU's limits
constexpr int kMostHeads = 65535;

std::size_t columnBytes(const ColumnSumsTask& task) {
    return sizeof(double) * static_cast<std::size_t>(task.heads) * static_cast<std::size_t>(task.keys);
}

}  // namespace

Status checkTask(const ColumnSumsTask& task) {
    if (task.heads < 1 || task.heads > kMostHeads || task.kvHeads < 1 || task.heads % task.kvHeads != 0) {
        return Status::failure(std::to_string(task.heads) + " query heads do not share " +
                               std::to_string(task.kvHeads) + " key heads evenly");
    }
    if (task.headDim < 1 || task.queries < 1 || task.keys > kMostPositions || task.queries > task.keys) {
        return Status::failure("attention of " + std::to_string(task.queries) + " queries to " +
                               std::to_string(task.keys) + " keys of " + std::to_string(task.headDim) +
                               " values cannot be summed; there must be one query at least and a key for each");
    }
    if (!task.q || !task.k || !task.mean || task.qRowStride < 0 || task.kRowStride < 0 || task.qHeadStride < 0 ||
        task.kHeadStride < 0) {
        return Status::failure("queries, keys or the result's place are missing");
    }
    if (task.numSpans < 0 || (task.numSpans > 0 && (!task.spans || !task.spanSums))) {
        return Status::failure("spans of keys or the place of their sums are missing");
    }
    if (!std::isfinite(task.scale) || !std::isfinite(task.softcap) || task.softcap < 0.0 || task.window < 0) {
        return Status::failure("scale " + std::to_string(task.scale) + ", softcap " + std::to_string(task.softcap) +
                               " and window " + std::to_string(task.window) + " do not describe an attention");
    }
    return {};
}

std::size_t columnSumsScratchBytes(const ColumnSumsTask& task) {
    return columnBytes(task) +
           sizeof(float) * static_cast<std::size_t>(task.heads) * static_cast<std::size_t>(task.queries);
}

bool fitsMatrixUnits(const ColumnSumsTask& task) {
    const auto aligned = [](const void* data, std::int64_t headStride, std::int64_t rowStride) {
        return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && headStride % 8 == 0 && rowStride % 8 == 0;
    };
    return elementBytes(task.type) == 2 && task.headDim % 8 == 0 && task.headDim <= 256 &&
           aligned(task.q, task.qHeadStride, task.qRowStride) && aligned(task.k, task.kHeadStride, task.kRowStride);
}

ColumnArguments argumentsOf(const ColumnSumsTask& task, void* scratch) {
    ColumnArguments a{};
    a.q = task.q;
    a.k = task.k;
    a.qHeadStride = task.qHeadStride;
    a.qRowStride = task.qRowStride;
    a.kHeadStride = task.kHeadStride;
    a.kRowStride = task.kRowStride;
    a.queries = task.queries;
    a.keys = task.keys;
    a.window = task.window;
    a.heads = task.heads;
    a.group = task.heads / task.kvHeads;
    a.headDim = task.headDim;
    constexpr double kLog2E = 1.4426950408889634;
    a.scale = static_cast<float>(task.scale * kLog2E);
    a.cap = static_cast<float>(task.softcap * kLog2E);
    a.slope = task.softcap > 0.0 ? static_cast<float>(2.0 * task.scale * kLog2E / task.softcap) : 0.0f;
    a.columns = task.perHead ? task.perHead : static_cast<double*>(scratch);
    a.logSums = reinterpret_cast<float*>(static_cast<unsigned char*>(scratch) + columnBytes(task));
    return a;
}

}  // namespace lpes::cuda
