#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/model/causal_lm.h"

/// The door to LibTorch: the only public header of core/model/torch, and no LibTorch type is in it.
namespace lpes::model {

/// Loads the weights (progress in tensors; stop is checked between tensors). OutOfMemory before allocation when the
/// weights do not fit into the free memory, with both numbers, or on GPUs not one token beside them; where they hold
/// less than the model's context, the observer is told how much. Otherwise as openWeights.
[[nodiscard]] Result<std::shared_ptr<const CausalLm>> loadCausalLm(std::shared_ptr<const WeightSource> weights,
                                                                   const LoadOptions& options,
                                                                   ProgressObserver& observer,
                                                                   std::stop_token stop = {});

/// How much of a model fits on a device; nothing is loaded.
struct DeviceFit {
    struct Gpu {
        std::string name;  ///< "cuda:0"
        std::int64_t freeBytes = 0;
        int layers = 0;
    };
    std::int64_t availableBytes = 0;  ///< free on what one copy of the model may take
    bool weightsFit = false;
    int longestContext = 0;   ///< that fits beside the weights under the method; of replicas the shortest one
    std::vector<Gpu> gpus{};  ///< empty on the CPU
};
/// Under a position method of this cost. Empty where the CPU's memory cannot be told. Errors as loadCausalLm's for the
/// device.
[[nodiscard]] Result<std::optional<DeviceFit>> fitOnDevice(const WeightSource& weights, const std::string& device,
                                                           ComputeType type, const rope::MethodCost& cost = {});

/// Devices that loadCausalLm takes on this machine, "cpu" first.
[[nodiscard]] std::vector<std::string> availableDevices();
/// Does this processor multiply bfloat16 natively (AVX512-BF16 or AMX)?
[[nodiscard]] bool hasNativeBFloat16();
/// What "auto" means on a device (LoadOptions::device): bfloat16 where it is multiplied natively – by processors as
/// above, by GPUs from compute capability 8.0 on –, else float32. The GPU need not be there. Usage for a spelling that
/// is no device.
[[nodiscard]] Result<ComputeType> defaultComputeType(const std::string& device);
/// What a model is computed in on a device: the type that is asked for, else the device's own. Unsupported for float16
/// on a CPU; Usage as defaultComputeType, and the GPU need not be there either.
[[nodiscard]] Result<ComputeType> computeTypeOn(const std::string& device, std::optional<ComputeType> asked);
/// "2.15.0", for run records.
[[nodiscard]] std::string libTorchVersion();
/// Processor's model name and the matrix instructions in use, or the GPUs' names, driver and whether our own kernels
/// run there, for run records.
[[nodiscard]] std::string deviceDescription(const std::string& device);

/// GFLOP/s of LibTorch's matrix products of this model's own shapes for `tokens` rows on `threads` CPU cores: the best
/// round within about `seconds`. What `lpes bench` prints beside its rows.
[[nodiscard]] Result<double> measureProductRate(const ModelConfig& config, ComputeType type, int tokens, int threads,
                                                double seconds, std::stop_token stop = {});

}  // namespace lpes::model
