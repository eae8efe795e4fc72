#include "core/model/formats/block_kernels_impl.h"

namespace lpes::model {

const BlockKernels& portableBlockKernels() {
    return kKernels;
}

}  // namespace lpes::model
