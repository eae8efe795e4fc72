#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

/// The names that a pickle may hold: all that torch.save writes for a dict of tensors. None of them is ever called.
namespace lpes::model {

/// Classes of numbers that a storage has: torch.FloatStorage, or torch.cuda.FloatStorage in old checkpoints.
inline constexpr std::string_view kPickledStorages[] = {
    "FloatStorage", "HalfStorage", "BFloat16Storage", "DoubleStorage", "LongStorage",         "IntStorage",
    "ShortStorage", "CharStorage", "ByteStorage",     "BoolStorage",   "ComplexFloatStorage", "ComplexDoubleStorage"};
inline constexpr std::string_view kPickledRebuilders[] = {"_rebuild_tensor", "_rebuild_tensor_v2",
                                                          "_rebuild_parameter"};

template <std::size_t Size>
[[nodiscard]] bool isOneOf(const std::string_view (&names)[Size], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

[[nodiscard]] inline bool isOrderedDict(std::string_view module, std::string_view name) {
    return module == "collections" && name == "OrderedDict";
}
[[nodiscard]] inline bool isRebuilder(std::string_view module, std::string_view name) {
    return module == "torch._utils" && isOneOf(kPickledRebuilders, name);
}
[[nodiscard]] inline bool isAllowedGlobal(std::string_view module, std::string_view name) {
    return isOrderedDict(module, name) || isRebuilder(module, name) ||
           ((module == "torch" || module == "torch.cuda") && isOneOf(kPickledStorages, name));
}

}  // namespace lpes::model
