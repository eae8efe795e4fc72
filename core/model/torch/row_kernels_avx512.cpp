// Compiled for AVX-512 with BF16 (see CMakeLists.txt): whoever calls has asked the processor first.
#include "core/model/torch/row_kernels_impl.h"

namespace lpes::model {

const KernelSet& avx512Kernels() {
    return kKernels;
}

}  // namespace lpes::model
