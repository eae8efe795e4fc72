#include "core/model/torch/torch_runtime.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/device_fit.h"
#include "core/model/torch/own_kernels.h"
#include "core/model/torch/processor.h"
#include "core/model/torch/torch_causal_lm.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {

bool hasNativeBFloat16() {
    return processor().avx512Bf16 || processor().amxBf16;
}

std::string libTorchVersion() {
    return TORCH_VERSION;
}

std::string deviceDescription(const std::string& device) {
    if (device == "cpu") return processor().description();
    std::string names, without;
    const auto placements = parseDevices(device, static_cast<int>(discoverGpus().gpus.size()));
    for (const Placement& placement : placements ? *placements : std::vector<Placement>()) {
        for (const at::Device& used : placement) {
            for (const Gpu& gpu : discoverGpus().gpus) {
                if (gpu.index != used.index()) continue;
                names += fmt::format("{}cuda:{} {}", names.empty() ? "" : ", ", gpu.index, gpu.name);
                if (without.empty()) without = own_kernels::problem(used);
            }
        }
    }
    if (names.empty()) return device;
    return fmt::format("{} (driver {}; {})", names, discoverGpus().driverVersion,
                       without.empty() ? "own kernels" : "LibTorch's operators alone: " + without);
}

Result<ComputeType> defaultComputeType(const std::string& device) {
    return computeTypeOn(device, std::nullopt);
}

Result<ComputeType> computeTypeOn(const std::string& device, std::optional<ComputeType> asked) {
    const auto placements = parseDevices(device, static_cast<int>(discoverGpus().gpus.size()));
    if (!placements) return fail(placements.error());
    if (placements->front().front().is_cpu() && asked == ComputeType::Float16) {
        return fail(ErrorCode::Unsupported,
                    "compute type 'float16' is not offered on a CPU, where it is ten times slower than bfloat16; use "
                    "float32 or bfloat16");
    }
    return asked.value_or(defaultTypeOn(*placements, discoverGpus().gpus, hasNativeBFloat16()));
}

Result<std::optional<DeviceFit>> fitOnDevice(const WeightSource& weights, const std::string& device, ComputeType type,
                                             const rope::MethodCost& cost) {
    const auto placements = usablePlacements(device);
    if (!placements) return fail(placements.error());
    DeviceFit fit;
    if (placements->front().front().is_cpu()) {
        const auto available = availableMemory();
        if (!available) return std::optional<DeviceFit>();
        const std::int64_t left = *available - estimateWeightBytes(weights.config(), type);
        fit.availableBytes = *available;
        fit.weightsFit = left > 0;
        fit.longestContext = left > 0 ? longestContext(weights.config(), type, left, cost) : 0;
        return std::optional(std::move(fit));
    }
    for (const Placement& placement : *placements) {
        const auto freeBytes = freeMemoryOf(placement);
        if (!freeBytes) return fail(freeBytes.error());
        const auto plan = planLayers(weights, type, placement, *freeBytes, cost);
        const bool first = &placement == &placements->front();
        // What does not fit is an answer here.
        fit.weightsFit = plan && (first || fit.weightsFit);
        fit.longestContext = !plan   ? 0
                             : first ? plan->longestContext
                                     : std::min(fit.longestContext, plan->longestContext);
        for (std::size_t i = 0; i < placement.size(); ++i) {
            const auto layers = plan ? std::count(plan->devices.begin(), plan->devices.end(), placement[i]) : 0;
            fit.gpus.push_back({placement[i].str(), (*freeBytes)[i], static_cast<int>(layers)});
            if (first) fit.availableBytes += (*freeBytes)[i];
        }
    }
    if (!fit.weightsFit) fit.longestContext = 0;
    return std::optional(std::move(fit));
}

std::vector<std::string> availableDevices() {
    std::vector<std::string> devices{"cpu"};
    if (discoverGpus().gpus.empty() || !loadGpuSupport().empty()) return devices;
    for (const Gpu& gpu : discoverGpus().gpus) devices.push_back(fmt::format("cuda:{}", gpu.index));
    return devices;
}

Result<std::shared_ptr<const CausalLm>> loadCausalLm(std::shared_ptr<const WeightSource> weights,
                                                     const LoadOptions& options, ProgressObserver& observer,
                                                     std::stop_token stop) {
    auto placements = usablePlacements(options.device);
    if (!placements) return fail(placements.error());
    const auto resolved = computeTypeOn(options.device, options.computeType);
    if (!resolved) return fail(resolved.error());
    const ComputeType type = *resolved;
    return guarded("loading the model", [&]() -> Result<std::shared_ptr<const CausalLm>> {
        std::vector<std::shared_ptr<const LoadedModel>> replicas;
        for (const Placement& placement : *placements) {
            const auto plan = planLayers(*weights, type, placement);
            if (!plan) return fail(plan.error());
            if (const auto warning = shortContextWarning(*weights, type, placement, *plan); !warning.empty()) {
                observer.warned(warning);
            }
            auto model = std::make_shared<LoadedModel>();
            model->config = weights->config();
            model->type = type;
            auto loaded = loadDecoderWeights(weights, type, options.residency, plan->devices, observer, stop);
            if (!loaded) return fail(loaded.error());
            model->weights = std::move(*loaded);
            replicas.push_back(std::move(model));
        }
        return std::make_shared<const TorchCausalLm>(std::move(replicas), options.device);
    });
}

}  // namespace lpes::model
