#include "core/model/torch/device_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/model/torch/decoder_weights.h"

namespace lpes::model {
namespace {

std::int64_t sum(std::span<const std::int64_t> values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::string named(const Placement& placement) {
    std::string names;
    for (const at::Device& device : placement) names += (names.empty() ? "" : "+") + device.str();
    return names;
}

/// The longest context that fits on every GPU beside its share of the weights.
int contextOn(const ModelConfig& config, ComputeType type, const Placement& placement,
              std::span<const std::int64_t> freeBytes, const std::vector<at::Device>& devices,
              const std::vector<std::int64_t>& layerBytes, const rope::MethodCost& cost) {
    int longest = config.contextLength;
    for (std::size_t gpu = 0; gpu < placement.size(); ++gpu) {
        int layers = 0;
        std::int64_t weights = 0;
        for (std::size_t layer = 0; layer < devices.size(); ++layer) {
            if (devices[layer] != placement[gpu]) continue;
            ++layers;
            weights += layerBytes[layer];
        }
        if (layers == 0) continue;
        const bool hasHead = devices.back() == placement[gpu];
        const std::int64_t left = usableBytes(freeBytes[gpu]) - weights;
        longest = std::min(longest, longestContext(config, type, left, layers, hasHead, cost));
    }
    return longest;
}

}  // namespace

Result<std::vector<Placement>> usablePlacements(const std::string& device) {
    auto placements = parseDevices(device, static_cast<int>(discoverGpus().gpus.size()));
    if (!placements || placements->front().front().is_cpu()) return placements;
    if (const std::string problem = loadGpuSupport(); !problem.empty()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("the device '{}' cannot be used: {}; use cpu", device, problem));
    }
    return placements;
}

Result<LayerPlan> planLayers(const WeightSource& weights, ComputeType type, const Placement& placement,
                             std::span<const std::int64_t> freeBytes, const rope::MethodCost& cost) {
    const ModelConfig& config = weights.config();
    if (placement.front().is_cpu()) {
        return LayerPlan{std::vector(static_cast<std::size_t>(config.numLayers), at::Device(at::kCPU)),
                         sum(bytesByLayer(weights, type, false)), config.contextLength};
    }
    LayerPlan best;
    int bestContext = 0;  // of the model as it is
    for (std::size_t gpus = 1; gpus <= placement.size(); ++gpus) {
        const Placement taken(placement.begin(), placement.begin() + static_cast<std::ptrdiff_t>(gpus));
        const std::vector<std::int64_t> bytes = bytesByLayer(weights, type, gpus > 1);
        auto devices = spreadLayers(taken, freeBytes.first(gpus), bytes);
        if (devices.empty()) continue;
        const int context = contextOn(config, type, taken, freeBytes, devices, bytes, {});
        if (best.devices.empty() || context > bestContext) {
            const int underMethod = contextOn(config, type, taken, freeBytes, devices, bytes, cost);
            best = {std::move(devices), sum(bytes), underMethod};
            bestContext = context;
        }
        if (bestContext == config.contextLength) break;
    }
    if (bestContext > 0) return best;
    const std::int64_t needed = sum(bytesByLayer(weights, type, false)), free = sum(freeBytes);
    constexpr const char* kRemedy =
        "close other programs, share the layers over more GPUs (cuda:0+cuda:1), use the CPU, or load a smaller model";
    if (best.devices.empty()) {
        return fail(
            ErrorCode::OutOfMemory,
            fmt::format("the weights of '{}' need {} MiB in {} but only {} MiB of memory are free on {}; {}",
                        config.name, needed >> 20, computeTypeName(type), free >> 20, named(placement), kRemedy));
    }
    return fail(
        ErrorCode::OutOfMemory,
        fmt::format("one token needs about {} MiB beside the weights of '{}' ({} MiB in {}) and {} MiB are free "
                    "on {}; {}",
                    estimateActivationBytes(config, type, 1) >> 20, config.name, needed >> 20, computeTypeName(type),
                    (free - needed) >> 20, named(placement), kRemedy));
}

Result<std::vector<std::int64_t>> freeMemoryOf(const Placement& placement) {
    std::vector<std::int64_t> freeBytes;
    if (placement.front().is_cpu()) return freeBytes;
    // The memory of a model that was closed is LibTorch's until then, and nobody's.
    giveBackGpuMemory();
    for (const at::Device& device : placement) {
        const auto memory = gpuMemory(device.index());
        if (!memory) return fail(memory.error());
        freeBytes.push_back(memory->freeBytes);
    }
    return freeBytes;
}

Result<LayerPlan> planLayers(const WeightSource& weights, ComputeType type, const Placement& placement) {
    const auto freeBytes = freeMemoryOf(placement);
    if (!freeBytes) return fail(freeBytes.error());
    return planLayers(weights, type, placement, *freeBytes);
}

std::string shortContextWarning(const WeightSource& weights, ComputeType type, const Placement& placement,
                                const LayerPlan& plan) {
    const ModelConfig& config = weights.config();
    if (plan.longestContext == config.contextLength) return {};
    return fmt::format(
        "the model's context of {} tokens needs about {} MiB beside the weights, which is more than is "
        "free on {}; about {} tokens fit (no length is changed in silence)",
        config.contextLength, estimateActivationBytes(config, type, config.contextLength) >> 20, named(placement),
        plan.longestContext);
}

ComputeType defaultTypeOn(std::span<const Placement> placements, std::span<const Gpu> gpus, bool processorHasBFloat16) {
    constexpr int kFirstWithBFloat16 = 8;
    for (const Placement& placement : placements) {
        for (const at::Device& device : placement) {
            const bool lacks =
                device.is_cpu() ? !processorHasBFloat16 : std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
                    return gpu.index == device.index() && gpu.computeMajor < kFirstWithBFloat16;
                });
            if (lacks) return ComputeType::Float32;
        }
    }
    return ComputeType::BFloat16;
}

}  // namespace lpes::model
