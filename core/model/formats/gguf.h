#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/formats/storage.h"

namespace lpes::model {

/// A metadata value, left where it stands in the mapped file.
struct GgufValue {
    enum class Type : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
    Type type = Type::U8;
    Type elementType = Type::U8;       ///< of an array
    std::uint64_t count = 1;           ///< elements of an array
    std::span<const std::byte> bytes;  ///< the scalar, the string's characters, or the array's elements

    /// A whole number of any of the integer types that fits; empty for anything else.
    [[nodiscard]] std::optional<std::int64_t> integer() const;
    /// F32 or F64.
    [[nodiscard]] std::optional<double> number() const;
    [[nodiscard]] std::optional<bool> boolean() const;
    [[nodiscard]] std::optional<std::string_view> string() const;
    /// Elements of an array of strings.
    [[nodiscard]] std::optional<std::vector<std::string>> strings() const;
    /// The value in words, cut at 60 bytes.
    [[nodiscard]] std::string shown() const;
};

[[nodiscard]] std::string_view ggufTypeName(GgufValue::Type type);

/// Metadata and tensors of a GGUF file; views point into its mapping.
struct GgufFile {
    std::uint32_t version = 0;
    std::map<std::string, GgufValue, std::less<>> values;
    std::vector<StoredTensor> tensors;
    std::uint64_t trailingBytes = 0;  ///< behind the last tensor, beyond its padding
};

/// Checks a whole GGUF file, version 2 or 3, little-endian (docs/gguf.md in ggml-org/ggml).
///
/// BadInput: another magic; a count, length, dimension or offset that does not fit the file; an empty or doubled key or
/// name, or a key beyond 65,535 bytes; a value type that does not exist; tensors that overlap or are not aligned.
/// Unsupported by name: version 1, big-endian files, tensor types other than those of StorageType.
[[nodiscard]] Result<GgufFile> readGguf(std::span<const std::byte> bytes, const std::filesystem::path& file);

}  // namespace lpes::model
