#include "core/model/formats/json_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "core/base/json_text.h"

namespace lpes::model {

using nlohmann::json;

namespace {

/// Watches the parser: keys that come twice, depth, and array lengths.
class Guard {
  public:
    explicit Guard(const JsonLimits& limits) : m_limits(limits) {}

    bool operator()(json::parse_event_t event, json& value) {
        using Event = json::parse_event_t;
        switch (event) {
            case Event::object_start:
            case Event::array_start:
                countElement();
                if (m_open.size() == m_limits.depth) throw std::runtime_error("nested too deeply");
                m_open.push_back({event == Event::object_start, {}, 0});
                break;
            case Event::object_end:
            case Event::array_end:
                m_open.pop_back();
                break;
            case Event::key:
                if (!m_open.back().keys.insert(value.get<std::string>()).second) {
                    throw std::runtime_error(fmt::format("key {} stands twice in one object", shown(value)));
                }
                break;
            case Event::value:
                countElement();
                break;
        }
        return true;
    }

  private:
    struct Container {
        bool object = false;
        std::set<std::string> keys;
        std::size_t elements = 0;
    };

    void countElement() {
        if (m_open.empty() || m_open.back().object) return;
        if (++m_open.back().elements > m_limits.arrayLength) {
            throw std::runtime_error(fmt::format("an array has more than {} elements", m_limits.arrayLength));
        }
    }

    JsonLimits m_limits;
    std::vector<Container> m_open;
};

}  // namespace

Result<json> parseJsonObject(std::string_view text, const std::filesystem::path& file, const std::string& what,
                             const JsonLimits& limits) {
    try {
        Guard guard(limits);
        json parsed = json::parse(text.begin(), text.end(), [&guard](int, json::parse_event_t event, json& value) {
            return guard(event, value);
        });
        if (parsed.is_object()) return parsed;
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}': the {} is not a JSON object; the file is damaged or of another kind",
                                file.string(), what));
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}': the {} is not valid JSON; fetch the file again", file.string(), what),
                    error.what());
    }
}

std::string shown(const json& value) {
    std::string text = jsonLine(value);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

JsonFields::JsonFields(const json& object, std::filesystem::path file, std::string prefix)
    : m_object(object), m_file(std::move(file)), m_prefix(std::move(prefix)) {}

const json* JsonFields::find(const std::string& key) const {
    const auto found = m_object.find(key);
    return found == m_object.end() || found->is_null() ? nullptr : &*found;
}

int JsonFields::integer(const std::string& key, int low, int high) {
    const json* value = find(key);
    const std::string wanted = fmt::format("a whole number from {} to {} is needed", low, high);
    if (value == nullptr || !value->is_number_integer()) {
        refuse(ErrorCode::BadInput, key, wanted);
        return 0;
    }
    const bool large = value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(high);
    if (large || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high) {
        refuse(ErrorCode::BadInput, key, wanted);
        return 0;
    }
    return value->get<int>();
}

double JsonFields::number(const std::string& key, double low, double high) {
    const json* value = find(key);
    const double number = value != nullptr && value->is_number() ? value->get<double>() : NAN;
    if (number >= low && number <= high) return number;
    refuse(ErrorCode::BadInput, key, fmt::format("a number from {} to {} is needed", low, high));
    return 0.0;
}

std::optional<bool> JsonFields::flag(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    refuse(ErrorCode::BadInput, key, "true or false is needed");
    return std::nullopt;
}

std::optional<std::string> JsonFields::string(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    refuse(ErrorCode::BadInput, key, "a string is needed");
    return std::nullopt;
}

void JsonFields::refuse(ErrorCode code, const std::string& key, const std::string& advice) {
    const json* value = find(key);
    refuseWith(code, fmt::format("field '{}{}' is {}; {}", m_prefix, key, value == nullptr ? "missing" : shown(*value),
                                 advice));
}

void JsonFields::refuseWith(ErrorCode code, const std::string& message) {
    if (!m_error) m_error = Error{code, fmt::format("'{}': {}", m_file.string(), message), {}, {}};
}

void JsonFields::adopt(const JsonFields& inner) {
    if (!m_error) m_error = inner.m_error;
}

}  // namespace lpes::model
