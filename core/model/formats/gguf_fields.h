#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/model/formats/gguf.h"

namespace lpes::model {

/// Typed metadata of a GGUF file; like JsonFields, the first failure is kept. `gguf` and `file` must outlive it.
class GgufFields {
  public:
    GgufFields(const GgufFile& gguf, const std::filesystem::path& file) : m_gguf(gguf), m_file(file) {}

    /// nullptr when absent.
    [[nodiscard]] const GgufValue* find(const std::string& key) const;
    [[nodiscard]] bool has(const std::string& key) const { return find(key) != nullptr; }

    /// BadInput when absent, no whole number, or outside low … high; Unsupported for a list (a value per layer).
    int integer(const std::string& key, int low, int high);
    /// BadInput when absent, no finite number, or outside low … high.
    double number(const std::string& key, double low, double high);
    /// BadInput when present and no string.
    std::optional<std::string> string(const std::string& key);

    /// Records a failure: "'file': key 'key' is VALUE; advice".
    void refuse(ErrorCode code, const std::string& key, const std::string& advice);
    void refuseWith(ErrorCode code, const std::string& message);
    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }

  private:
    const GgufFile& m_gguf;
    const std::filesystem::path& m_file;
    std::optional<Error> m_error;
};

}  // namespace lpes::model
