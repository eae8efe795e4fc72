#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/text/oniguruma_pattern.h"
#include "core/text/tokenizer_json_steps.h"

namespace lpes::text {

namespace {

using nlohmann::json;

/// Sequences may hold sequences; a file that nests deeper is an attack on the stack.
constexpr int kMaxNesting = 16;

Result<void> forEachBelow(const json& value, const std::string& where, const std::string& membersKey,
                          const std::function<Result<void>(const std::string&, const json&)>& one, int depth) {
    if (value.is_null()) return {};
    const auto type = textAt(value, "type", where);
    if (!type) return fail(type.error());
    if (*type != "Sequence") return one(*type, value);
    const auto members = value.find(membersKey);
    if (members == value.end() || !members->is_array()) return malformed(where + "." + membersKey, "a list");
    if (depth >= kMaxNesting) return malformed(where, fmt::format("at most {} sequences in each other", kMaxNesting));
    for (const json& member : *members) {
        const auto done = forEachBelow(member, where + "." + membersKey, membersKey, one, depth + 1);
        if (!done) return done;
    }
    return {};
}

}  // namespace

tl::unexpected<Error> malformed(const std::string& where, const std::string& expected) {
    return fail(ErrorCode::BadInput,
                fmt::format("{} is malformed: {} was expected; fetch the tokenizer files again.", where, expected));
}

tl::unexpected<Error> unknownPiece(const std::string& what, const std::string& known) {
    return fail(ErrorCode::Unsupported, fmt::format("{} in tokenizer.json is not supported (known: {}); use another "
                                                    "model.",
                                                    what, known));
}

Result<bool> boolAt(const json& value, const std::string& key, bool otherwise, const std::string& where) {
    const auto at = value.find(key);
    if (at == value.end() || at->is_null()) return otherwise;
    if (!at->is_boolean()) return malformed(where + "." + key, "true or false");
    return at->get<bool>();
}

Result<std::string> textAt(const json& value, const std::string& key, const std::string& where) {
    if (!value.is_object()) return malformed(where, "an object");
    const auto at = value.find(key);
    if (at == value.end() || !at->is_string()) return malformed(where + "." + key, "a text");
    return at->get<std::string>();
}

Result<std::uint32_t> countAt(const json& value, const std::string& key, std::uint32_t otherwise,
                              const std::string& where) {
    const auto at = value.find(key);
    if (at == value.end() || at->is_null()) return otherwise;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
    if (!at->is_number_unsigned() || at->get<std::uint64_t>() > kMost) {
        return malformed(where + "." + key, "a whole number from 0");
    }
    return at->get<std::uint32_t>();
}

Result<std::string> patternAt(const json& value, const std::string& where) {
    const auto pattern = value.find("pattern");
    if (pattern == value.end() || !pattern->is_object()) return malformed(where + ".pattern", "an object");
    Result<std::string> translated;
    if (pattern->contains("Regex")) {
        const auto regex = textAt(*pattern, "Regex", where + ".pattern");
        if (!regex) return fail(regex.error());
        translated = pcre2FromOniguruma(*regex);
        if (!translated) return fail(translated.error());
    } else {
        const auto literal = textAt(*pattern, "String", where + ".pattern");
        if (!literal) return fail(literal.error());
        translated = pcre2Literal(*literal);
    }
    if (translated->empty()) return malformed(where + ".pattern", "a pattern that is not empty");
    return translated;
}

Result<void> forEachOf(const json& value, const std::string& where, const std::string& membersKey,
                       const std::function<Result<void>(const std::string& type, const json& step)>& one) {
    return forEachBelow(value, where, membersKey, one, 0);
}

}  // namespace lpes::text
