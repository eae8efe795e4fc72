#pragma once

#include "core/model/cuda/column_sums_body.h"

namespace lpes::cuda {

/// The task as the kernels take it, its intermediate sums laid out in `scratch`.
ColumnArguments argumentsOf(const ColumnSumsTask& task, void* scratch);

}  // namespace lpes::cuda
