#include "core/model/torch/own_kernels.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/version.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "core/model/cuda/column_sums.h"
#include "core/model/cuda/rope_kernel.h"
#include "core/model/torch/table_rows.h"

namespace lpes::model::own_kernels {
namespace {

/// A stream as a CUDA library knows it (a cudaStream_t); empty where this LibTorch does not say.
std::optional<void*> currentStream(at::Device device) {
    const c10::Stream stream = c10::impl::getDeviceGuardImpl(device.type())->getStream(device);
    if (stream.id() == 0) return nullptr;  // the default stream, on which the program computes
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
    return stream.native_handle();
#else
    return std::nullopt;
#endif
}

void must(const cuda::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

std::optional<cuda::DataType> dataType(const at::Tensor& tensor) {
    switch (tensor.scalar_type()) {
        case at::kFloat:
            return cuda::DataType::Float32;
        case at::kBFloat16:
            return cuda::DataType::BFloat16;
        case at::kHalf:
            return cuda::DataType::Float16;
        default:
            return std::nullopt;
    }
}

/// All of one type that the kernels know, on one device where they run, rows of contiguous values.
bool fit(std::initializer_list<const at::Tensor*> tensors) {
    const at::Tensor& first = **tensors.begin();
    if (!dataType(first)) return false;
    for (const at::Tensor* tensor : tensors) {
        if (tensor->scalar_type() != first.scalar_type() || tensor->device() != first.device() ||
            tensor->stride(-1) != 1) {
            return false;
        }
    }
    return problem(first.device()).empty();
}

/// Calls launch(stream) with the device current for LibTorch and for the kernels alike.
template <class Launch>
void onDevice(at::Device device, void* stream, const Launch& launch) {
    const c10::DeviceGuard guard(device);
    must(cuda::useDevice(device.index()));
    must(launch(stream));
}

/// [N, heads·D] → [heads, N, D].
cuda::RopeHeads headsOf(const at::Tensor& from, const at::Tensor& to) {
    return {from.const_data_ptr(), from.stride(0), static_cast<int>(to.size(0)),
            to.mutable_data_ptr(), to.stride(0),   to.stride(1)};
}

}  // namespace

std::string problem(at::Device device) {
    if (device.is_cpu()) return {};
    if (!device.is_cuda()) return "they are for NVIDIA GPUs";
    static std::mutex mutex;
    static std::map<int, std::string> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(device.index());
    if (found != known.end()) return found->second;
    return known[device.index()] = cuda::kernelsProblem(device.index());
}

bool rotateAndSplit(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const RotaryTable& table,
                    std::span<const std::int32_t> tableRows, const at::Tensor& qOut, const at::Tensor& kOut,
                    const at::Tensor& vOut) {
    if (!fit({&q, &k, &v, &table.cos, &table.sin, &qOut, &kOut, &vOut}) || !table.cos.is_contiguous() ||
        !table.sin.is_contiguous()) {
        return false;
    }
    const at::Device device = q.device();
    const std::optional<void*> stream = device.is_cpu() ? nullptr : currentStream(device);
    if (!stream) return false;
    cuda::RopeTask task;
    task.type = *dataType(q);
    task.rows = q.size(0);
    task.headDim = static_cast<int>(qOut.size(2));
    task.rotaryDim = static_cast<int>(2 * table.cos.size(1));
    task.q = headsOf(q, qOut);
    task.k = headsOf(k, kOut);
    task.v = headsOf(v, vOut);
    task.cos = table.cos.const_data_ptr();
    task.sin = table.sin.const_data_ptr();
    at::Tensor rows;
    if (const auto first = firstOfConsecutive(tableRows)) {
        task.firstTableRow = *first;
    } else {
        rows = rowsOn(device, tableRows);
        task.tableRows = rows.const_data_ptr<std::int32_t>();
    }
    if (device.is_cpu()) {
        must(cuda::applyRopeCpu(task));
    } else {
        onDevice(device, *stream, [&](void* queue) { return cuda::applyRope(task, queue); });
    }
    return true;
}

std::optional<at::Tensor> columnSums(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule) {
    if (!fit({&q, &k})) return std::nullopt;
    const at::Device device = q.device();
    const std::optional<void*> stream = device.is_cpu() ? nullptr : currentStream(device);
    if (!stream) return std::nullopt;
    cuda::ColumnSumsTask task;
    task.type = *dataType(q);
    task.heads = static_cast<int>(q.size(0));
    task.kvHeads = static_cast<int>(k.size(0));
    task.headDim = static_cast<int>(q.size(2));
    task.queries = q.size(1);
    task.keys = k.size(1);
    task.q = q.const_data_ptr();
    task.qHeadStride = q.stride(0);
    task.qRowStride = q.stride(1);
    task.k = k.const_data_ptr();
    task.kHeadStride = k.stride(0);
    task.kRowStride = k.stride(1);
    task.scale = rule.scale;
    task.softcap = rule.softcap;
    task.window = rule.window;
    const at::Tensor mean = at::empty({task.keys}, q.options().dtype(at::kDouble));
    task.mean = mean.mutable_data_ptr<double>();
    if (device.is_cpu()) {
        must(cuda::columnSumsCpu(task));
        return mean;
    }
    // LibTorch hands the memory out again on this stream only, behind the kernels that use it.
    const at::Tensor scratch =
        at::empty({static_cast<std::int64_t>(cuda::columnSumsScratchBytes(task))}, q.options().dtype(at::kByte));
    onDevice(device, *stream, [&](void* queue) { return cuda::columnSums(task, scratch.mutable_data_ptr(), queue); });
    return mean;
}

}  // namespace lpes::model::own_kernels
