#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace lpes::model {

/// How deep and how wide a JSON text may be before it is refused.
struct JsonLimits {
    std::size_t depth = 32;
    std::size_t arrayLength = 1u << 20;
};

/// Parses strict JSON. BadInput with the file and the parser's words for a text that is not UTF-8 or not JSON, whose
/// outermost value is no object, that has a key twice in one object (readers differ in which they take), or beyond the
/// limits. `what` names the text ("header").
[[nodiscard]] Result<nlohmann::json> parseJsonObject(std::string_view text, const std::filesystem::path& file,
                                                     const std::string& what, const JsonLimits& limits = {});

/// The value as JSON text, cut at 60 bytes: what a message shows of a hostile file.
[[nodiscard]] std::string shown(const nlohmann::json& value);

/// Typed fields of one JSON object. The first failure is kept and every later call is harmless, so that a reader asks
/// for everything and looks at `error()` once. null counts as absent. thread-compatible; the object must outlive it.
class JsonFields {
  public:
    /// `prefix` stands before keys in messages ("rope_scaling.").
    JsonFields(const nlohmann::json& object, std::filesystem::path file, std::string prefix = {});

    [[nodiscard]] bool has(const std::string& key) const { return find(key) != nullptr; }
    [[nodiscard]] const nlohmann::json* find(const std::string& key) const;

    /// BadInput when absent, not a whole number, or outside low … high; 0 then.
    int integer(const std::string& key, int low, int high);
    /// BadInput when absent, not a finite number, or outside low … high; 0 then.
    double number(const std::string& key, double low, double high);
    std::optional<bool> flag(const std::string& key);
    std::optional<std::string> string(const std::string& key);

    /// Records a failure: "'file': field 'key' is VALUE; advice".
    void refuse(ErrorCode code, const std::string& key, const std::string& advice);
    /// Records a failure in words of its own, after "'file': ".
    void refuseWith(ErrorCode code, const std::string& message);
    /// Takes over the failure of fields further inside, if there is one.
    void adopt(const JsonFields& inner);
    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }

  private:
    const nlohmann::json& m_object;
    std::filesystem::path m_file;
    std::string m_prefix;
    std::optional<Error> m_error;
};

}  // namespace lpes::model
