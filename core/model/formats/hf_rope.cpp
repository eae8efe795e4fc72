#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/model/formats/hf_config.h"
#include "core/model/formats/hf_rope_block.h"

namespace lpes::model {

using nlohmann::json;
using rope::RopeConfig;

namespace {

using Type = RopeConfig::Type;

/// transformers wrote rope_theta into every Llama configuration from this version on; before, 10000 was the only base.
constexpr double kFirstVersionWithTheta = 4.33;
constexpr double kOldTheta = 10000.0;

/// The same angles, whatever the spelling.
bool sameRotation(const RopeConfig& a, const RopeConfig& b) {
    const int beyond = 2 * std::max({a.originalContext, b.originalContext, 1});
    return a.attentionFactor == b.attentionFactor && rope::inverseFrequencies(a, 1) == rope::inverseFrequencies(b, 1) &&
           rope::inverseFrequencies(a, beyond) == rope::inverseFrequencies(b, beyond);
}

class RopeReader {
  public:
    RopeReader(JsonFields& fields, const std::filesystem::path& file, const Family& family, ModelConfig& config)
        : m_fields(fields), m_file(file), m_family(family), m_config(config) {}

    void read() {
        RopeConfig& rope = m_config.rope;
        rope.headDim = m_config.headDim;
        rope.originalBlock = "null";
        readRotaryDim(rope);
        if (m_fields.error()) return;
        const json* parameters = m_fields.find("rope_parameters");
        const json* scaling = m_fields.find("rope_scaling");
        if (scaling != nullptr) rope.originalBlock = scaling->dump();
        if (parameters != nullptr) rope.originalBlock = parameters->dump();
        const bool twoBases = m_family.localTheta > 0.0;
        if (twoBases) {
            m_config.slidingRope = rope;
            readPerLayerType(parameters, scaling);
        } else {
            readTheta(rope);
            if (m_fields.error()) return;
            readFlat(parameters, scaling);
        }
        if (m_fields.error()) return;
        extendContext();
    }

  private:
    void block(const json* found, const std::string& name, RopeConfig& rope) {
        if (found == nullptr || found->is_null()) return;
        readRopeBlock(m_fields, *found, m_file, name, m_family, m_config, rope);
    }

    void readFlat(const json* parameters, const json* scaling) {
        RopeConfig& rope = m_config.rope;
        const RopeConfig plain = rope;
        block(scaling, "rope_scaling", rope);
        if (parameters == nullptr || m_fields.error()) return;
        const RopeConfig old = rope;
        rope = plain;
        block(parameters, "rope_parameters", rope);
        if (!m_fields.error() && scaling != nullptr && !sameRotation(old, rope)) {
            m_fields.refuse(ErrorCode::BadInput, "rope_scaling",
                            "rope_parameters says otherwise; remove the wrong one");
        }
    }

    /// Gemma 3: a base for full attention, which scaling is about, and one for sliding layers, which is never scaled in
    /// transformers 4's spelling.
    void readPerLayerType(const json* parameters, const json* scaling) {
        const bool nested = parameters != nullptr && parameters->is_object();
        const json* full =
            nested && parameters->contains("full_attention") ? &(*parameters)["full_attention"] : nullptr;
        const json* local =
            nested && parameters->contains("sliding_attention") ? &(*parameters)["sliding_attention"] : nullptr;
        if (parameters != nullptr && full == nullptr && local == nullptr) {
            return m_fields.refuse(ErrorCode::BadInput, "rope_parameters",
                                   "blocks full_attention and sliding_attention are needed inside");
        }
        thetaOf(m_config.rope, full, "rope_parameters.full_attention", "rope_theta", m_family.fullTheta);
        thetaOf(*m_config.slidingRope, local, "rope_parameters.sliding_attention", "rope_local_base_freq",
                m_family.localTheta);
        block(scaling, "rope_scaling", m_config.rope);
        block(full, "rope_parameters.full_attention", m_config.rope);
        block(local, "rope_parameters.sliding_attention", *m_config.slidingRope);
    }

    void thetaOf(RopeConfig& rope, const json* inside, const std::string& name, const std::string& key,
                 double assumed) {
        if (inside != nullptr && inside->is_object() && inside->contains("rope_theta")) {
            JsonFields inner(*inside, m_file, name + ".");
            rope.theta = inner.number("rope_theta", kMinTheta, kMaxTheta);
            rope.thetaOrigin = fmt::format("config.json {}.rope_theta", name);
            m_fields.adopt(inner);
        } else if (m_fields.has(key)) {
            rope.theta = m_fields.number(key, kMinTheta, kMaxTheta);
            rope.thetaOrigin = "config.json " + key;
        } else {
            rope.theta = assumed;
            rope.thetaOrigin = fmt::format("assumed: {} is the only base that {} models have", assumed, m_family.name);
            m_config.warnings.push_back(
                fmt::format("config.json has no {}: RoPE's base is assumed to be {}, the only one that {} models have",
                            key, assumed, m_family.name));
        }
    }

    /// theta from the first place that has it; the others must agree.
    void readTheta(RopeConfig& rope) {
        const auto take = [&](JsonFields& from, const std::string& origin) {
            if (!from.has("rope_theta")) return;
            const double theta = from.number("rope_theta", kMinTheta, kMaxTheta);
            if (!rope.thetaOrigin.empty() && theta != rope.theta && !from.error()) {
                from.refuse(ErrorCode::BadInput, "rope_theta",
                            fmt::format("but {} is {}; remove the wrong one", rope.thetaOrigin, rope.theta));
            }
            if (!rope.thetaOrigin.empty()) return;
            rope.theta = theta;
            rope.thetaOrigin = "config.json " + origin;
        };
        const auto takeInside = [&](const char* name) {
            const json* found = m_fields.find(name);
            if (found == nullptr || !found->is_object()) return;
            JsonFields inner(*found, m_file, fmt::format("{}.", name));
            take(inner, fmt::format("{}.rope_theta", name));
            m_fields.adopt(inner);
        };
        takeInside("rope_parameters");
        take(m_fields, "rope_theta");
        takeInside("rope_scaling");
        if (rope.thetaOrigin.empty() && !m_fields.error()) assumeOldTheta(rope);
    }

    /// Llama 2 and Vicuna files are older than the key.
    void assumeOldTheta(RopeConfig& rope) {
        const auto version = m_fields.string("transformers_version");
        if (m_fields.error()) return;
        if (m_family.architecture == Architecture::Llama && version && isBefore(*version)) {
            rope.theta = kOldTheta;
            rope.thetaOrigin = fmt::format("assumed: transformers {} wrote the file, and had no other base", *version);
            m_config.warnings.push_back(fmt::format(
                "config.json has no rope_theta: RoPE's base is assumed to be {}, because transformers {}, which "
                "wrote the file, knew no other",
                kOldTheta, *version));
            return;
        }
        m_fields.refuse(
            ErrorCode::BadInput, "rope_theta",
            "the base of the rotary embedding is needed (rope_theta, or rope_parameters.rope_theta); it is never "
            "assumed, so add the value that the model was trained with");
    }

    /// "4.31.0.dev0" < 4.33
    static bool isBefore(const std::string& version) {
        char* end = nullptr;
        const long major = std::strtol(version.c_str(), &end, 10);
        if (end == version.c_str() || *end != '.') return false;
        const char* second = end + 1;
        const long minor = std::strtol(second, &end, 10);
        if (end == second || minor < 0 || minor > 99) return false;
        return static_cast<double>(major) + static_cast<double>(minor) / 100.0 < kFirstVersionWithTheta - 1e-9;
    }

    /// How much of a head is rotated; only Phi-3 leaves a part alone.
    void readRotaryDim(RopeConfig& rope) {
        double fraction = 1.0;
        const auto take = [&](JsonFields& from) {
            if (from.has("partial_rotary_factor")) fraction = from.number("partial_rotary_factor", 1e-3, 1.0);
            rope.rotaryDim = 0;
            if (fraction == 1.0 || from.error()) return;
            if (m_family.architecture != Architecture::Phi3) {
                return from.refuse(ErrorCode::Unsupported, "partial_rotary_factor",
                                   fmt::format("{} has a full rotary embedding only", m_family.name));
            }
            rope.rotaryDim = static_cast<int>(m_config.headDim * fraction);
            if (rope.rotaryDim < 2 || rope.rotaryDim % 2 != 0) {
                from.refuse(ErrorCode::BadInput, "partial_rotary_factor",
                            fmt::format("it leaves {} of head_dim {} to rotate; an even number is needed",
                                        rope.rotaryDim, m_config.headDim));
            }
        };
        take(m_fields);
        for (const char* name : {"rope_scaling", "rope_parameters"}) {
            const json* found = m_fields.find(name);
            if (found == nullptr || !found->is_object() || m_fields.error()) continue;
            JsonFields inner(*found, m_file, fmt::format("{}.", name));
            take(inner);
            m_fields.adopt(inner);
        }
    }

    /// What the scaling is for: transformers itself takes any length, and these types leave max_position_embeddings at
    /// the length of the original training.
    void extendContext() {
        const RopeConfig& rope = m_config.rope;
        double extended = m_config.contextLength;
        std::string origin;
        if (rope.type == Type::Yarn) {
            extended = rope.originalContext * rope.factor;
            origin = "original_max_position_embeddings × factor";
        } else if (rope.type == Type::Dynamic || (rope.type == Type::Linear && !m_config.slidingRope)) {
            extended = m_config.contextLength * rope.factor;
            origin = "max_position_embeddings × factor";
        }
        if (extended <= m_config.contextLength || extended > kMaxContext) return;
        m_config.contextLength = static_cast<int>(extended);
        m_config.origins["context"] = "config.json " + origin;
    }

    JsonFields& m_fields;
    const std::filesystem::path& m_file;
    const Family& m_family;
    ModelConfig& m_config;
};

}  // namespace

void readHuggingFaceRope(JsonFields& fields, const std::filesystem::path& file, const Family& family,
                         ModelConfig& config) {
    RopeReader(fields, file, family, config).read();
}

}  // namespace lpes::model
