#include "core/model/cuda/column_sums_matrix.h"
#include "core/model/cuda/column_sums_plain.h"
#include "core/model/cuda/column_sums_plan.h"
#include "core/model/cuda/device_lane.h"
#include "core/model/cuda/launch.h"

namespace lpes::cuda {
namespace {

/// Blocks that share a multiprocessor, so that one computes while another waits for memory: as many as registers allow.
constexpr int sharing(int steps) {
    return steps <= 8 ? 3 : 2;
}

template <Pass pass, class T, int steps>
__global__ void __launch_bounds__(MatrixTiles::kThreads, sharing(steps)) matrixKernel(ColumnArguments a) {
#if __CUDA_ARCH__ >= 800
    DeviceLane lane;
    matrixBlock<pass, T, steps>(lane, a);
#else
    __trap();  // never launched there
#endif
}

template <Pass pass, class T>
__global__ void __launch_bounds__(PlainTiles::kThreads) plainKernel(ColumnArguments a) {
    DeviceLane lane;
    plainBlock<pass, T>(lane, a);
}

__global__ void meanKernel(const double* columns, int heads, std::int64_t keys, double* mean) {
    const std::int64_t key = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (key >= keys) return;
    double sum = 0.0;
    for (int head = 0; head < heads; ++head) sum += columns[head * keys + key];
    mean[key] = sum / heads;
}

constexpr int kSpanThreads = 256;

/// One block per span; the same order of additions every time.
__global__ void spanKernel(const double* mean, const KeySpan* spans, double* sums) {
    __shared__ double parts[kSpanThreads];
    const KeySpan span = spans[blockIdx.x];
    double part = 0.0;
    for (std::int64_t key = span.begin + threadIdx.x; key < span.end; key += kSpanThreads) part += mean[key];
    parts[threadIdx.x] = part;
    for (int width = kSpanThreads / 2; width > 0; width /= 2) {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < width) parts[threadIdx.x] += parts[threadIdx.x + width];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

dim3 gridOf(std::int64_t rows, int perBlock, int heads) {
    return dim3(static_cast<unsigned>((rows + perBlock - 1) / perBlock), static_cast<unsigned>(heads));
}

template <class T, int steps>
void runMatrix(const ColumnArguments& a, cudaStream_t stream) {
    using Tiles = MatrixTiles;
    constexpr int shared = matrixSharedBytes<T, steps>();
    matrixKernel<Pass::LogSums, T, steps>
        <<<gridOf(a.queries, Tiles::kRows, a.heads), Tiles::kThreads, shared, stream>>>(a);
    matrixKernel<Pass::Columns, T, steps>
        <<<gridOf(a.keys, Tiles::kRows, a.heads), Tiles::kThreads, shared, stream>>>(a);
}

template <class T>
void run(const ColumnArguments& a, bool onMatrixUnits, cudaStream_t stream) {
    if constexpr (sizeof(T) == 2) {
        if (onMatrixUnits) {
            if (a.headDim <= 64) return runMatrix<T, 4>(a, stream);
            if (a.headDim <= 128) return runMatrix<T, 8>(a, stream);
            return runMatrix<T, 16>(a, stream);
        }
    }
    using Tiles = PlainTiles;
    plainKernel<Pass::LogSums, T>
        <<<gridOf(a.queries, Tiles::kRows, a.heads), Tiles::kThreads, Tiles::kSharedBytes, stream>>>(a);
    plainKernel<Pass::Columns, T>
        <<<gridOf(a.keys, Tiles::kRows, a.heads), Tiles::kThreads, Tiles::kSharedBytes, stream>>>(a);
}

}  // namespace

Status columnSums(const ColumnSumsTask& task, void* scratch, void* stream) {
    Status status = checkTask(task);
    if (!status.ok()) return status;
    if (!scratch) return Status::failure("scratch memory for attention by position is missing");
    constexpr const char* kWork = "adding up attention by position";
    int device = 0, major = 0;
    status = outcome(cudaGetDevice(&device), kWork);
    if (status.ok()) status = outcome(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), kWork);
    if (!status.ok()) return status;

    const auto queue = static_cast<cudaStream_t>(stream);
    const ColumnArguments a = argumentsOf(task, scratch);
    const bool onMatrixUnits = major >= 8 && fitsMatrixUnits(task);
    switch (task.type) {
        case DataType::Float32:
            run<float>(a, false, queue);
            break;
        case DataType::BFloat16:
            run<BFloat16>(a, onMatrixUnits, queue);
            break;
        case DataType::Float16:
            run<Float16>(a, onMatrixUnits, queue);
            break;
    }
    constexpr int kThreads = 256;
    meanKernel<<<gridOf(task.keys, kThreads, 1), kThreads, 0, queue>>>(a.columns, task.heads, task.keys, task.mean);
    if (task.numSpans > 0) {
        spanKernel<<<static_cast<unsigned>(task.numSpans), kSpanThreads, 0, queue>>>(task.mean, task.spans,
                                                                                     task.spanSums);
    }
    return launched(kWork);
}

}  // namespace lpes::cuda
