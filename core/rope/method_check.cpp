#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/rope/position_method.h"

namespace lpes::rope {

namespace {

using Type = RopeConfig::Type;

[[nodiscard]] tl::unexpected<Error> bad(std::string message) {
    return fail(ErrorCode::BadInput, std::move(message));
}

bool inRange(double value, double least, double largest) {
    return std::isfinite(value) && value >= least && value <= largest;
}

Result<void> checkRope(const RopeConfig& rope, const RopeConfig& own) {
    if (rope.headDim != own.headDim || rope.rotated() != own.rotated()) {
        return bad(
            fmt::format("the method's embedding rotates {} of {} values of a head and the model's {} of {}; "
                        "resolve the method for this model",
                        rope.rotated(), rope.headDim, own.rotated(), own.headDim));
    }
    if (!std::isfinite(rope.theta) || rope.theta <= 1.0) {
        return bad(fmt::format("the method's RoPE base is {}; it must be a finite number above 1", rope.theta));
    }
    if (!std::isfinite(rope.attentionFactor) || rope.attentionFactor <= 0.0) {
        return bad(fmt::format("the method's attention factor is {}; it must be a finite number above 0",
                               rope.attentionFactor));
    }
    return {};
}

Result<void> checkRopes(const PositionMethod& method, const MethodModel& model) {
    if (method.rope) {
        if (auto valid = checkRope(*method.rope, model.rope); !valid) return valid;
    }
    if (!method.slidingRope) return {};
    if (!model.slidingRope) {
        return bad(
            "the method has an embedding for sliding layers and the model has none of its own there; resolve "
            "the method for this model");
    }
    return checkRope(*method.slidingRope, *model.slidingRope);
}

Result<void> checkHeadScales(const std::vector<LayerScales>& layers, const MethodModel& model) {
    if (layers.empty()) return {};
    if (layers.size() != static_cast<std::size_t>(model.numLayers)) {
        return bad(
            fmt::format("there are scales by head for {} layers and the model has {}; use a profile of this "
                        "model",
                        layers.size(), model.numLayers));
    }
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        if (layers[layer].size() != static_cast<std::size_t>(model.numKvHeads)) {
            return bad(
                fmt::format("layer {} has {} scales by head and the model has {} key/value heads; use a profile "
                            "of this model",
                            layer, layers[layer].size(), model.numKvHeads));
        }
        for (std::size_t head = 0; head < layers[layer].size(); ++head) {
            if (inRange(layers[layer][head], kMinScale, kMaxScale)) continue;
            return bad(fmt::format("the scale of layer {}, head {} is {}; it must be a finite number from {} to {}",
                                   layer, head, layers[layer][head], kMinScale, kMaxScale));
        }
    }
    return {};
}

Result<void> checkDivisors(const std::vector<std::vector<double>>& layers, const MethodModel& model) {
    if (layers.empty()) return {};
    const auto half = static_cast<std::size_t>(model.rope.rotated() / 2);
    if (model.slidingRope && model.slidingRope->rotated() != model.rope.rotated()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("factors by frequency need one number of frequencies, and this model's sliding layers "
                                "have {} where the others have {}; use a scale per layer",
                                model.slidingRope->rotated() / 2, half));
    }
    if (layers.size() != static_cast<std::size_t>(model.numLayers)) {
        return bad(
            fmt::format("there are factors by frequency for {} layers and the model has {}; use factors of this "
                        "model",
                        layers.size(), model.numLayers));
    }
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        if (layers[layer].size() != half) {
            return bad(
                fmt::format("layer {} has {} factors by frequency and the model has {} frequencies; use factors "
                            "of this model",
                            layer, layers[layer].size(), half));
        }
        for (std::size_t i = 0; i < half; ++i) {
            if (inRange(layers[layer][i], kMinDivisor, kMaxDivisor)) continue;
            return bad(
                fmt::format("the factor of layer {}, frequency {} is {}; it must be a finite number from {} to "
                            "{}",
                            layer, i, layers[layer][i], kMinDivisor, kMaxDivisor));
        }
    }
    return {};
}

Result<void> checkMsPoe(const MsPoe& msPoe, const MethodModel& model) {
    const bool byGroup = msPoe.groupRatio == MethodPart::GroupRatio::Mean;
    const int heads = byGroup ? model.numKvHeads : model.numHeads;
    if (msPoe.ratios.size() != static_cast<std::size_t>(heads)) {
        return bad(fmt::format("ms-poe has {} ratios and the model has {} {}; resolve the method for this model",
                               msPoe.ratios.size(), heads, byGroup ? "key/value heads" : "heads"));
    }
    for (std::size_t rank = 0; rank < msPoe.ratios.size(); ++rank) {
        const double ratio = msPoe.ratios[rank];
        if (!std::isfinite(ratio) || ratio <= 0.0 || ratio > kMaxRatio) {
            return bad(fmt::format("ratio {} of ms-poe is {}; it must be a number above 0 and up to {}", rank, ratio,
                                   kMaxRatio));
        }
        if (rank > 0 && ratio < msPoe.ratios[rank - 1]) {
            return bad(fmt::format("ratio {} of ms-poe is {}, below {} before it; they must ascend", rank, ratio,
                                   msPoe.ratios[rank - 1]));
        }
    }
    if (msPoe.headOrder == MethodPart::HeadOrder::Normal && byGroup) {
        return bad("ms-poe with a fixed order of heads scores none, so that no group can share a mean of scores");
    }
    if (msPoe.firstLayer < 0 || msPoe.lastLayer < msPoe.firstLayer || msPoe.lastLayer >= model.numLayers) {
        return bad(
            fmt::format("ms-poe is to apply to layers {} to {} and the model has layers 0 to {}; give layers of "
                        "this model, for example ms-poe:layers=0-{}",
                        msPoe.firstLayer, msPoe.lastLayer, model.numLayers - 1, model.numLayers - 1));
    }
    if (model.numKvHeads < 1 || model.numHeads % model.numKvHeads != 0) {
        return bad(
            fmt::format("ms-poe needs key/value heads that share the query heads evenly, and the model has {} "
                        "for {}",
                        model.numKvHeads, model.numHeads));
    }
    if (!std::isfinite(msPoe.threshold) || msPoe.threshold <= 0.0) {
        return bad(fmt::format("the threshold of ms-poe is {}; it must be a number above 0", msPoe.threshold));
    }
    return {};
}

/// Paths of Attention Buckets and experts of MoICE: the model's own plain embedding with another base each.
Result<void> checkBases(std::string_view name, const std::vector<double>& bases, const PositionMethod& method,
                        const MethodModel& model) {
    if (model.rope.type != Type::Default || model.slidingRope || method.rope || method.slidingRope) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("{} replaces the base of one plain embedding; this model's RoPE type is '{}'{}", name,
                                ropeTypeName(method.rope.value_or(model.rope).type),
                                model.slidingRope ? ", and its sliding layers have another embedding" : ""));
    }
    if (bases.empty()) return bad(fmt::format("{} has no bases; give at least 1", name));
    for (std::size_t path = 0; path < bases.size(); ++path) {
        if (std::isfinite(bases[path]) && bases[path] > 1.0 && bases[path] <= kMaxBase) continue;
        return bad(fmt::format("base {} of {} is {}; it must be a number above 1 and up to {}", path, name, bases[path],
                               kMaxBase));
    }
    return {};
}

bool changesScales(const PositionMethod& method) {
    const auto changes = [](const LayerScales& scales) {
        return std::any_of(scales.begin(), scales.end(), [](double scale) { return scale != 1.0; });
    };
    return changes(method.scales) || std::any_of(method.headScales.begin(), method.headScales.end(), changes);
}

bool finite(const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

Result<void> checkRouters(const MoiceRouters& routers, const MethodModel& model) {
    const std::size_t experts = routers.bases.size();
    if (routers.headDim != model.rope.headDim || routers.layers.size() != static_cast<std::size_t>(model.numLayers)) {
        return bad(
            fmt::format("the router was made for {} layers with head_dim {} and the model has {} layers with "
                        "head_dim {}; use a router of this model, or train one with 'lpes train moice'",
                        routers.layers.size(), routers.headDim, model.numLayers, model.rope.headDim));
    }
    if (routers.topK < 1 || static_cast<std::size_t>(routers.topK) > experts) {
        return bad(
            fmt::format("the router keeps {} experts of {}; give top_k from 1 to {}", routers.topK, experts, experts));
    }
    const std::size_t wide = experts * static_cast<std::size_t>(routers.headDim), square = experts * experts;
    for (std::size_t i = 0; i < routers.layers.size(); ++i) {
        const MoiceRouters::Layer& layer = routers.layers[i];
        if (layer.w1.size() != wide || layer.w3.size() != wide || layer.w2.size() != square) {
            return bad(fmt::format(
                "the router of layer {} has matrices of {}, {} and {} values; {} experts with "
                "head_dim {} need {}, {} and {}",
                i, layer.w1.size(), layer.w2.size(), layer.w3.size(), experts, routers.headDim, wide, square, wide));
        }
        if (!finite(layer.w1) || !finite(layer.w2) || !finite(layer.w3)) {
            return bad(fmt::format("the router of layer {} holds a value that is no finite number; train it again", i));
        }
    }
    return {};
}

}  // namespace

Result<void> checkMethod(const PositionMethod& method, const MethodModel& model) {
    if (static_cast<int>(method.msPoe.has_value()) + static_cast<int>(method.buckets.has_value()) +
            static_cast<int>(method.moice != nullptr) >
        1) {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("'{}' holds two of ms-poe, attention-buckets and moice; each stands alone", method.text));
    }
    if (!std::isfinite(method.contextFactor) || method.contextFactor < 1.0) {
        return bad(
            fmt::format("the method lengthens the context by {}; it must be a number from 1", method.contextFactor));
    }
    if (auto valid = checkRopes(method, model); !valid) return valid;
    if (auto valid = checkScales(method.scales, model.numLayers); !valid) return valid;
    if (auto valid = checkHeadScales(method.headScales, model); !valid) return valid;
    if (auto valid = checkDivisors(method.divisors, model); !valid) return valid;
    if ((method.msPoe || method.moice) && changesScales(method)) {
        return fail(ErrorCode::Unsupported, fmt::format("'{}' takes no scales beside its own positions; use {} alone",
                                                        method.text, method.msPoe ? "ms-poe" : "moice"));
    }
    if (method.msPoe) return checkMsPoe(*method.msPoe, model);
    if (method.buckets) return checkBases("attention-buckets", method.buckets->bases, method, model);
    if (!method.moice) return {};
    if (auto valid = checkBases("moice", method.moice->bases, method, model); !valid) return valid;
    return checkRouters(*method.moice, model);
}

}  // namespace lpes::rope
