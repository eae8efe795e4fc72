#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/rope/position_method.h"

namespace lpes::rope {
namespace {

bool sameScales(const LayerScales& one, const LayerScales& other) {
    const auto isOne = [](const LayerScales& scales) {
        for (const double scale : scales) {
            if (scale != 1.0) return false;
        }
        return true;
    };
    return one == other || (isOne(one) && isOne(other));
}

bool sameRouters(const std::shared_ptr<const MoiceRouters>& one, const std::shared_ptr<const MoiceRouters>& other) {
    if (one == other) return true;
    return one && other && one->bases == other->bases && one->topK == other->topK && one->layers == other->layers;
}

}  // namespace

Result<void> requireOneAttention(const PositionMethod& method, const char* what) {
    const MethodCost cost = methodCost(method);
    if (cost.passes == 1 && cost.attentionsPerLayer == 1) return {};
    return fail(ErrorCode::Unsupported,
                fmt::format("{} is defined for one attention per layer, and {} has {}; choose another method", what,
                            method.text, std::max(cost.passes, cost.attentionsPerLayer)));
}

int contextLength(const PositionMethod& method, const MethodModel& model) {
    return static_cast<int>(std::floor(model.contextLength * method.contextFactor));
}

bool samePositions(const PositionMethod& one, const PositionMethod& other) {
    return one.rope == other.rope && one.slidingRope == other.slidingRope && sameScales(one.scales, other.scales) &&
           one.headScales == other.headScales && one.divisors == other.divisors && one.msPoe == other.msPoe &&
           one.buckets == other.buckets && sameRouters(one.moice, other.moice);
}

}  // namespace lpes::rope
