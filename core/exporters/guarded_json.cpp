#include "core/exporters/guarded_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <exception>

namespace lpes::exporters {
namespace {

using nlohmann::json;

/// End of the string literal that starts at `start` (behind its closing quote), or the end of the text.
std::size_t stringEnd(std::string_view text, std::size_t start) {
    for (std::size_t i = start + 1; i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == '"')
            return i + 1;
    }
    return text.size();
}

int depthOf(std::string_view text) {
    int depth = 0, deepest = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"')
            i = stringEnd(text, i) - 1;
        else if (c == '[' || c == '{')
            deepest = std::max(deepest, ++depth);
        else if (c == ']' || c == '}')
            --depth;
    }
    return deepest;
}

bool isBareCharacter(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
           c == '.';
}

/// NaN, -Infinity, inf, 1e999 and their like: what std::from_chars reads but JSON cannot hold.
bool isNonFinite(std::string_view token) {
    if (token.starts_with('+')) token.remove_prefix(1);
    double value = 0.0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (end != token.data() + token.size()) return false;
    return error == std::errc::result_out_of_range || (error == std::errc{} && !(value - value == 0.0));
}

}  // namespace

Result<json> parseGuarded(const std::string& text, const std::string& origin) {
    if (const int depth = depthOf(text); depth > kMaxJsonDepth) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("{}: the JSON is nested {} levels deep and at most {} are accepted; this is not a profile",
                        origin, depth, kMaxJsonDepth));
    }
    try {
        return json::parse(text);
    } catch (const json::parse_error& error) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{}: not valid JSON at byte {}; export the profile again", origin, error.byte),
                    error.what());
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, fmt::format("{}: not valid JSON; export the profile again", origin),
                    error.what());
    }
}

std::string quoteNonFinite(const std::string& text) {
    std::string out;
    const std::string_view view = text;
    for (std::size_t i = 0; i < view.size();) {
        std::size_t end = i + 1;
        bool quote = false;
        if (view[i] == '"') {
            end = stringEnd(view, i);
        } else if (isBareCharacter(view[i])) {
            while (end < view.size() && isBareCharacter(view[end])) ++end;
            quote = isNonFinite(view.substr(i, end - i));
        }
        if (quote) out += '"';
        out += view.substr(i, end - i);
        if (quote) out += '"';
        i = end;
    }
    return out;
}

std::string shownText(std::string_view text) {
    constexpr std::size_t kLongest = 40;
    const bool cut = text.size() > kLongest;
    // JSON's own escapes for what a terminal must not see; ASCII only, because the cut may split a character.
    return json(std::string(text.substr(0, kLongest))).dump(-1, ' ', true, json::error_handler_t::replace) +
           (cut ? " (and more)" : "");
}

std::string shown(const json& value) {
    if (value.is_array()) return fmt::format("an array of {} values", value.size());
    if (value.is_object()) return fmt::format("an object of {} keys", value.size());
    if (value.is_string()) return shownText(std::string_view(value.get_ref<const std::string&>()));
    return value.dump();
}

}  // namespace lpes::exporters
