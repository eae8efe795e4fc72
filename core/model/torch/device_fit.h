#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/formats/weight_source.h"
#include "core/model/torch/devices.h"
#include "core/model/torch/placement.h"
#include "core/rope/position_method.h"

/// What fits where, before anything is loaded. A tenth of each GPU's free memory is left to the workspaces of LibTorch
/// and its libraries.
namespace lpes::model {

/// The placements that `device` names. Usage for a spelling that is none, Unsupported where it names GPUs and this
/// machine has none that LibTorch can use: in the words that loading has for it.
[[nodiscard]] Result<std::vector<Placement>> usablePlacements(const std::string& device);

/// Where each layer of a copy of a model goes.
struct LayerPlan {
    std::vector<at::Device> devices;  ///< [L]
    std::int64_t weightBytes = 0;     ///< on all of them together
    int longestContext = 0;           ///< up to the model's own, that fits beside the weights on every one of them
                                      ///< under the method
};

/// As few GPUs of the placement, in its order, as hold the weights and the model's whole context; where no number of
/// them does, the one with the longest context. `freeBytes`: of each GPU of the placement. OutOfMemory, with the
/// numbers, where the weights do not fit, or not one token beside them. A CPU takes all layers unseen. Layers go to the
/// same GPUs whatever the method, which a model is not loaded for; `cost`, of a method, decides on `longestContext`.
[[nodiscard]] Result<LayerPlan> planLayers(const WeightSource& weights, ComputeType type, const Placement& placement,
                                           std::span<const std::int64_t> freeBytes, const rope::MethodCost& cost = {});
/// Free memory of each GPU of the placement, what LibTorch keeps for later included, as it is given back before; empty
/// for the CPU. Unsupported when there is no such GPU.
[[nodiscard]] Result<std::vector<std::int64_t>> freeMemoryOf(const Placement& placement);

/// planLayers with the memory that is free now.
[[nodiscard]] Result<LayerPlan> planLayers(const WeightSource& weights, ComputeType type, const Placement& placement);

/// What to tell the user of a plan whose context is shorter than the model's; empty where it is not.
[[nodiscard]] std::string shortContextWarning(const WeightSource& weights, ComputeType type, const Placement& placement,
                                              const LayerPlan& plan);

/// What "auto" means on some devices: bfloat16 where each of them multiplies it natively (processors with AVX512-BF16
/// or AMX, GPUs from compute capability 8.0), else float32. A GPU that is not among `gpus` is taken for a new one.
[[nodiscard]] ComputeType defaultTypeOn(std::span<const Placement> placements, std::span<const Gpu> gpus,
                                        bool processorHasBFloat16);

}  // namespace lpes::model
