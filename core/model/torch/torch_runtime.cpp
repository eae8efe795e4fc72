#include "core/model/torch/torch_runtime.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/devices.h"
#include "core/model/torch/placement.h"
#include "core/model/torch/processor.h"
#include "core/model/torch/torch_causal_lm.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

Result<std::vector<at::Device>> placeLayers(const WeightSource& weights, const Placement& placement, ComputeType type) {
    const ModelConfig& config = weights.config();
    const auto layers = static_cast<std::size_t>(config.numLayers);
    if (placement.front().is_cpu()) return std::vector<at::Device>(layers, at::Device(at::kCPU));
    std::vector<std::int64_t> freeBytes;
    for (const at::Device& device : placement) {
        const auto memory = gpuMemory(device.index());
        if (!memory) return fail(memory.error());
        freeBytes.push_back(memory->freeBytes);
    }
    const std::vector<std::int64_t> bytes = bytesByLayer(weights, type, false);
    std::vector<at::Device> devices = spreadLayers({placement.front()}, {freeBytes.front()}, bytes);
    if (devices.empty()) devices = spreadLayers(placement, freeBytes, bytesByLayer(weights, type, true));
    if (!devices.empty()) return devices;
    const auto sum = [](const std::vector<std::int64_t>& values) {
        return std::accumulate(values.begin(), values.end(), std::int64_t{0});
    };
    return fail(
        ErrorCode::OutOfMemory,
        fmt::format("the weights of '{}' need {} MiB in {} and {} MiB are free on {}; share the layers of the model "
                    "over more GPUs (cuda:0+cuda:1), or use the CPU",
                    config.name, sum(bytes) >> 20, computeTypeName(type), sum(freeBytes) >> 20,
                    placement.size() == 1 ? placement.front().str() : "these GPUs"));
}

ComputeType computeTypeFor(const LoadOptions& options, bool onCpu) {
    return options.computeType.value_or(onCpu ? defaultComputeType() : ComputeType::BFloat16);
}

}  // namespace

bool hasNativeBFloat16() {
    return processor().avx512Bf16 || processor().amxBf16;
}

std::string libTorchVersion() {
    return TORCH_VERSION;
}

std::string deviceDescription(const std::string& device) {
    if (device == "cpu") return processor().description();
    std::string names;
    const auto placements = parseDevices(device, static_cast<int>(discoverGpus().gpus.size()));
    for (const Placement& placement : placements ? *placements : std::vector<Placement>()) {
        for (const at::Device& used : placement) {
            for (const Gpu& gpu : discoverGpus().gpus) {
                if (gpu.index != used.index()) continue;
                names += fmt::format("{}cuda:{} {}", names.empty() ? "" : ", ", gpu.index, gpu.name);
            }
        }
    }
    return names.empty() ? device : fmt::format("{} (driver {})", names, discoverGpus().driverVersion);
}

ComputeType defaultComputeType() {
    return hasNativeBFloat16() ? ComputeType::BFloat16 : ComputeType::Float32;
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
    auto placements = parseDevices(options.device, static_cast<int>(discoverGpus().gpus.size()));
    if (!placements) return fail(placements.error());
    const bool onCpu = placements->front().front().is_cpu();
    const ComputeType type = computeTypeFor(options, onCpu);
    if (onCpu && type == ComputeType::Float16) {
        return fail(ErrorCode::Unsupported,
                    "compute type 'float16' is not offered on a CPU, where it is ten times slower than bfloat16; use "
                    "float32 or bfloat16");
    }
    if (!onCpu) {
        if (const std::string problem = loadGpuSupport(); !problem.empty()) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("the device '{}' cannot be used: {}; use cpu", options.device, problem));
        }
    }
    return guarded("loading the model", [&]() -> Result<std::shared_ptr<const CausalLm>> {
        std::vector<std::shared_ptr<const LoadedModel>> replicas;
        for (const Placement& placement : *placements) {
            const auto devices = placeLayers(*weights, placement, type);
            if (!devices) return fail(devices.error());
            auto model = std::make_shared<LoadedModel>();
            model->config = weights->config();
            model->type = type;
            auto loaded = loadDecoderWeights(weights, type, options.residency, *devices, observer, stop);
            if (!loaded) return fail(loaded.error());
            model->weights = std::move(*loaded);
            replicas.push_back(std::move(model));
        }
        return std::make_shared<const TorchCausalLm>(std::move(replicas), options.device);
    });
}

}  // namespace lpes::model
