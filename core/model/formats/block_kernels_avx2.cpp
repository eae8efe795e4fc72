// Compiled for AVX2 and F16C on x86-64 (see core/model/CMakeLists.txt): whoever calls has asked the processor first.
#include "core/model/formats/block_kernels_impl.h"

namespace lpes::model {

const BlockKernels& avx2BlockKernels() {
    return kKernels;
}

}  // namespace lpes::model
