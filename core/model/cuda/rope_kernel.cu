#include "core/model/cuda/device_lane.h"
#include "core/model/cuda/launch.h"
#include "core/model/cuda/rope_body.h"

namespace lpes::cuda {
namespace {

template <class T, int V>
__global__ void __launch_bounds__(kRopeThreads) ropeKernel(RopeTask task) {
    DeviceLane lane;
    ropeBlock<T, V>(lane, task);
}

template <class T>
void launch(const RopeTask& task, cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(ropeBlocks(task)));
    if (ropeVectorized(task)) {
        ropeKernel<T, 16 / sizeof(T)><<<grid, kRopeThreads, 0, stream>>>(task);
    } else {
        ropeKernel<T, 1><<<grid, kRopeThreads, 0, stream>>>(task);
    }
}

}  // namespace

Status applyRope(const RopeTask& task, void* stream) {
    Status status = checkTask(task);
    if (!status.ok() || task.rows == 0 || task.q.heads + task.k.heads + task.v.heads == 0) return status;
    const auto queue = static_cast<cudaStream_t>(stream);
    switch (task.type) {
        case DataType::Float32:
            launch<float>(task, queue);
            break;
        case DataType::BFloat16:
            launch<BFloat16>(task, queue);
            break;
        case DataType::Float16:
            launch<Float16>(task, queue);
            break;
    }
    return launched("rotating queries and keys");
}

}  // namespace lpes::cuda
