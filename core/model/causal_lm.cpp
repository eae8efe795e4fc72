#include "core/model/causal_lm.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace lpes::model {

namespace {

double bytesPerValue(ComputeType type) {
    return type == ComputeType::Float32 ? 4.0 : 2.0;
}

/// A configuration may be as large as its limits allow: the product is formed in double and saturates.
std::int64_t toBytes(double bytes) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return bytes >= static_cast<double>(kMost) ? kMost : static_cast<std::int64_t>(bytes);
}

}  // namespace

Result<std::optional<ComputeType>> parseComputeType(const std::string& text) {
    if (text == "auto") return std::optional<ComputeType>{};
    if (text == "float32") return std::optional{ComputeType::Float32};
    if (text == "bfloat16") return std::optional{ComputeType::BFloat16};
    if (text == "float16") return std::optional{ComputeType::Float16};
    return fail(ErrorCode::Usage,
                fmt::format("'{}' is not a compute type; use auto, float32, bfloat16 or float16", text));
}

std::string computeTypeName(ComputeType type) {
    switch (type) {
        case ComputeType::Float32:
            return "float32";
        case ComputeType::BFloat16:
            return "bfloat16";
        case ComputeType::Float16:
            return "float16";
    }
    return "float32";
}

bool sharesPrefixes(const PositionMethod& method) {
    return !rope::methodCost(method).onePrompt;
}

std::int64_t estimateActivationBytes(const ModelConfig& config, ComputeType type, int tokens, int layers, bool withHead,
                                     const rope::MethodCost& cost) {
    const double queries = double(config.numHeads) * config.headDim;
    const double keys = double(config.numKvHeads) * config.headDim;
    const double hidden = config.hiddenSize;
    // Attention: q, k, v, the rotated q and k, k and v repeated for every query head, and the result.
    double attention = 5.0 * queries + 3.0 * keys;
    // Of several attentions one result is there at a time, and their mixture in float32.
    if (cost.attentionsPerLayer > 1) attention += queries * (1.0 + 4.0 / bytesPerValue(type));
    // MLP: gate, up and their product.
    const double mlp = 3.0 * config.intermediateSize;
    // Residual stream, its normed copy and the block's output stay alive beside either.
    const double perRow = (3.0 * hidden + std::max(attention, mlp)) * bytesPerValue(type);
    // One cos and one sin table per layer at most, in the compute type.
    const double tables = double(layers) * config.headDim * bytesPerValue(type);
    const double cache = double(cost.keyCaches + cost.valueCaches) * layers * keys * bytesPerValue(type);
    const double rows = std::min(double(tokens) * cost.passes, std::max(double(tokens), double(kMostRowsTogether)));
    // Logits are reduced in blocks of rows, widened to float32; those of all passes are combined.
    constexpr double kLogitRows = 128.0;
    const double logits = std::min<double>(tokens, kLogitRows) * config.vocabSize * (bytesPerValue(type) + 4.0);
    return toBytes(perRow * rows + (tables + cache) * tokens + (withHead ? logits * cost.passes : 0.0));
}

std::int64_t estimateActivationBytes(const ModelConfig& config, ComputeType type, int tokens,
                                     const rope::MethodCost& cost) {
    return estimateActivationBytes(config, type, tokens, config.numLayers, true, cost);
}

std::int64_t estimateKvCacheBytes(const ModelConfig& config, ComputeType type, int tokens,
                                  const rope::MethodCost& cost) {
    const double copies = cost.keyCaches + cost.valueCaches;
    return toBytes(copies * config.numLayers * config.numKvHeads * config.headDim * tokens * bytesPerValue(type));
}

std::int64_t estimateWeightBytes(const ModelConfig& config, ComputeType type) {
    return toBytes(double(config.parameters) * bytesPerValue(type));
}

int longestContext(const ModelConfig& config, ComputeType type, std::int64_t bytes, int layers, bool withHead,
                   const rope::MethodCost& cost) {
    int low = 0, high = config.contextLength;
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (estimateActivationBytes(config, type, middle, layers, withHead, cost) <= bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

int longestContext(const ModelConfig& config, ComputeType type, std::int64_t bytes, const rope::MethodCost& cost) {
    return longestContext(config, type, bytes, config.numLayers, true, cost);
}

std::optional<std::int64_t> availableMemory() {
    std::ifstream info("/proc/meminfo");
    std::string key, unit;
    std::int64_t kilobytes = 0;
    while (info >> key >> kilobytes >> unit) {
        if (key == "MemAvailable:") return kilobytes * 1024;
    }
    return std::nullopt;
}

}  // namespace lpes::model
