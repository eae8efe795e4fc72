#include "core/model/formats/gguf_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text/unicode.h"

namespace lpes::model {

const GgufValue* GgufFields::find(const std::string& key) const {
    const auto found = m_gguf.values.find(key);
    return found == m_gguf.values.end() ? nullptr : &found->second;
}

int GgufFields::integer(const std::string& key, int low, int high) {
    const GgufValue* value = find(key);
    if (value != nullptr && value->type == GgufValue::Type::Array) {
        refuse(ErrorCode::Unsupported, key, "a value per layer is not supported");
        return 0;
    }
    const auto whole = value == nullptr ? std::nullopt : value->integer();
    if (whole && *whole >= low && *whole <= high) return static_cast<int>(*whole);
    refuse(ErrorCode::BadInput, key, fmt::format("a whole number from {} to {} is needed", low, high));
    return 0;
}

double GgufFields::number(const std::string& key, double low, double high) {
    const GgufValue* value = find(key);
    const double number = value == nullptr ? NAN : value->number().value_or(NAN);
    if (number >= low && number <= high) return number;
    refuse(ErrorCode::BadInput, key, fmt::format("a number from {} to {} is needed", low, high));
    return 0.0;
}

std::optional<std::string> GgufFields::string(const std::string& key) {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto text = value->string();
    if (text && text::firstInvalidUtf8(*text)) {
        refuseWith(ErrorCode::BadInput, fmt::format("key '{}' is not UTF-8 text; convert the model again", key));
        return std::nullopt;
    }
    if (text) return std::string(*text);
    refuse(ErrorCode::BadInput, key, "a string is needed");
    return std::nullopt;
}

void GgufFields::refuse(ErrorCode code, const std::string& key, const std::string& advice) {
    const GgufValue* value = find(key);
    refuseWith(code, fmt::format("key '{}' is {}; {}", key, value == nullptr ? "missing" : value->shown(), advice));
}

void GgufFields::refuseWith(ErrorCode code, const std::string& message) {
    if (!m_error) m_error = Error{code, fmt::format("'{}': {}", m_file.string(), message), {}, {}};
}

}  // namespace lpes::model
