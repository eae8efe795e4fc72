#include "core/rope/rope_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace lpes::rope {

namespace {

using Type = RopeConfig::Type;

/// θ_i = b^(−2i/r).
std::vector<double> plainFrequencies(double base, int rotated) {
    std::vector<double> frequencies(static_cast<std::size_t>(rotated / 2));
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / rotated);
    }
    return frequencies;
}

/// How much of dimension i is interpolated: 0 below `low`, 1 above `high`. Peng et al. 2023 (arXiv 2309.00071) state
/// the ramp over rotations; their code, which checkpoints were made with, has it over the dimension's index.
std::vector<double> yarnFrequencies(const RopeConfig& config) {
    const int rotated = config.rotated();
    const auto dimension = [&](double rotations) {
        return rotated * std::log(config.originalContext / (rotations * 2.0 * std::numbers::pi)) /
               (2.0 * std::log(config.theta));
    };
    double low = dimension(config.betaFast), high = dimension(config.betaSlow);
    if (config.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, rotated - 1.0);
    if (low == high) high += 0.001;
    std::vector<double> frequencies = plainFrequencies(config.theta, rotated);
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        frequencies[i] = frequencies[i] / config.factor * ramp + frequencies[i] * (1.0 - ramp);
    }
    return frequencies;
}

std::vector<double> llama3Frequencies(const RopeConfig& config) {
    std::vector<double> frequencies = plainFrequencies(config.theta, config.rotated());
    for (double& frequency : frequencies) {
        const double rotations = config.originalContext * frequency / (2.0 * std::numbers::pi);
        if (rotations > config.highFreqFactor) continue;
        if (rotations < config.lowFreqFactor) {
            frequency /= config.factor;
            continue;
        }
        const double smooth = (rotations - config.lowFreqFactor) / (config.highFreqFactor - config.lowFreqFactor);
        frequency = (1.0 - smooth) * frequency / config.factor + smooth * frequency;
    }
    return frequencies;
}

std::vector<double> dividedBy(std::vector<double> frequencies, const std::vector<double>& factors) {
    for (std::size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= factors[i];
    return frequencies;
}

}  // namespace

std::string ropeTypeName(RopeConfig::Type type) {
    switch (type) {
        case Type::Default:
            return "default";
        case Type::Linear:
            return "linear";
        case Type::Dynamic:
            return "dynamic";
        case Type::Yarn:
            return "yarn";
        case Type::LongRope:
            return "longrope";
        case Type::Llama3:
            return "llama3";
        case Type::FrequencyFactors:
            return "frequency_factors";
    }
    return "default";
}

bool dependsOnLength(const RopeConfig& config) {
    return config.type == Type::Dynamic || config.type == Type::LongRope;
}

int lengthVariant(const RopeConfig& config, int length) {
    if (!dependsOnLength(config) || length <= config.originalContext) return 0;
    return config.type == Type::LongRope ? 1 : length;
}

std::vector<double> inverseFrequencies(const RopeConfig& config, int length) {
    const int rotated = config.rotated();
    switch (config.type) {
        case Type::Default:
            break;
        case Type::Linear: {
            std::vector<double> frequencies = plainFrequencies(config.theta, rotated);
            for (double& frequency : frequencies) frequency /= config.factor;
            return frequencies;
        }
        case Type::Dynamic: {
            const double used = std::max(length, config.originalContext);
            const double growth = config.factor * used / config.originalContext - (config.factor - 1.0);
            return plainFrequencies(config.theta * std::pow(growth, rotated / (rotated - 2.0)), rotated);
        }
        case Type::Yarn:
            return yarnFrequencies(config);
        case Type::LongRope:
            return dividedBy(plainFrequencies(config.theta, rotated),
                             lengthVariant(config, length) == 0 ? config.shortFactors : config.longFactors);
        case Type::Llama3:
            return llama3Frequencies(config);
        case Type::FrequencyFactors:
            return dividedBy(plainFrequencies(config.theta, rotated), config.shortFactors);
    }
    return plainFrequencies(config.theta, rotated);
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

PositionTable positionTable(std::span<const double> inverseFrequencies, double scale, int first, int count,
                            double amplitude) {
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
            table.cos.push_back(static_cast<float>(amplitude * std::cos(angle)));
            table.sin.push_back(static_cast<float>(amplitude * std::sin(angle)));
        }
    }
    return table;
}

}  // namespace lpes::rope
