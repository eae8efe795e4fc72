#include "core/studies/method_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace lpes::studies {

std::string bucketSearchWords(const rope::BucketSearch& search, std::span<const double> found) {
    return fmt::format(
        "those that a greedy search for {} found among {} from {:.10g} to {:.10g} in steps of {:.10g}, by how the "
        "peaks "
        "of one fill the troughs of the others at distances of {} to {} tokens: {:.10g}",
        search.count, search.candidates(), search.minBase, search.maxBase, search.step, search.first, search.last,
        fmt::join(found, ", "));
}

std::string bucketSearchRule() {
    const rope::BucketSearch search;
    return fmt::format(
        "bases=search tries {} bases from 1 to {:g} times the model's own in steps of {:g} times it; the result says "
        "which it found",
        search.candidates(), search.maxBase / search.minBase, search.step / search.minBase);
}

nlohmann::json bucketSearchJson(const rope::PositionMethod& method) {
    if (!method.bucketSearch || !method.buckets) return nullptr;
    const rope::BucketSearch& search = *method.bucketSearch;
    return {{"min_base", search.minBase},
            {"max_base", search.maxBase},
            {"step", search.step},
            {"candidates", search.candidates()},
            {"first_distance", search.first},
            {"last_distance", search.last},
            {"count", search.count},
            {"found", method.buckets->bases},
            {"words", bucketSearchWords(search, method.buckets->bases)}};
}

namespace {

using rope::MethodPart;
using Kind = MethodPart::Kind;

std::string ntkWords(const MethodPart& part, const rope::PositionMethod& method, const rope::MethodModel& model) {
    std::string words =
        fmt::format("positions stay and the RoPE base grows from {} to {:.10g}", model.rope.theta, method.rope->theta);
    if (method.slidingRope) {
        words +=
            fmt::format(" (of sliding layers from {} to {:.10g})", model.slidingRope->theta, method.slidingRope->theta);
    }
    return words + fmt::format(": the fastest frequency is kept, the slowest divided by {}", part.factor);
}

std::string yarnWords(const MethodPart& part, const rope::PositionMethod& method) {
    if (!method.rope) return "with the factor 1 the model as it is";
    return fmt::format(
        "fast frequencies are kept and slow ones divided by {}, with a ramp between {} and {} rotations in {} tokens; "
        "cos and sin are multiplied by {:.6f}",
        part.factor, method.rope->betaFast, method.rope->betaSlow, method.rope->originalContext,
        method.rope->attentionFactor);
}

std::string profileWords(const MethodPart& part, const rope::PositionMethod& method) {
    if (!method.headScales.empty())
        return fmt::format("each key/value head of a layer divides positions by its scale in {}", part.file);
    if (!method.divisors.empty() && method.scales.empty())
        return fmt::format("each layer divides its bands of frequencies by their scales in {}", part.file);
    // Other parts of the method may have brought either of the two.
    if (!method.divisors.empty())
        return fmt::format("each layer divides positions, or its bands of frequencies, by its scales in {}", part.file);
    return fmt::format("each layer divides positions by its scale in {}", part.file);
}

/// The fixed order of the released code.
std::string fixedMsPoeWords(const rope::MsPoe& msPoe, const rope::MethodModel& model) {
    return fmt::format(
        "in layers {} to {} every head divides positions by a ratio of its own, the same for every prompt, from {:.6g} "
        "for the first head down to {:.6g} for the last (head_type normal of the released code){}",
        msPoe.firstLayer, msPoe.lastLayer, msPoe.ratios.back(), msPoe.ratios.front(),
        model.numHeads == model.numKvHeads ? "" : "; keys take the ratio of the first query head of their group");
}

std::string msPoeWords(const rope::MsPoe& msPoe, const rope::MethodModel& model) {
    if (msPoe.headOrder == MethodPart::HeadOrder::Normal) return fixedMsPoeWords(msPoe, model);
    const bool paper = msPoe.variant == MethodPart::Variant::Paper;
    std::string words = fmt::format(
        "in layers {} to {} every head divides positions by a ratio from {:.6g} to {:.6g} of its own, chosen while the "
        "prompt is read and kept while its continuation is written; a head scores by the share of attention of the "
        "last "
        "token that is {} {} times its mean, and ",
        msPoe.firstLayer, msPoe.lastLayer, msPoe.ratios.front(), msPoe.ratios.back(), paper ? "at least" : "above",
        msPoe.threshold);
    words += paper ? "the highest score takes the smallest ratio (as the paper means it)"
                   : "head j takes the ratio whose number is the head at rank j (as the released code does it)";
    if (model.numHeads == model.numKvHeads) return words;
    return words + (msPoe.groupRatio == MethodPart::GroupRatio::FirstHead
                        ? "; keys take the ratio of the first query head of their group"
                        : "; a group of query heads shares one ratio, by the mean of its scores (ours)");
}

std::string bucketWords(const rope::AttentionBuckets& buckets, const std::optional<rope::BucketSearch>& search) {
    const bool logits = buckets.combine == MethodPart::Combine::Logits;
    const std::string words = fmt::format(
        "{} paths read the whole text, with the RoPE bases {:.10g}; their last {} are added up, weighted by the "
        "softmax "
        "of each path's largest logit ({})",
        buckets.bases.size(), fmt::join(buckets.bases, ", "), logits ? "logits" : "probabilities",
        logits ? "as the released code does it" : "as the paper draws it");
    return search ? fmt::format("{}; the bases are {}", words, bucketSearchWords(*search, buckets.bases)) : words;
}

std::string moiceWords(const rope::MoiceRouters& routers) {
    return fmt::format(
        "every layer attends once for each different RoPE base of its experts ({:.10g}); its router keeps {} of {} "
        "experts for each token and head and mixes their outputs",
        fmt::join(routers.bases, ", "), routers.topK, routers.bases.size());
}

std::string costWords(const rope::MethodCost& cost, const rope::PositionMethod& method) {
    if (cost.passes > 1) {
        return fmt::format("{} times the baseline's passes and KV cache, while reading and while writing", cost.passes);
    }
    if (cost.attentionsPerLayer > 1) {
        return fmt::format(
            "one pass with {} attentions in every layer; keys are cached once for each base, rotated by it",
            cost.attentionsPerLayer);
    }
    if (cost.onePrompt) {
        return "one pass, in which a head's ratio follows from the prompt: every prompt begins anew";
    }
    if (method.rope && rope::dependsOnLength(*method.rope)) {
        return "one pass; beyond the model's context keys are rotated anew when the text grows";
    }
    return "that of the baseline";
}

}  // namespace

std::string partMeaning(const MethodPart& part, const rope::PositionMethod& method, const rope::MethodModel& model) {
    switch (part.kind) {
        case Kind::Baseline:
            return "the model as it is";
        case Kind::PositionInterpolation:
            return fmt::format("position interpolation: every layer divides positions by {}", part.factor);
        case Kind::Uniform:
            return fmt::format("LPES with one value: every layer divides positions by {}", part.factor);
        case Kind::Ntk:
            return ntkWords(part, method, model);
        case Kind::DynamicNtk:
            return fmt::format(
                "up to {} tokens the model as it is; beyond, the RoPE base grows with the length of the text, as NTK "
                "with the factor {} * length / {} - {}",
                model.contextLength, part.factor, model.contextLength, part.factor - 1.0);
        case Kind::Yarn:
            return yarnWords(part, method);
        case Kind::LongRope:
            return fmt::format("every frequency is divided by its factor in {}; cos and sin are not rescaled",
                               part.file);
        case Kind::Lpes:
            return profileWords(part, method);
        case Kind::MsPoe:
            return msPoeWords(*method.msPoe, model);
        case Kind::AttentionBuckets:
            return bucketWords(*method.buckets, method.bucketSearch);
        case Kind::Moice:
            return moiceWords(*method.moice);
    }
    return {};
}

nlohmann::json costJson(const rope::PositionMethod& method, const rope::MethodModel& model) {
    const rope::MethodCost cost = rope::methodCost(method);
    return {{"passes", cost.passes},
            {"attentions_per_layer", cost.attentionsPerLayer},
            {"key_caches", cost.keyCaches},
            {"value_caches", cost.valueCaches},
            {"one_prompt", cost.onePrompt},
            {"context", std::llround(model.contextLength * method.contextFactor)},
            {"meaning", costWords(cost, method)}};
}

}  // namespace lpes::studies
