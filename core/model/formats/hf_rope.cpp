#include <fmt/format.h>

#include "core/model/formats/hf_config.h"

namespace lpes::model {

using nlohmann::json;
using rope::RopeConfig;

namespace {

constexpr const char* kKnownTypes = "known are default and linear";

/// Type and factor of one rope block.
void readBlock(JsonFields& fields, const json& block, const std::filesystem::path& file, const std::string& name,
               RopeConfig& rope) {
    if (!block.is_object()) return fields.refuse(ErrorCode::BadInput, name, "an object is needed");
    JsonFields inner(block, file, name + ".");
    const auto refused = [&](ErrorCode code, const std::string& key, const std::string& advice) {
        inner.refuse(code, key, advice);
        fields.adopt(inner);
    };
    for (const auto& [key, value] : block.items()) {
        if (value.is_object()) {
            return refused(ErrorCode::Unsupported, key, "another rotary embedding per layer type is not supported");
        }
    }
    const auto ropeType = inner.string("rope_type");
    const auto oldType = inner.string("type");
    if (inner.error()) return fields.adopt(inner);
    if (ropeType && oldType && *ropeType != *oldType) {
        return refused(ErrorCode::BadInput, "type",
                       fmt::format("but rope_type is '{}'; remove the wrong one", *ropeType));
    }
    if (!ropeType && !oldType && inner.has("factor")) {
        return refused(ErrorCode::BadInput, "rope_type", fmt::format("it is needed beside factor; {}", kKnownTypes));
    }
    const std::string key = ropeType ? "rope_type" : "type";
    const std::string type = ropeType ? *ropeType : oldType.value_or("default");
    if (inner.has("partial_rotary_factor") && inner.number("partial_rotary_factor", 0.0, 1.0) != 1.0) {
        return refused(ErrorCode::Unsupported, "partial_rotary_factor", "only a full rotary embedding is supported");
    }
    if (type == "linear") {
        rope.type = RopeConfig::Type::Linear;
        rope.factor = inner.number("factor", kMinRopeFactor, kMaxRopeFactor);
        return fields.adopt(inner);
    }
    if (type != "default")
        return refused(ErrorCode::Unsupported, key, fmt::format("this rope type is not supported; {}", kKnownTypes));
    if (inner.has("factor")) {
        refused(ErrorCode::BadInput, "factor", "rope type default has none; remove it, or set rope_type to linear");
    }
}

/// theta from the first place that has it; the others must agree.
void readTheta(JsonFields& fields, const std::filesystem::path& file, RopeConfig& rope) {
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
    const auto takeInside = [&](const char* block) {
        const json* found = fields.find(block);
        if (found == nullptr || !found->is_object()) return;
        JsonFields inner(*found, file, fmt::format("{}.", block));
        take(inner, fmt::format("{}.rope_theta", block));
        fields.adopt(inner);
    };
    takeInside("rope_parameters");
    take(fields, "rope_theta");
    takeInside("rope_scaling");
    if (rope.thetaOrigin.empty() && !fields.error()) {
        fields.refuse(
            ErrorCode::BadInput, "rope_theta",
            "the base of the rotary embedding is needed (rope_theta, or rope_parameters.rope_theta); it is never "
            "assumed, so add the value that the model was trained with");
    }
}

}  // namespace

RopeConfig readHuggingFaceRope(JsonFields& fields, const std::filesystem::path& file, int headDim) {
    RopeConfig rope;
    rope.headDim = headDim;
    rope.originalBlock = "null";
    const json* parameters = fields.find("rope_parameters");
    const json* scaling = fields.find("rope_scaling");
    if (scaling != nullptr) {
        rope.originalBlock = scaling->dump();
        readBlock(fields, *scaling, file, "rope_scaling", rope);
    }
    if (parameters != nullptr) {
        const RopeConfig old = rope;
        rope.type = RopeConfig::Type::Default;
        rope.factor = 1.0;
        rope.originalBlock = parameters->dump();
        readBlock(fields, *parameters, file, "rope_parameters", rope);
        if (scaling != nullptr && (old.type != rope.type || old.factor != rope.factor)) {
            fields.refuse(ErrorCode::BadInput, "rope_scaling", "rope_parameters says otherwise; remove the wrong one");
        }
    }
    if (fields.has("partial_rotary_factor") && fields.number("partial_rotary_factor", 0.0, 1.0) != 1.0) {
        fields.refuse(ErrorCode::Unsupported, "partial_rotary_factor", "only a full rotary embedding is supported");
    }
    readTheta(fields, file, rope);
    return rope;
}

}  // namespace lpes::model
