#include "core/model/formats/hf_rope_block.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/model/formats/model_draft.h"

namespace lpes::model {

using nlohmann::json;
using rope::RopeConfig;

namespace {

using Type = RopeConfig::Type;

constexpr const char* kKnownTypes = "known are default, linear, dynamic, yarn, longrope and llama3";

/// Settings of a rope block and the types that read them.
const std::map<std::string, std::set<Type>>& knownSettings() {
    static const std::map<std::string, std::set<Type>> kSettings = {
        {"rope_type", {}},
        {"type", {}},
        {"rope_theta", {}},
        {"partial_rotary_factor", {}},
        {"finetuned", {}},  // an old note about how a YaRN checkpoint came to be
        {"factor", {Type::Linear, Type::Dynamic, Type::Yarn, Type::LongRope, Type::Llama3}},
        {"original_max_position_embeddings", {Type::Dynamic, Type::Yarn, Type::LongRope, Type::Llama3}},
        {"attention_factor", {Type::Yarn, Type::LongRope}},
        {"beta_fast", {Type::Yarn}},
        {"beta_slow", {Type::Yarn}},
        {"mscale", {Type::Yarn}},
        {"mscale_all_dim", {Type::Yarn}},
        {"truncate", {Type::Yarn}},
        {"short_factor", {Type::LongRope}},
        {"long_factor", {Type::LongRope}},
        {"low_freq_factor", {Type::Llama3}},
        {"high_freq_factor", {Type::Llama3}},
    };
    return kSettings;
}

/// One rope block: a RopeConfig without theta.
class BlockReader {
  public:
    BlockReader(JsonFields& fields, const json& block, const std::filesystem::path& file, std::string name,
                const Family& family, ModelConfig& config)
        : m_fields(fields),
          m_block(block),
          m_name(std::move(name)),
          m_inner(block, file, m_name + "."),
          m_family(family),
          m_config(config),
          m_warnings(config.warnings) {}

    void read(RopeConfig& rope) {
        if (!m_block.is_object()) return m_fields.refuse(ErrorCode::BadInput, m_name, "an object is needed");
        readInner(rope);
        m_fields.adopt(m_inner);
    }

  private:
    void readInner(RopeConfig& rope) {
        for (const auto& [key, value] : m_block.items()) {
            if (value.is_object()) {
                return m_inner.refuse(
                    ErrorCode::Unsupported, key,
                    fmt::format("another rotary embedding per layer type is not part of {}", m_family.name));
            }
        }
        if (!readType(rope)) return;
        for (const auto& [key, value] : m_block.items()) {
            if (value.is_null()) continue;
            const auto known = knownSettings().find(key);
            if (known == knownSettings().end()) {
                return m_inner.refuse(ErrorCode::Unsupported, key,
                                      "this rotary setting is not known; ignoring it would give wrong results at long "
                                      "positions");
            }
            if (!known->second.empty() && known->second.count(rope.type) == 0) {
                return m_inner.refuse(ErrorCode::BadInput, key,
                                      fmt::format("rope type {} has none; remove it, or set another rope_type",
                                                  rope::ropeTypeName(rope.type)));
            }
        }
        switch (rope.type) {
            case Type::Linear:
            case Type::Dynamic:
                rope.factor = factor();
                // transformers takes the model's own length, whatever else stands in the block.
                rope.originalContext = rope.type == Type::Dynamic ? m_config.contextLength : 0;
                return;
            case Type::Yarn:
                return readYarn(rope);
            case Type::LongRope:
                return readLongRope(rope);
            case Type::Llama3:
                return readLlama3(rope);
            case Type::Default:
            case Type::FrequencyFactors:
                return;
        }
    }

    /// False where there is nothing more to read, after a failure as well.
    bool readType(RopeConfig& rope) {
        const auto ropeType = m_inner.string("rope_type");
        const auto oldType = m_inner.string("type");
        if (m_inner.error()) return false;
        if (ropeType && oldType && *ropeType != *oldType) {
            m_inner.refuse(ErrorCode::BadInput, "type",
                           fmt::format("but rope_type is '{}'; remove the wrong one", *ropeType));
            return false;
        }
        if (!ropeType && !oldType && m_inner.has("factor")) {
            m_inner.refuse(ErrorCode::BadInput, "rope_type",
                           fmt::format("it is needed beside factor; {}", kKnownTypes));
            return false;
        }
        const std::string key = ropeType ? "rope_type" : "type";
        std::string type = ropeType ? *ropeType : oldType.value_or("default");
        // Phi-3's first files call LongRoPE "su" or "yarn".
        if (m_family.architecture == Architecture::Phi3 && (type == "su" || type == "yarn")) type = "longrope";
        for (const Type known :
             {Type::Default, Type::Linear, Type::Dynamic, Type::Yarn, Type::LongRope, Type::Llama3}) {
            if (rope::ropeTypeName(known) == type) {
                rope.type = known;
                return true;
            }
        }
        m_inner.refuse(ErrorCode::Unsupported, key, fmt::format("this rope type is not supported; {}", kKnownTypes));
        return false;
    }

    double factor() { return m_inner.number("factor", kMinRopeFactor, kMaxRopeFactor); }

    /// Tokens of the original training. Phi-3 keeps it outside the block, which then wins, as in transformers.
    void readOriginalContext(RopeConfig& rope) {
        constexpr const char* kKey = "original_max_position_embeddings";
        JsonFields& from = m_fields.has(kKey) ? m_fields : m_inner;
        rope.originalContext = from.integer(kKey, 2, kMaxContext);
    }

    void readYarn(RopeConfig& rope) {
        rope.factor = factor();
        constexpr const char* kKey = "original_max_position_embeddings";
        if (m_fields.has(kKey) || m_inner.has(kKey)) {
            readOriginalContext(rope);
        } else {
            rope.originalContext = m_config.contextLength;
            m_warnings.push_back(
                fmt::format("{} has no {}: it is assumed to be max_position_embeddings {}, as transformers does",
                            m_name, kKey, m_config.contextLength));
        }
        if (m_inner.error() || m_fields.error()) return;
        if (m_inner.has("beta_fast")) rope.betaFast = m_inner.number("beta_fast", 1e-3, 1e6);
        if (m_inner.has("beta_slow")) rope.betaSlow = m_inner.number("beta_slow", 1e-3, 1e6);
        rope.truncate = m_inner.flag("truncate").value_or(true);
        const double mscale = m_inner.has("mscale") ? m_inner.number("mscale", 0.0, 1e3) : 0.0;
        const double allDim = m_inner.has("mscale_all_dim") ? m_inner.number("mscale_all_dim", 0.0, 1e3) : 0.0;
        if (m_inner.error()) return;
        if (readAttentionFactor(rope)) return;
        const auto temperature = [&](double weight) {
            return rope.factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(rope.factor) + 1.0;
        };
        const bool both = mscale != 0.0 && allDim != 0.0;
        rope.attentionFactor = both ? temperature(mscale) / temperature(allDim) : temperature(1.0);
        rope.attentionFactorOrigin =
            both ? "computed from factor, mscale and mscale_all_dim" : "computed: 0.1·ln(factor) + 1";
    }

    void readLongRope(RopeConfig& rope) {
        readOriginalContext(rope);
        if (m_inner.error() || m_fields.error()) return;
        const auto wanted = static_cast<std::size_t>(rope.rotated() / 2);
        rope.shortFactors = factors("short_factor", wanted);
        rope.longFactors = factors("long_factor", wanted);
        const double ratio =
            m_inner.has("factor") ? factor() : static_cast<double>(m_config.contextLength) / rope.originalContext;
        if (m_inner.error() || readAttentionFactor(rope)) return;
        rope.attentionFactor =
            ratio <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(ratio) / std::log(static_cast<double>(rope.originalContext)));
        rope.attentionFactorOrigin = "computed: √(1 + ln(context ratio) / ln(original context))";
    }

    void readLlama3(RopeConfig& rope) {
        readOriginalContext(rope);
        rope.factor = factor();
        rope.lowFreqFactor = m_inner.number("low_freq_factor", 1e-3, 1e6);
        rope.highFreqFactor = m_inner.number("high_freq_factor", 1e-3, 1e6);
        if (m_inner.error()) return;
        if (rope.highFreqFactor <= rope.lowFreqFactor) {
            m_inner.refuse(ErrorCode::BadInput, "high_freq_factor",
                           fmt::format("it must be above low_freq_factor {}", rope.lowFreqFactor));
        }
    }

    bool readAttentionFactor(RopeConfig& rope) {
        if (!m_inner.has("attention_factor")) return false;
        rope.attentionFactor = m_inner.number("attention_factor", 1e-3, 1e3);
        rope.attentionFactorOrigin = fmt::format("config.json {}.attention_factor", m_name);
        return true;
    }

    std::vector<double> factors(const std::string& key, std::size_t wanted) {
        std::vector<double> values;
        const json* list = m_inner.find(key);
        if (list == nullptr || !list->is_array() || list->size() != wanted) {
            m_inner.refuse(ErrorCode::BadInput, key,
                           fmt::format("a list of {} factors is needed, one per frequency", wanted));
            return values;
        }
        for (const json& value : *list) {
            const double factor = value.is_number() ? value.get<double>() : 0.0;
            if (!(factor >= kMinRopeFactor && factor <= kMaxRopeFactor)) {
                m_inner.refuse(ErrorCode::BadInput, key,
                               fmt::format("each factor must be a number from {} to {}, not {}", kMinRopeFactor,
                                           kMaxRopeFactor, shown(value)));
                break;
            }
            values.push_back(factor);
        }
        return values;
    }

    JsonFields& m_fields;
    const json& m_block;
    std::string m_name;
    JsonFields m_inner;
    const Family& m_family;
    const ModelConfig& m_config;
    std::vector<std::string>& m_warnings;
};

}  // namespace

void readRopeBlock(JsonFields& fields, const json& block, const std::filesystem::path& file, const std::string& name,
                   const Family& family, ModelConfig& config, RopeConfig& rope) {
    BlockReader(fields, block, file, name, family, config).read(rope);
}

}  // namespace lpes::model
