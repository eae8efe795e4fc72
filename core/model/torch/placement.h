#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/causal_lm.h"

namespace lpes::model {

/// Where one copy of a model goes: the GPUs that share its layers in order, or the CPU alone.
using Placement = std::vector<at::Device>;

/// "cpu", "cuda:N", "cuda:0+cuda:1" (layers shared), "cuda:0,cuda:1" (a replica each), and both together; "cuda" alone
/// is every GPU of this machine in order, to be shared as far as the model needs. Usage for any other spelling, or one
/// that names a device twice.
[[nodiscard]] Result<std::vector<Placement>> parseDevices(const std::string& text, int gpus);

/// Which device each layer is on: as few of `placement` as hold `layerBytes` in the order given, filled to equal shares
/// of their `freeBytes`, so that caches and activations find room on each; at least a tenth is left. Empty where the
/// layers do not fit.
[[nodiscard]] std::vector<at::Device> spreadLayers(const Placement& placement,
                                                   const std::vector<std::int64_t>& freeBytes,
                                                   const std::vector<std::int64_t>& layerBytes);

}  // namespace lpes::model
