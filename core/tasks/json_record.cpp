#include "core/tasks/json_record.h"

#include <fmt/format.h>

#include <utility>

#include "core/tasks/json_keys.h"

namespace lpes::tasks {

using nlohmann::json;

Result<JsonRecord> JsonRecord::parse(std::string where, const std::string& line) {
    JsonRecord record(std::move(where), nullptr);
    try {
        KeyedJson parsed = parseKeyedJson(line);
        if (!parsed.repeated.empty()) {
            return record.refuse(
                fmt::format("gives '{}' twice; remove the one that is not meant", parsed.repeated.front()));
        }
        record.m_object = std::move(parsed.value);
    } catch (const json::exception& error) {
        return record.refuse("is not valid JSON; the file may be incomplete", error.what());
    }
    if (!record.m_object.is_object()) return record.refuse("is not a JSON object");
    return record;
}

tl::unexpected<Error> JsonRecord::refuse(const std::string& what, std::string detail) const {
    return fail(ErrorCode::BadInput, m_where + " " + what, std::move(detail));
}

Result<const json*> JsonRecord::field(std::string_view name) const {
    const auto found = m_object.find(name);
    if (found == m_object.end()) return refuse(fmt::format("lacks the field '{}'", name));
    return &*found;
}

Result<const json*> JsonRecord::array(std::string_view name) const {
    const auto found = field(name);
    if (found && !(*found)->is_array()) return refuse(fmt::format("'{}' is not an array", name));
    return found;
}

Result<bool> JsonRecord::flag(std::string_view name) const {
    const auto found = field(name);
    if (!found) return fail(found.error());
    if (!(*found)->is_boolean()) return refuse(fmt::format("'{}' is neither true nor false", name));
    return (*found)->get<bool>();
}

Result<std::string> JsonRecord::text(std::string_view name) const {
    const auto found = field(name);
    if (!found) return fail(found.error());
    if (!(*found)->is_string()) return refuse(fmt::format("'{}' is not a text", name));
    return (*found)->get<std::string>();
}

Result<std::string> JsonRecord::filled(std::string_view name) const {
    auto found = text(name);
    if (found && found->empty()) return refuse(fmt::format("'{}' is empty", name));
    return found;
}

bool JsonRecord::has(std::string_view name) const {
    const auto found = m_object.find(name);
    return found != m_object.end() && !found->is_null();
}

Result<std::int64_t> JsonRecord::integer(std::string_view name) const {
    const auto found = field(name);
    if (!found) return fail(found.error());
    // A number beyond 2⁶³ reads as unsigned and would wrap.
    const bool tooLarge = (*found)->is_number_unsigned() && (*found)->get<std::uint64_t>() > std::uint64_t{INT64_MAX};
    if (!(*found)->is_number_integer() || tooLarge) return refuse(fmt::format("'{}' is not a whole number", name));
    return (*found)->get<std::int64_t>();
}

Result<std::optional<std::string>> JsonRecord::textOrNull(std::string_view name) const {
    if (!has(name)) return std::nullopt;
    auto value = text(name);
    if (!value) return fail(value.error());
    return std::move(*value);
}

Result<std::vector<std::string>> JsonRecord::texts(std::string_view name) const {
    const auto found = array(name);
    if (!found) return fail(found.error());
    std::vector<std::string> values;
    for (const json& value : **found) {
        if (!value.is_string()) return refuse(fmt::format("'{}[{}]' is not a text", name, values.size()));
        values.push_back(value.get<std::string>());
    }
    return values;
}

Result<std::vector<std::string>> JsonRecord::filledTexts(std::string_view name) const {
    auto values = texts(name);
    if (!values) return values;
    if (values->empty()) return refuse(fmt::format("'{}' is empty", name));
    for (std::size_t i = 0; i < values->size(); ++i) {
        if ((*values)[i].empty()) return refuse(fmt::format("'{}[{}]' is empty", name, i));
    }
    return values;
}

}  // namespace lpes::tasks
