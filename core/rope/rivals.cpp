#include "core/rope/rivals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lpes::rope {

namespace {

/// The published bases were chosen for models with this one.
constexpr double kPublishedFor = 10000.0;

std::vector<double> forBase(std::vector<double> bases, double modelBase) {
    for (double& base : bases) base *= modelBase / kPublishedFor;
    return bases;
}

}  // namespace

double ntkBase(double base, double factor, int headDim) {
    return base * std::pow(factor, headDim / (headDim - 2.0));
}

std::vector<double> msPoeRatios(int heads, double min, double max, MethodPart::Variant variant) {
    const int steps = variant == MethodPart::Variant::Paper ? std::max(heads - 1, 1) : heads;
    std::vector<double> ratios(static_cast<std::size_t>(heads));
    for (std::size_t i = 0; i < ratios.size(); ++i) {
        // The last one of the paper's grid is `max` itself and no rounding beside it.
        ratios[i] = static_cast<int>(i) == steps ? max : min + (max - min) * static_cast<double>(i) / steps;
    }
    return ratios;
}

double msPoeScore(std::span<const float> attention, double threshold, MethodPart::Variant variant) {
    if (attention.empty()) return 0.0;
    const auto length = static_cast<double>(attention.size());
    const double bound = threshold * std::accumulate(attention.begin(), attention.end(), 0.0) / length;
    const bool strict = variant == MethodPart::Variant::Code;
    const auto count = std::count_if(attention.begin(), attention.end(), [&](float value) {
        return strict ? static_cast<double>(value) > bound : static_cast<double>(value) >= bound;
    });
    return static_cast<double>(count) / length;
}

std::vector<double> msPoeHeadRatios(std::span<const double> scores, std::span<const double> ratios,
                                    MethodPart::Variant variant) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    std::vector<double> heads(scores.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        if (variant == MethodPart::Variant::Paper) {
            heads[order[rank]] = ratios[rank];
        } else {
            heads[rank] = ratios[order[rank]];
        }
    }
    return heads;
}

std::vector<double> msPoeFixedRatios(std::span<const double> ratios) {
    return {ratios.rbegin(), ratios.rend()};
}

std::vector<double> msPoeKeyRatios(std::span<const double> headRatios, int kvHeads) {
    std::vector<double> keys(static_cast<std::size_t>(kvHeads));
    const std::size_t group = headRatios.size() / keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = headRatios[i * group];
    return keys;
}

std::vector<double> attentionBucketBases(double modelBase) {
    return forBase({10000.0, 13000.0, 16000.0, 19000.0, 22000.0, 25000.0, 28000.0}, modelBase);
}

std::vector<double> moiceBases(double modelBase) {
    return forBase({10000.0, 17500.0, 18000.0, 19000.0, 20000.0, 22500.0, 25000.0}, modelBase);
}

std::vector<double> bucketWeights(std::span<const double> largestLogits) {
    std::vector<double> weights(largestLogits.begin(), largestLogits.end());
    if (weights.empty()) return weights;
    const double largest = *std::max_element(weights.begin(), weights.end());
    for (double& weight : weights) weight = std::exp(weight - largest);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
    return weights;
}

}  // namespace lpes::rope
