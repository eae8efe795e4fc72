#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/model/causal_lm.h"

/// The door to LibTorch: the only public header of core/model/torch, and no LibTorch type is in it.
namespace lpes::model {

/// Loads the weights (progress in tensors; stop is checked between tensors). OutOfMemory before allocation when the
/// weights do not fit into the free memory, with both numbers; otherwise as openWeights.
[[nodiscard]] Result<std::shared_ptr<const CausalLm>> loadCausalLm(std::shared_ptr<const WeightSource> weights,
                                                                   const LoadOptions& options,
                                                                   ProgressObserver& observer,
                                                                   std::stop_token stop = {});

/// Devices that loadCausalLm takes on this machine, "cpu" first.
[[nodiscard]] std::vector<std::string> availableDevices();
/// Does this processor multiply bfloat16 natively (AVX512-BF16 or AMX)?
[[nodiscard]] bool hasNativeBFloat16();
/// What "auto" means here: bfloat16 where the processor does it natively, else float32.
[[nodiscard]] ComputeType defaultComputeType();
/// "2.15.0", for run records.
[[nodiscard]] std::string libTorchVersion();
/// Processor's model name and the matrix instructions in use, for run records.
[[nodiscard]] std::string deviceDescription(const std::string& device);

/// GFLOP/s of LibTorch's matrix products of this model's own shapes for `tokens` rows on `threads` CPU cores: the best
/// round within about `seconds`. What `lpes bench` prints beside its rows.
[[nodiscard]] Result<double> measureProductRate(const ModelConfig& config, ComputeType type, int tokens, int threads,
                                                double seconds, std::stop_token stop = {});

}  // namespace lpes::model
