#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// An object of a data file, whose fields are asked for by name. Every refusal is BadInput and begins with where the
/// object stands ("'kv.jsonl', line 3:").
class JsonRecord {
  public:
    JsonRecord(std::string where, nlohmann::json object) : m_where(std::move(where)), m_object(std::move(object)) {}
    /// A line that is not a JSON object in UTF-8 is refused, and one that gives a key twice, of which readers take one
    /// or the other.
    [[nodiscard]] static Result<JsonRecord> parse(std::string where, const std::string& line);

    [[nodiscard]] tl::unexpected<Error> refuse(const std::string& what, std::string detail = {}) const;

    // The field, or a refusal that names it when it is missing or not what it has to be.
    [[nodiscard]] Result<const nlohmann::json*> field(std::string_view name) const;
    [[nodiscard]] Result<const nlohmann::json*> array(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name) const;  ///< and it is not null
    [[nodiscard]] Result<std::int64_t> integer(std::string_view name) const;
    /// Nothing where the field is missing or null.
    [[nodiscard]] Result<std::optional<std::string>> textOrNull(std::string_view name) const;
    [[nodiscard]] Result<std::vector<std::string>> texts(std::string_view name) const;  ///< a list of texts
    [[nodiscard]] Result<bool> flag(std::string_view name) const;
    [[nodiscard]] Result<std::string> text(std::string_view name) const;    ///< may be empty
    [[nodiscard]] Result<std::string> filled(std::string_view name) const;  ///< a text that is not empty
    /// A list of texts, none of them empty, at least one of them.
    [[nodiscard]] Result<std::vector<std::string>> filledTexts(std::string_view name) const;

  private:
    std::string m_where;
    nlohmann::json m_object;
};

}  // namespace lpes::tasks
