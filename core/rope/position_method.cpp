#include "core/rope/position_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "core/rope/rivals.h"

namespace lpes::rope {

namespace {

using Kind = MethodPart::Kind;
using Type = RopeConfig::Type;
using Rows = std::vector<std::vector<double>>;

constexpr std::string_view kScalesWork = "pi, uniform and lpes work on every model";

void multiply(LayerScales& scales, const LayerScales& by) {
    if (scales.empty()) {
        scales = by;
        return;
    }
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] *= by[i];
}

/// Builds the method part by part.
class Resolver {
  public:
    Resolver(const MethodSpec& spec, const MethodModel& model, const MethodFiles& files)
        : m_spec(spec), m_model(model), m_files(files) {
        m_method.text = spec.text;
    }

    Result<PositionMethod> resolve() {
        for (const MethodPart& part : m_spec.parts) {
            if (auto taken = take(part); !taken) return fail(taken.error());
        }
        if (auto valid = checkMethod(m_method, m_model); !valid) {
            Error error = valid.error();
            if (error.context.empty()) error.context = fmt::format("method {}", m_spec.text);
            return fail(std::move(error));
        }
        return std::move(m_method);
    }

  private:
    Result<void> take(const MethodPart& part) {
        switch (part.kind) {
            case Kind::Baseline:
                return {};
            case Kind::PositionInterpolation:
                m_method.contextFactor *= std::max(1.0, part.factor);
                [[fallthrough]];
            case Kind::Uniform:
                multiply(m_method.scales, LayerScales(layers(), part.factor));
                return {};
            case Kind::Ntk:
                return takeNtk(part);
            case Kind::DynamicNtk:
                return takeDynamicNtk(part);
            case Kind::Yarn:
                return takeYarn(part);
            case Kind::LongRope:
                return takeLongRope(part);
            case Kind::Lpes:
                return takeProfile(part);
            case Kind::MsPoe:
                return takeMsPoe(part);
            case Kind::AttentionBuckets:
                return takeBuckets(part);
            case Kind::Moice:
                return takeMoice(part);
        }
        return {};
    }

    [[nodiscard]] std::size_t layers() const { return static_cast<std::size_t>(m_model.numLayers); }

    [[nodiscard]] static tl::unexpected<Error> refused(const MethodPart& part, const RopeConfig& rope,
                                                       std::string_view why, std::string_view remedy = kScalesWork) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("the method '{}' cannot be used on this model, whose RoPE type is '{}': {}; {}",
                                methodName(part.kind), ropeTypeName(rope.type), why, remedy));
    }

    /// Both embeddings of a model, or its only one.
    [[nodiscard]] std::vector<const RopeConfig*> embeddings() const {
        std::vector<const RopeConfig*> ropes{&m_model.rope};
        if (m_model.slidingRope) ropes.push_back(&*m_model.slidingRope);
        return ropes;
    }

    /// For methods that are defined on one embedding θ_i = b^(−2i/d) and nothing else.
    [[nodiscard]] Result<void> requirePlain(const MethodPart& part, std::string_view why) const {
        if (m_model.rope.type != Type::Default) return refused(part, m_model.rope, why);
        if (m_model.slidingRope) {
            return refused(part, m_model.rope,
                           fmt::format("its sliding layers have an embedding of their own (base {}, the others {}), "
                                       "and the method is defined for one",
                                       m_model.slidingRope->theta, m_model.rope.theta));
        }
        return {};
    }

    /// NTK's exponent d/(d−2).
    [[nodiscard]] static Result<void> requireExponent(const MethodPart& part, const RopeConfig& rope) {
        if (rope.rotated() > 2) return {};
        return refused(part, rope, "its heads rotate 2 values, for which the exponent d/(d-2) has no value");
    }

    Result<void> takeNtk(const MethodPart& part) {
        for (const RopeConfig* rope : embeddings()) {
            if (rope->type != Type::Default && rope->type != Type::Linear && rope->type != Type::Llama3) {
                return refused(part, *rope, "its frequencies were rescaled for the base that it has");
            }
            if (auto valid = requireExponent(part, *rope); !valid) return valid;
        }
        const auto scaled = [&](RopeConfig rope) {
            rope.thetaOrigin = fmt::format("computed: {}·{}^(d/(d−2))", rope.theta, part.factor);
            rope.theta = ntkBase(rope.theta, part.factor, rope.rotated());
            return rope;
        };
        m_method.rope = scaled(m_model.rope);
        if (m_model.slidingRope) m_method.slidingRope = scaled(*m_model.slidingRope);
        m_method.contextFactor *= part.factor;
        return {};
    }

    Result<void> takeDynamicNtk(const MethodPart& part) {
        if (auto valid = requirePlain(part, "its frequencies are rescaled already"); !valid) return valid;
        if (auto valid = requireExponent(part, m_model.rope); !valid) return valid;
        m_method.rope = m_model.rope;
        m_method.rope->type = Type::Dynamic;
        m_method.rope->factor = part.factor;
        m_method.rope->originalContext = m_model.contextLength;
        m_method.contextFactor *= part.factor;
        return {};
    }

    Result<void> takeYarn(const MethodPart& part) {
        if (auto valid = requirePlain(part, "its frequencies are rescaled already"); !valid) return valid;
        if (part.factor == 1.0) return {};  // the ramp's two shares would add up to 1 but for the last bit
        RopeConfig rope = m_model.rope;
        rope.type = Type::Yarn;
        rope.factor = part.factor;
        rope.originalContext = m_model.contextLength;
        rope.attentionFactor = 0.1 * std::log(part.factor) + 1.0;
        rope.attentionFactorOrigin = "computed: 0.1·ln(factor) + 1";
        m_method.rope = std::move(rope);
        m_method.contextFactor *= part.factor;
        return {};
    }

    Result<void> takeLongRope(const MethodPart& part) {
        for (const RopeConfig* rope : embeddings()) {
            if (rope->type == Type::LongRope || rope->type == Type::FrequencyFactors) {
                return refused(part, *rope, "it has factors of its own, and LongRoPE's are meant instead of such ones");
            }
        }
        if (!m_files.longRope) return noReader(part);
        auto rows = m_files.longRope(part.file);
        if (!rows) return fail(rows.error());
        if (rows->size() == 1) rows->resize(layers(), rows->front());
        return multiplyDivisors(*rows, part.file);
    }

    Result<void> takeProfile(const MethodPart& part) {
        if (!m_files.profile) return noReader(part);
        auto profile = m_files.profile(part.file);
        if (!profile) return fail(profile.error());
        if (!profile->scales.empty()) {
            // Before it meets other scales, which may have hidden one that is out of range.
            if (auto valid = checkScales(profile->scales, m_model.numLayers); !valid) return valid;
            multiply(m_method.scales, profile->scales);
        }
        m_method.headScales = std::move(profile->headScales);
        return profile->divisors.empty() ? Result<void>{} : multiplyDivisors(profile->divisors, part.file);
    }

    /// `rows`: one per layer; a single one of a file stands for all of them and has been repeated.
    [[nodiscard]] Result<void> checkFactors(const Rows& rows, const std::string& file) const {
        const auto half = static_cast<std::size_t>(m_model.rope.rotated() / 2);
        const std::string needed = fmt::format(
            "this model takes one row of {} factors (d/2), or {} rows of {} (L × d/2)", half, m_model.numLayers, half);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            if (rows[row].size() == half) continue;
            return fail(ErrorCode::BadInput, fmt::format("{}: row {} has {} factors instead of {}; {}", file, row + 1,
                                                         rows[row].size(), half, needed));
        }
        if (rows.size() == layers()) return {};
        return fail(ErrorCode::BadInput,
                    fmt::format("{}: has {} rows of {} factors; {}", file, rows.size(), half, needed));
    }

    Result<void> multiplyDivisors(const Rows& rows, const std::string& file) {
        if (auto fits = checkFactors(rows, file); !fits) return fits;
        if (m_method.divisors.empty()) {
            m_method.divisors = rows;
            return {};
        }
        for (std::size_t layer = 0; layer < rows.size(); ++layer) multiply(m_method.divisors[layer], rows[layer]);
        return {};
    }

    Result<void> takeMsPoe(const MethodPart& part) {
        MsPoe msPoe;
        const bool byGroup = part.groupRatio == MethodPart::GroupRatio::Mean;
        msPoe.ratios =
            msPoeRatios(byGroup ? m_model.numKvHeads : m_model.numHeads, part.minRatio, part.maxRatio, part.variant);
        msPoe.variant = part.variant;
        msPoe.headOrder = part.headOrder;
        msPoe.groupRatio = part.groupRatio;
        // The released scripts name layers 2 to 31 of 32; the paper names none.
        msPoe.firstLayer = part.firstLayer.value_or(part.variant == MethodPart::Variant::Code ? 2 : 0);
        msPoe.lastLayer = part.lastLayer.value_or(m_model.numLayers - 1);
        if (msPoe.firstLayer > msPoe.lastLayer) {
            return fail(ErrorCode::BadInput,
                        fmt::format("the method '{}' begins at layer {} and the model has {} layers; name others, for "
                                    "example ms-poe:variant=code,layers=0-{}",
                                    m_spec.text, msPoe.firstLayer, m_model.numLayers, m_model.numLayers - 1));
        }
        m_method.msPoe = std::move(msPoe);
        return {};
    }

    /// The released search is for a base of 10000, 4,096 tokens and heads of 128; in the same proportions here.
    [[nodiscard]] BucketSearch bucketSearch(int count) const {
        BucketSearch search;
        const double unit = m_model.rope.theta / search.minBase;
        search.headDim = m_model.rope.rotated();
        search.first = std::max(1, m_model.contextLength / 4);
        search.last = std::min(m_model.contextLength - 1, search.first + (search.last - 1000));
        search.minBase *= unit;
        search.maxBase *= unit;
        search.step *= unit;
        search.count = count;
        return search;
    }

    Result<void> takeBuckets(const MethodPart& part) {
        if (auto valid = requirePlain(part, "its paths differ in a base that decides every frequency"); !valid)
            return valid;
        AttentionBuckets buckets{part.bases, part.combine};
        if (part.searchedBases) {
            m_method.bucketSearch = bucketSearch(*part.searchedBases);
            buckets.bases = searchBucketBases(*m_method.bucketSearch);
        } else if (buckets.bases.empty()) {
            buckets.bases = attentionBucketBases(m_model.rope.theta);
        }
        m_method.buckets = std::move(buckets);
        return {};
    }

    Result<void> takeMoice(const MethodPart& part) {
        if (auto valid = requirePlain(part, "its experts differ in a base that decides every frequency"); !valid)
            return valid;
        if (!m_files.routers) return noReader(part);
        auto routers = m_files.routers(part.file);
        if (!routers) return fail(routers.error());
        m_method.moice = std::move(*routers);
        if (!part.topK || *part.topK == m_method.moice->topK) return {};
        const auto experts = static_cast<int>(m_method.moice->bases.size());
        if (*part.topK > experts) {
            return fail(ErrorCode::BadInput,
                        fmt::format("top_k={} in the method '{}' is more than the router's {} experts; give 1 to {}",
                                    *part.topK, m_spec.text, experts, experts));
        }
        auto changed = std::make_shared<MoiceRouters>(*m_method.moice);
        changed->topK = *part.topK;
        m_method.moice = std::move(changed);
        return {};
    }

    [[nodiscard]] static tl::unexpected<Error> noReader(const MethodPart& part) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("'{}' cannot be read here, so that the method '{}' cannot be used", part.file,
                                methodName(part.kind)));
    }

    const MethodSpec& m_spec;
    const MethodModel& m_model;
    const MethodFiles& m_files;
    PositionMethod m_method;
};

}  // namespace

Result<PositionMethod> resolveMethod(const MethodSpec& spec, const MethodModel& model, const MethodFiles& files) {
    return Resolver(spec, model, files).resolve();
}

MethodCost methodCost(const PositionMethod& method) {
    MethodCost cost;
    if (method.buckets) {
        cost.passes = cost.keyCaches = cost.valueCaches = static_cast<int>(method.buckets->bases.size());
    }
    if (method.moice) {
        // Experts of one base are computed once; keys are kept rotated, once for each base.
        const std::set<double> distinct(method.moice->bases.begin(), method.moice->bases.end());
        cost.attentionsPerLayer = cost.keyCaches = static_cast<int>(distinct.size());
    }
    cost.onePrompt = method.msPoe && method.msPoe->headOrder == MethodPart::HeadOrder::Scored;
    return cost;
}

RopeConfig methodRope(const PositionMethod& method, const MethodModel& model, bool sliding, int path) {
    RopeConfig rope = sliding && model.slidingRope ? method.slidingRope.value_or(*model.slidingRope)
                                                   : method.rope.value_or(model.rope);
    const std::vector<double>* bases = method.buckets ? &method.buckets->bases : nullptr;
    if (method.moice) bases = &method.moice->bases;
    if (bases != nullptr) {
        rope.theta = (*bases)[static_cast<std::size_t>(path)];
        rope.thetaOrigin = fmt::format("method {}, base {} of {}", method.text, path + 1, bases->size());
    }
    return rope;
}

std::vector<double> methodFrequencies(const PositionMethod& method, const MethodModel& model, int layer, bool sliding,
                                      int length, int path) {
    std::vector<double> frequencies = inverseFrequencies(methodRope(method, model, sliding, path), length);
    if (!method.divisors.empty()) {
        const std::vector<double>& divisors = method.divisors[static_cast<std::size_t>(layer)];
        for (std::size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= divisors[i];
    }
    return frequencies;
}

}  // namespace lpes::rope
