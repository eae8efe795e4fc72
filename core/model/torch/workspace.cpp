#include "core/model/torch/workspace.h"

#include <ATen/ATen.h>

#include "core/model/torch/large_pages.h"

namespace lpes::model {

at::Tensor Workspace::take(Slot slot, at::IntArrayRef shape, const at::TensorOptions& options) {
    const at::Device device = options.device();
    at::Tensor& buffer = m_buffers[device.is_cpu() ? -1 : device.index()][slot];
    const std::int64_t size = c10::multiply_integers(shape);
    if (!buffer.defined() || buffer.numel() < size || buffer.dtype() != options.dtype()) {
        buffer.reset();
        buffer =
            device.is_cpu() ? emptyOnLargePages({size}, options.dtype().toScalarType()) : at::empty({size}, options);
    }
    return buffer.narrow(0, 0, size).view(shape);
}

}  // namespace lpes::model
