#include "core/store/run_numbers.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/json_text.h"

namespace lpes::store {

namespace {

using nlohmann::json;

constexpr std::string_view kKey = "\"run_id\"";

std::size_t skipBlanks(std::string_view text, std::size_t at) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at);
    return next == std::string_view::npos ? text.size() : next;
}

json parsed(const std::string& text) {
    return json::parse(text, nullptr, false);
}

/// "12/LABEL" under part_of, or null.
json* partName(json& settings) {
    if (!settings.is_object()) return nullptr;
    const auto part = settings.find("part_of");
    if (part == settings.end() || !part->is_object()) return nullptr;
    const auto value = part->find("value");
    return value != part->end() && value->is_string() ? &*value : nullptr;
}

}  // namespace

std::string renumbered(std::string_view json, const RunNumbers& numbers) {
    std::string out;
    std::size_t copied = 0;
    // A string that holds the key has its quotes escaped, so what is found is a key or a whole string; only behind a
    // key comes a colon.
    for (std::size_t found = json.find(kKey); found != std::string_view::npos; found = json.find(kKey, found + 1)) {
        std::size_t at = skipBlanks(json, found + kKey.size());
        if (at >= json.size() || json[at] != ':') continue;
        at = skipBlanks(json, at + 1);
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(json.data() + at, json.data() + json.size(), number);
        if (error != std::errc()) continue;
        const auto other = numbers.find(number);
        if (other == numbers.end()) continue;
        out += json.substr(copied, at - copied);
        out += std::to_string(other->second);
        copied = static_cast<std::size_t>(end - json.data());
    }
    out += json.substr(copied);
    return out;
}

std::optional<std::int64_t> wholeOf(const std::string& settingsJson) {
    json settings = parsed(settingsJson);
    const json* part = partName(settings);
    if (part == nullptr) return std::nullopt;
    const auto& text = part->get_ref<const std::string&>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data() + text.size() || *end != '/') return std::nullopt;
    return number;
}

std::string withWhole(const std::string& text, std::optional<std::int64_t> whole) {
    json object = parsed(text);
    json* part = partName(object);
    if (part == nullptr && object.is_object() && object.contains("settings")) part = partName(object["settings"]);
    if (part == nullptr) return text;
    const auto& name = part->get_ref<const std::string&>();
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos) return text;
    *part = whole ? json(std::to_string(*whole) + name.substr(slash)) : json(nullptr);
    return jsonLine(object);
}

std::string comparableSettings(const std::string& settingsJson) {
    json settings = parsed(settingsJson);
    if (!settings.is_object()) return settingsJson;
    settings.erase("part_of");
    return jsonLine(settings);
}

}  // namespace lpes::store
