#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "tests/core/model_torch/method_bench.h"

namespace lpes::test {

/// One method of each kind for a model of groupedSpec's shape, the first being the model as it is.
inline std::vector<rope::PositionMethod> everyMethod(const MethodBench& bench) {
    const rope::MethodFiles files{
        .profile = [](const std::string& path) -> Result<rope::ProfileScales> {
            if (path == "layers") return rope::ProfileScales{{1.3, 0.7, 1.9}, {}, {}};
            return rope::ProfileScales{{}, {{1.0, 1.6}, {2.2, 0.6}, {0.9, 1.1}}, {}};
        },
        .longRope = [](const std::string&) -> Result<std::vector<std::vector<double>>> {
            return std::vector<std::vector<double>>{{1.0, 1.1, 1.25, 1.6, 2.0, 2.4, 3.1, 4.0}};
        },
        .routers = [&](const std::string&) -> Result<std::shared_ptr<const rope::MoiceRouters>> {
            RandomStream random(13, kStreamTests, 501);
            const auto matrix = [&](std::size_t size) {
                std::vector<float> values(size);
                for (float& value : values) value = static_cast<float>(0.4 * random.normal());
                return values;
            };
            auto routers = std::make_shared<rope::MoiceRouters>();
            routers->bases = {10000.0, 3000.0, 90000.0};
            routers->headDim = bench.tiny.spec.headDim;
            routers->topK = 2;
            for (int layer = 0; layer < bench.tiny.spec.numLayers; ++layer) {
                const std::size_t width = 3 * static_cast<std::size_t>(routers->headDim);
                rope::MoiceRouters::Layer made;
                made.w1 = matrix(width);
                made.w3 = matrix(width);
                made.w2 = matrix(9);
                routers->layers.push_back(std::move(made));
            }
            return routers;
        }};
    std::vector<rope::PositionMethod> methods;
    for (const char* text :
         {"baseline", "pi:1.5", "ntk:2", "dynamic-ntk:2", "yarn:2", "longrope:factors", "lpes:layers", "lpes:heads",
          "yarn:2+lpes:layers", "ms-poe:min=0.6,max=3", "ms-poe:variant=code,layers=0-2,min=0.6,max=3",
          "ms-poe:gqa=mean,min=0.6,max=3", "attention-buckets:bases=10000/400/120000",
          "attention-buckets:bases=10000/400,combine=probs", "moice:routers"}) {
        methods.push_back(bench.resolve(text, files));
    }
    return methods;
}

}  // namespace lpes::test
