#include "core/model/model_config.h"

#include "core/model/families.h"

namespace lpes::model {

std::string architectureName(Architecture architecture) {
    return std::string(familyOf(architecture).name);
}

rope::MethodModel methodModel(const ModelConfig& config) {
    return {config.rope,     config.slidingRope, config.numLayers,
            config.numHeads, config.numKvHeads,  config.contextLength};
}

}  // namespace lpes::model
