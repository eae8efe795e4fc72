#include "core/model/model_config.h"

#include "core/model/families.h"

namespace lpes::model {

std::string architectureName(Architecture architecture) {
    return std::string(familyOf(architecture).name);
}

}  // namespace lpes::model
