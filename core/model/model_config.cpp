#include "core/model/model_config.h"

namespace lpes::model {

std::string architectureName(Architecture architecture) {
    return architecture == Architecture::Llama ? "llama" : "qwen2";
}

}  // namespace lpes::model
