#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"
#include "core/model/formats/gguf_config.h"

namespace lpes::model {

using rope::RopeConfig;

namespace {

using Type = RopeConfig::Type;

const StoredTensor* findTensor(const GgufFile& gguf, std::string_view name) {
    for (const StoredTensor& tensor : gguf.tensors) {
        if (tensor.name == name) return &tensor;
    }
    return nullptr;
}

/// One factor per frequency, stored as a tensor.
std::vector<double> readFactors(GgufFields& fields, const StoredTensor& tensor, std::size_t wanted) {
    std::vector<double> factors;
    const auto refuse = [&](const std::string& why) {
        fields.refuseWith(ErrorCode::BadInput,
                          fmt::format("tensor '{}' {}; convert the model again", tensor.name, why));
    };
    if (tensor.type != StorageType::F32 ||
        tensor.shape != std::vector<std::int64_t>{static_cast<std::int64_t>(wanted)}) {
        refuse(fmt::format("is not a list of {} F32 factors, one per frequency", wanted));
        return factors;
    }
    for (std::size_t i = 0; i < wanted; ++i) {
        float factor = 0.0f;
        std::memcpy(&factor, tensor.bytes.data() + i * sizeof factor, sizeof factor);
        if (!(factor >= kMinRopeFactor && factor <= kMaxRopeFactor)) {
            refuse(fmt::format("holds {} at {}; factors from {} to {} are possible", factor, i, kMinRopeFactor,
                               kMaxRopeFactor));
            return factors;
        }
        factors.push_back(factor);
    }
    return factors;
}

class RopeReader {
  public:
    RopeReader(GgufFields& fields, const GgufFile& gguf, const Family& family, ModelConfig& config)
        : m_fields(fields), m_gguf(gguf), m_family(family), m_config(config), m_prefix(std::string(family.ggufName)) {}

    void read() {
        RopeConfig& rope = m_config.rope;
        rope.headDim = m_config.headDim;
        readTheta(rope);
        keepBlock(rope);
        if (m_fields.error()) return;
        if (m_family.localTheta > 0.0 && !m_config.slidingLayers.empty()) readSliding();
        if (m_fields.error()) return;
        if (readLists(rope)) return refuseScalingBesideLists();
        readType(rope);
    }

  private:
    std::string key(const char* rest) const { return m_prefix + rest; }

    void assume(RopeConfig& rope, const std::string& missing, double theta) {
        rope.theta = theta;
        rope.thetaOrigin = fmt::format("assumed: {} is the only base that {} models have", theta, m_prefix);
        m_config.warnings.push_back(
            fmt::format("the file has no {}: RoPE's base is assumed to be {}, the only one that {} models have",
                        missing, theta, m_prefix));
    }

    void readTheta(RopeConfig& rope) {
        const std::string base = key(".rope.freq_base");
        if (m_fields.has(base)) {
            rope.theta = m_fields.number(base, kMinTheta, kMaxTheta);
            rope.thetaOrigin = base;
        } else if (m_family.ggufTheta > 0.0) {
            assume(rope, base, m_family.ggufTheta);
        } else {
            m_fields.refuse(ErrorCode::BadInput, base,
                            "the base of the rotary embedding is never assumed; write the value that the model was "
                            "trained with into "
                            "the file (gguf-set-metadata, or convert again)");
        }
        m_config.origins["theta"] = rope.thetaOrigin;
    }

    /// Sliding layers have a base of their own and are never scaled.
    void readSliding() {
        RopeConfig sliding;
        sliding.headDim = m_config.headDim;
        sliding.originalBlock = m_config.rope.originalBlock;
        const std::string base = key(".rope.freq_base_swa");
        if (m_fields.has(base)) {
            sliding.theta = m_fields.number(base, kMinTheta, kMaxTheta);
            sliding.thetaOrigin = base;
        } else {
            assume(sliding, base, m_family.localTheta);
        }
        m_config.slidingRope = std::move(sliding);
    }

    /// Factors per frequency, which stand in tensors: Llama 3.1's, and LongRoPE's two lists. True where there are some.
    bool readLists(RopeConfig& rope) {
        const auto wanted = static_cast<std::size_t>(rope.rotated() / 2);
        const StoredTensor* shorts = findTensor(m_gguf, "rope_factors_short.weight");
        const StoredTensor* longs = findTensor(m_gguf, "rope_factors_long.weight");
        const StoredTensor* always = findTensor(m_gguf, "rope_freqs.weight");
        if (shorts == nullptr && longs == nullptr) {
            if (always == nullptr) return false;
            rope.type = Type::FrequencyFactors;
            rope.shortFactors = readFactors(m_fields, *always, wanted);
            return true;
        }
        if (shorts == nullptr || longs == nullptr) {
            m_fields.refuseWith(ErrorCode::BadInput,
                                fmt::format("tensor 'rope_factors_{}.weight' is missing beside the other list of "
                                            "LongRoPE; convert the model again",
                                            shorts == nullptr ? "short" : "long"));
            return true;
        }
        rope.type = Type::LongRope;
        rope.shortFactors = readFactors(m_fields, *shorts, wanted);
        rope.longFactors = readFactors(m_fields, *longs, wanted);
        rope.originalContext = m_fields.integer(key(".rope.scaling.original_context_length"), 2, kMaxContext);
        if (m_fields.error()) return true;
        const std::string factorKey = key(".rope.scaling.attn_factor");
        if (m_fields.has(factorKey)) {
            rope.attentionFactor = m_fields.number(factorKey, 1e-3, 1e3);
            rope.attentionFactorOrigin = factorKey;
            return true;
        }
        const double ratio = static_cast<double>(m_config.contextLength) / rope.originalContext;
        rope.attentionFactor =
            ratio <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(ratio) / std::log(static_cast<double>(rope.originalContext)));
        rope.attentionFactorOrigin = "computed: √(1 + ln(context ratio) / ln(original context))";
        return true;
    }

    /// llama.cpp would do both; models are made with one or the other.
    void refuseScalingBesideLists() {
        const std::string typeKey = key(".rope.scaling.type");
        const auto type = m_fields.string(typeKey);
        if (type && *type != "none" && *type != "longrope") {
            return m_fields.refuse(ErrorCode::Unsupported, typeKey,
                                   "scaling beside factors per frequency (rope_freqs, rope_factors) is not supported");
        }
        for (const char* name : {".rope.scaling.factor", ".rope.scale_linear"}) {
            if (!m_fields.has(key(name)) || m_fields.number(key(name), kMinRopeFactor, kMaxRopeFactor) == 1.0) continue;
            return m_fields.refuse(ErrorCode::Unsupported, key(name),
                                   "a factor beside factors per frequency (rope_freqs, rope_factors) is not supported");
        }
    }

    void readType(RopeConfig& rope) {
        const std::string typeKey = key(".rope.scaling.type");
        std::string factorKey = key(".rope.scaling.factor");
        if (!m_fields.has(factorKey) && m_fields.has(key(".rope.scale_linear"))) factorKey = key(".rope.scale_linear");
        const auto factor = [&] { return m_fields.number(factorKey, kMinRopeFactor, kMaxRopeFactor); };
        const auto type = m_fields.string(typeKey);
        if (m_fields.error()) return;
        if (type && *type != "none" && *type != "linear" && *type != "yarn") {
            return m_fields.refuse(ErrorCode::Unsupported, typeKey,
                                   *type == "longrope"
                                       ? "but the tensors rope_factors_short and rope_factors_long are missing"
                                       : "this rope type is not supported; known are none, linear and yarn");
        }
        const std::string attention = key(".rope.scaling.attn_factor");
        const double given = m_fields.has(attention) ? m_fields.number(attention, 1e-3, 1e3) : 1.0;
        if (type == "yarn") {
            rope.type = Type::Yarn;
            rope.factor = factor();
            rope.originalContext = m_fields.integer(key(".rope.scaling.original_context_length"), 2, kMaxContext);
            const auto beta = [&](const char* name, double& target) {
                if (m_fields.has(key(name))) target = m_fields.number(key(name), 1e-3, 1e6);
            };
            beta(".rope.scaling.yarn_beta_fast", rope.betaFast);
            beta(".rope.scaling.yarn_beta_slow", rope.betaSlow);
            if (m_fields.error()) return;
            rope.attentionFactor = given * (rope.factor <= 1.0 ? 1.0 : 0.1 * std::log(rope.factor) + 1.0);
            rope.attentionFactorOrigin = "computed: 0.1·ln(factor) + 1";
            return extendContext(rope.originalContext * rope.factor, "rope.scaling.original_context_length × factor");
        }
        if (given != 1.0) {
            return m_fields.refuse(ErrorCode::Unsupported, attention, "only yarn and longrope have one");
        }
        if (type == "linear" || (!type && m_fields.has(factorKey))) {
            rope.type = Type::Linear;  // without a type llama.cpp takes a factor as linear
            rope.factor = factor();
            if (!m_config.slidingRope && !m_fields.error()) {
                extendContext(m_config.contextLength * rope.factor, "context_length × rope.scaling.factor");
            }
        } else if (m_fields.has(factorKey) && factor() != 1.0) {
            m_fields.refuse(ErrorCode::BadInput, factorKey, "but rope.scaling.type is none; correct the wrong one");
        }
    }

    void extendContext(double tokens, const std::string& origin) {
        if (tokens <= m_config.contextLength || tokens > kMaxContext) return;
        m_config.contextLength = static_cast<int>(tokens);
        m_config.origins["context"] = fmt::format("{}.{}", m_prefix, origin);
    }

    void keepBlock(RopeConfig& rope) const {
        nlohmann::json block = nlohmann::json::object();
        for (const auto& [name, value] : m_gguf.values) {
            if (name.rfind(m_prefix + ".rope.", 0) != 0) continue;
            if (const auto number = value.number()) {
                block[name] = *number;
            } else if (const auto whole = value.integer()) {
                block[name] = *whole;
            } else if (const auto flag = value.boolean()) {
                block[name] = *flag;
            } else {
                block[name] =
                    value.string() ? nlohmann::json(std::string(*value.string())) : nlohmann::json(value.shown());
            }
        }
        rope.originalBlock = jsonLine(block);
    }

    GgufFields& m_fields;
    const GgufFile& m_gguf;
    const Family& m_family;
    ModelConfig& m_config;
    std::string m_prefix;
};

}  // namespace

void readGgufRope(GgufFields& fields, const GgufFile& gguf, const Family& family, ModelConfig& config) {
    RopeReader(fields, gguf, family, config).read();
}

}  // namespace lpes::model
