#include <cstdint>
#include <string>

#include "core/model/cuda/rope_body.h"

namespace lpes::cuda {
namespace {

constexpr int kMostRotaryDim = 2048;  // two rows of angles per block row stay below 48 KiB of shared memory

template <class T>
void rotateRows(const RopeTask& task) {
    const int half = task.rotaryDim / 2;
    const float factor = static_cast<float>(task.attentionFactor);
    const auto rotate = [&](void* data, std::int64_t stride, int heads, std::int64_t row, int i, float c, float s) {
        T* values = static_cast<T*>(data) + row * stride + i;
        for (int head = 0; head < heads; ++head, values += task.headDim) rotatePair(values[0], values[half], c, s);
    };
    for (std::int64_t row = 0; row < task.rows; ++row) {
        for (int i = 0; i < half; ++i) {
            float cosine, sine;
            rotaryAngle<T>(task.positions[row], task.scale, task.inverseFrequencies[i], factor, cosine, sine);
            rotate(task.q, task.qRowStride, task.qHeads, row, i, cosine, sine);
            rotate(task.k, task.kRowStride, task.kHeads, row, i, cosine, sine);
        }
    }
}

bool fits(const void* data, std::int64_t stride, int heads, int headDim, std::int64_t rows) {
    if (heads == 0) return true;
    return heads > 0 && data && (rows <= 1 || stride >= static_cast<std::int64_t>(heads) * headDim);
}

}  // namespace

Status checkTask(const RopeTask& task) {
    if (task.rows < 0 || task.rows > std::int64_t{1} << 31) {
        return Status::failure("rotating " + std::to_string(task.rows) + " rows is not possible");
    }
    if (task.headDim < 2 || task.rotaryDim < 2 || task.rotaryDim % 2 != 0 || task.rotaryDim > task.headDim ||
        task.rotaryDim > kMostRotaryDim) {
        return Status::failure("rotary_dim " + std::to_string(task.rotaryDim) + " with head_dim " +
                               std::to_string(task.headDim) +
                               " cannot be rotated; it must be even, from 2 to head_dim");
    }
    if (!fits(task.q, task.qRowStride, task.qHeads, task.headDim, task.rows) ||
        !fits(task.k, task.kRowStride, task.kHeads, task.headDim, task.rows)) {
        return Status::failure("queries or keys to rotate are missing, or their rows overlap");
    }
    if (task.rows > 0 && (!task.positions || !task.inverseFrequencies)) {
        return Status::failure("positions or inverse frequencies are missing");
    }
    if (!(task.scale > 0.0) || !std::isfinite(task.scale) || !std::isfinite(task.attentionFactor)) {
        return Status::failure("a scale of " + std::to_string(task.scale) + " with an attention factor of " +
                               std::to_string(task.attentionFactor) +
                               " cannot be applied; both must be finite, and the "
                               "scale positive");
    }
    return {};
}

bool ropeVectorized(const RopeTask& task) {
    const int pack = 16 / elementBytes(task.type);
    const auto aligned = [&](const void* data, std::int64_t stride, int heads) {
        return heads == 0 || (reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % pack == 0);
    };
    return task.rotaryDim / 2 % pack == 0 && task.headDim % pack == 0 &&
           aligned(task.q, task.qRowStride, task.qHeads) && aligned(task.k, task.kRowStride, task.kHeads);
}

Status ropeInPlaceCpu(const RopeTask& task) {
    Status status = checkTask(task);
    if (!status.ok()) return status;
    switch (task.type) {
        case DataType::Float32:
            rotateRows<float>(task);
            break;
        case DataType::BFloat16:
            rotateRows<BFloat16>(task);
            break;
        case DataType::Float16:
            rotateRows<Float16>(task);
            break;
    }
    return {};
}

}  // namespace lpes::cuda
