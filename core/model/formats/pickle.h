#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::model {

/// A value of a pickle. Values refer to each other by their number in Pickle::values, so that a hostile pickle can nest
/// and share as it likes: nothing here recurses. Text points into the pickle's bytes.
struct PickleValue {
    enum class Kind {
        None,
        Bool,        ///< integer
        Int,         ///< integer, when it fits into 64 bits; else the bytes of the number in `text`, little-endian
        Float,       ///< nothing kept
        String,      ///< text
        Tuple,       ///< items
        List,        ///< items
        Dict,        ///< items: key, value, key, value …; an OrderedDict too
        Global,      ///< module in text, name: one of those that are allowed
        Call,        ///< of the global items[0] with the arguments items[1 …]
        Persistent,  ///< items[0] is what the pickle gave as the id: in checkpoints, a storage
    };
    Kind kind = Kind::None;
    bool fits = true;  ///< of an Int
    std::int64_t integer = 0;
    std::string_view text{}, name{};
    std::vector<std::uint32_t> items{};
};

[[nodiscard]] std::string_view pickleKindName(PickleValue::Kind kind);  ///< "a dict"

struct Pickle {
    std::vector<PickleValue> values;
    std::uint32_t root = 0;
    std::size_t length = 0;  ///< bytes up to and with STOP

    [[nodiscard]] const PickleValue& at(std::uint32_t index) const { return values[index]; }
};

/// Reads one pickle from the front of `bytes` (protocols 2 to 5, Lib/pickletools.py of CPython) and executes nothing:
/// it is a list of values for a machine that knows dicts, lists, tuples, strings, numbers and, by name, those functions
/// that torch.save writes into a checkpoint of tensors. Calls of them are kept as values, not made.
///
/// Unsupported by name: every other global ("the checkpoint wants to call 'os.system'") and opcodes that checkpoints do
/// not need. BadInput: a cut or senseless pickle, or one of more than 2^23 steps or 2^20 values.
[[nodiscard]] Result<Pickle> readPickle(std::span<const std::byte> bytes, const std::filesystem::path& file);

}  // namespace lpes::model
