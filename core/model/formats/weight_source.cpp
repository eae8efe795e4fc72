#include "core/model/formats/weight_source.h"

#include <fmt/format.h>

namespace lpes::model {

Result<void> WeightSource::read(const std::string& canonicalName, ComputeType type, std::span<std::byte> out) const {
    const TensorView* view = find(canonicalName);
    if (view == nullptr) return fail(ErrorCode::Usage, fmt::format("the model has no tensor '{}'", canonicalName));
    return readRows(canonicalName, type, 0, rowCountOf(*view), out);
}

}  // namespace lpes::model
