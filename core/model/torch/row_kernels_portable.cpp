#include "core/model/torch/row_kernels_impl.h"

namespace lpes::model {

const KernelSet& portableKernels() {
    return kKernels;
}

}  // namespace lpes::model
