#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
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

/// What of a GPU's free memory a model may take: a tenth is left to the workspaces of LibTorch and its libraries.
[[nodiscard]] std::int64_t usableBytes(std::int64_t freeBytes);

/// Which device each layer is on: `placement`'s devices filled in order, to equal shares of their `freeBytes`, so that
/// caches and activations find room on each. Empty where the layers do not fit into what is usable.
[[nodiscard]] std::vector<at::Device> spreadLayers(const Placement& placement, std::span<const std::int64_t> freeBytes,
                                                   std::span<const std::int64_t> layerBytes);

}  // namespace lpes::model
