#include "core/rope/rope_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lpes::rope {

std::vector<double> inverseFrequencies(const RopeConfig& config) {
    const int half = config.headDim / 2;
    const double divisor = config.type == RopeConfig::Type::Linear ? config.factor : 1.0;
    std::vector<double> frequencies(static_cast<std::size_t>(half));
    for (int i = 0; i < half; ++i) {
        frequencies[static_cast<std::size_t>(i)] = std::pow(config.theta, -2.0 * i / config.headDim) / divisor;
    }
    return frequencies;
}

Result<void> checkScales(std::span<const double> scales, int numLayers) {
    if (scales.empty()) return {};
    if (scales.size() != static_cast<std::size_t>(numLayers)) {
        return fail(ErrorCode::BadInput,
                    fmt::format("the profile has {} layer scales but the model has {} layers (the first layer without "
                                "its counterpart is layer {}); use a profile made for this model or transfer it",
                                scales.size(), numLayers,
                                std::min(scales.size(), static_cast<std::size_t>(numLayers < 0 ? 0 : numLayers))));
    }
    for (std::size_t layer = 0; layer < scales.size(); ++layer) {
        const double scale = scales[layer];
        if (!std::isfinite(scale) || scale < kMinScale || scale > kMaxScale) {
            return fail(ErrorCode::BadInput, fmt::format("the scale of layer {} is {}; it must be a finite number from "
                                                         "{} to {}",
                                                         layer, scale, kMinScale, kMaxScale));
        }
    }
    return {};
}

PositionTable positionTable(std::span<const double> inverseFrequencies, double scale, int first, int count) {
    PositionTable table;
    table.count = count;
    table.half = static_cast<int>(inverseFrequencies.size());
    const std::size_t entries = static_cast<std::size_t>(count) * inverseFrequencies.size();
    table.cos.reserve(entries);
    table.sin.reserve(entries);
    for (int row = 0; row < count; ++row) {
        const double position = (static_cast<double>(first) + row) / scale;
        for (const double frequency : inverseFrequencies) {
            const double angle = position * frequency;
            table.cos.push_back(static_cast<float>(std::cos(angle)));
            table.sin.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    return table;
}

}  // namespace lpes::rope
