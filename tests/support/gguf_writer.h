#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/formats/weight_source.h"

namespace lpes::test {

/// Builds a GGUF file in memory, right or wrong: nothing is checked here. thread-compatible.
class GgufWriter {
  public:
    /// GGUF value types, as the format numbers them.
    enum ValueType : std::uint32_t { U8 = 0, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

    struct Value {
        std::uint32_t type = U32;
        std::string bytes;  ///< as they stand in the file behind the type
    };
    struct Tensor {
        std::string name;
        std::vector<std::uint64_t> dims;  ///< GGUF order: the row length first
        std::uint32_t type = 0;           ///< ggml type number
        std::string bytes;
    };

    void setUint16(const std::string& key, std::uint16_t value);
    void setInt32(const std::string& key, std::int32_t value);
    void setUint32(const std::string& key, std::uint32_t value);
    void setFloat32(const std::string& key, float value);
    void setBool(const std::string& key, bool value);
    void setString(const std::string& key, const std::string& value);
    void setStrings(const std::string& key, const std::vector<std::string>& values);
    void setInt32s(const std::string& key, const std::vector<std::int32_t>& values);
    void setFloat32s(const std::string& key, const std::vector<float>& values);

    /// The whole file. Tensors are laid out in order, each at a multiple of `alignment`, padding at the end included.
    [[nodiscard]] std::string bytes() const;

    std::map<std::string, Value> values;
    std::vector<Tensor> tensors;
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;
};

/// ggml's number of a storage type.
[[nodiscard]] std::uint32_t ggmlType(model::StorageType type);

}  // namespace lpes::test
