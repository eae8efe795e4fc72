#include <algorithm>
#include <cstdint>
#include <string>

#include "core/model/cuda/rope_body.h"

namespace lpes::cuda {
namespace {

template <class T>
void carry(const RopeHeads& heads, const RopeTask& task, std::int64_t row, int first) {
    for (int head = 0; head < heads.heads; ++head) {
        const T* from = headFrom<T>(heads, row, head, task.headDim);
        T* to = headTo<T>(heads, row, head);
        if (to != from) std::copy(from + first, from + task.headDim, to + first);
    }
}

template <class T>
void rotate(const RopeHeads& heads, const RopeTask& task, std::int64_t row) {
    const int half = task.rotaryDim / 2;
    const std::int64_t angles = (task.tableRows ? task.tableRows[row] : task.firstTableRow + row) * half;
    const T* cosines = static_cast<const T*>(task.cos) + angles;
    const T* sines = static_cast<const T*>(task.sin) + angles;
    for (int head = 0; head < heads.heads; ++head) {
        const T* from = headFrom<T>(heads, row, head, task.headDim);
        T* to = headTo<T>(heads, row, head);
        for (int i = 0; i < half; ++i) {
            T first = from[i], second = from[half + i];
            rotatePair(first, second, cosines[i], sines[i]);
            to[i] = first;
            to[half + i] = second;
        }
    }
    carry<T>(heads, task, row, task.rotaryDim);
}

template <class T>
void applyToRows(const RopeTask& task) {
    for (std::int64_t row = 0; row < task.rows; ++row) {
        rotate<T>(task.q, task, row);
        rotate<T>(task.k, task, row);
        carry<T>(task.v, task, row, 0);
    }
}

bool fits(const RopeHeads& heads, const RopeTask& task) {
    if (heads.heads == 0) return true;
    if (heads.heads < 0 || !heads.from || !heads.to) return false;
    return (task.rows <= 1 || (heads.rowStride >= static_cast<std::int64_t>(heads.heads) * task.headDim &&
                               heads.toRowStride >= task.headDim)) &&
           (heads.heads == 1 || heads.toHeadStride >= task.headDim);
}

}  // namespace

Status checkTask(const RopeTask& task) {
    if (task.rows < 0 || task.rows > std::int64_t{1} << 31) {
        return Status::failure("rotating " + std::to_string(task.rows) + " rows is not possible");
    }
    if (task.headDim < 2 || task.rotaryDim < 2 || task.rotaryDim % 2 != 0 || task.rotaryDim > task.headDim) {
        return Status::failure("rotary_dim " + std::to_string(task.rotaryDim) + " with head_dim " +
                               std::to_string(task.headDim) +
                               " cannot be rotated; it must be even, from 2 to head_dim");
    }
    if (!fits(task.q, task) || !fits(task.k, task) || !fits(task.v, task)) {
        return Status::failure("queries, keys or values to rotate are missing, or their rows overlap");
    }
    if (task.rows > 0 && task.q.heads + task.k.heads > 0 && (!task.cos || !task.sin || task.firstTableRow < 0)) {
        return Status::failure("the tables of cos and sin are missing");
    }
    return {};
}

bool ropeVectorized(const RopeTask& task) {
    const int pack = 16 / elementBytes(task.type);
    const auto aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
    const auto fitsPacks = [&](const RopeHeads& heads) {
        return heads.heads == 0 ||
               (aligned(heads.from) && aligned(heads.to) && heads.rowStride % pack == 0 &&
                heads.toRowStride % pack == 0 && (heads.heads == 1 || heads.toHeadStride % pack == 0));
    };
    return task.rotaryDim / 2 % pack == 0 && task.headDim % pack == 0 && aligned(task.cos) && aligned(task.sin) &&
           fitsPacks(task.q) && fitsPacks(task.k) && fitsPacks(task.v);
}

Status applyRopeCpu(const RopeTask& task) {
    Status status = checkTask(task);
    if (!status.ok()) return status;
    switch (task.type) {
        case DataType::Float32:
            applyToRows<float>(task);
            break;
        case DataType::BFloat16:
            applyToRows<BFloat16>(task);
            break;
        case DataType::Float16:
            applyToRows<Float16>(task);
            break;
    }
    return {};
}

}  // namespace lpes::cuda
