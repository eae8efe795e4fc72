#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/rope/position_method.h"

namespace lpes::rope {

/// Llama 2's shape with few layers: base 10000, head_dim 128, context 4096, 4 layers, 8 heads in 2 groups.
inline MethodModel plainModel() {
    MethodModel model;
    model.rope.theta = 10000.0;
    model.rope.headDim = 128;
    model.numLayers = 4;
    model.numHeads = 8;
    model.numKvHeads = 2;
    model.contextLength = 4096;
    return model;
}

/// The same with another type of embedding, all of whose fields are there.
inline MethodModel modelOfType(RopeConfig::Type type) {
    MethodModel model = plainModel();
    model.rope.type = type;
    model.rope.factor = 8.0;
    model.rope.originalContext = 1024;
    model.rope.shortFactors.assign(64, 1.5);
    model.rope.longFactors.assign(64, 2.5);
    return model;
}

/// As Gemma 3 has it: sliding layers keep a base of their own.
inline MethodModel slidingModel() {
    MethodModel model = plainModel();
    model.rope.theta = 1e6;
    model.slidingRope = plainModel().rope;
    return model;
}

/// Files by content instead of by path: profiles "ramp" and "bands", factors "row" and "table", routers "router".
inline MethodFiles fakeFiles() {
    MethodFiles files;
    files.profile = [](const std::string& path) -> Result<ProfileScales> {
        if (path == "ramp") return ProfileScales{{1.0, 1.25, 1.5, 2.0}, {}, {}};
        if (path == "bands") {
            return ProfileScales{{},
                                 std::vector<LayerScales>(4, {1.0, 2.0}),
                                 std::vector<std::vector<double>>(4, std::vector<double>(64, 4.0))};
        }
        if (path == "short") return ProfileScales{{1.0, 1.0}, {}, {}};
        return fail(ErrorCode::BadInput, "there is no profile '" + path + "'");
    };
    using Rows = std::vector<std::vector<double>>;
    files.longRope = [](const std::string& path) -> Result<Rows> {
        std::vector<double> row;
        for (int i = 0; i < 64; ++i) row.push_back(1.0 + i);
        if (path == "row") return Rows{row};
        if (path == "table") return Rows(4, row);
        if (path == "three") return Rows(3, row);
        if (path == "narrow") return Rows{std::vector<double>(32, 1.0)};
        if (path == "ragged") return Rows{row, row, std::vector<double>(63, 1.0), row};
        if (path == "huge") return Rows{std::vector<double>(64, 1e5)};
        return fail(ErrorCode::BadInput, "there are no factors '" + path + "'");
    };
    files.routers = [](const std::string& path) -> Result<std::shared_ptr<const MoiceRouters>> {
        if (path != "router") return fail(ErrorCode::BadInput, "there is no router '" + path + "'");
        auto routers = std::make_shared<MoiceRouters>();
        routers->bases = {10000.0, 18000.0, 25000.0};
        routers->headDim = 128;
        routers->topK = 3;
        const MoiceRouters::Layer layer{std::vector<float>(384), std::vector<float>(384), std::vector<float>(9)};
        routers->layers.assign(4, layer);
        return routers;
    };
    return files;
}

inline Result<PositionMethod> resolved(const std::string& text, const MethodModel& model = plainModel()) {
    auto spec = parseMethod(text);
    if (!spec) return fail(spec.error());
    return resolveMethod(*spec, model, fakeFiles());
}

/// A method that must resolve.
inline PositionMethod methodOf(const std::string& text, const MethodModel& model = plainModel()) {
    auto method = resolved(text, model);
    EXPECT_TRUE(method.has_value()) << text << ": " << method.error().text();
    return method ? std::move(*method) : PositionMethod{};
}

}  // namespace lpes::rope
