#include "core/rope/rope_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace lpes::rope {
namespace {

constexpr std::array<std::string_view, 4> kKnown{"baseline", "pi", "uniform", "lpes"};
/// Methods of the command line's list that are not built yet.
constexpr std::array<std::string_view, 6> kPlanned{"ntk",    "dynamic-ntk",       "yarn",
                                                   "ms-poe", "attention-buckets", "moice"};
constexpr const char* kSpellings = "baseline, pi:FACTOR, uniform:SCALE or lpes:FILE";

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool isMethodName(std::string_view name) {
    return contains(kKnown, name) || contains(kPlanned, name);
}

std::string_view nameOf(std::string_view text) {
    return text.substr(0, text.find(':'));
}

/// "a+b" joins two methods only where a method's name follows the plus: a profile's file name may hold one.
bool isComposition(std::string_view text) {
    if (!isMethodName(nameOf(text.substr(0, text.find('+'))))) return false;
    for (std::size_t plus = text.find('+'); plus != std::string_view::npos; plus = text.find('+', plus + 1)) {
        if (isMethodName(nameOf(text.substr(plus + 1).substr(0, text.substr(plus + 1).find('+'))))) return true;
    }
    return false;
}

std::optional<double> parseNumber(std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace

Result<MethodSpec> parseMethod(const std::string& text) {
    const std::string_view view = text;
    if (isComposition(view)) {
        return fail(ErrorCode::Unsupported, fmt::format("the method '{}' joins several methods with '+', which this "
                                                        "version cannot do yet; name one of {}",
                                                        text, kSpellings));
    }
    const std::string_view name = nameOf(view);
    const bool hasArgument = name.size() < view.size();
    const std::string_view argument = hasArgument ? view.substr(name.size() + 1) : std::string_view{};
    if (contains(kPlanned, name)) {
        return fail(ErrorCode::Unsupported, fmt::format("the method '{}' (in '{}') is not in this version yet; use {}",
                                                        name, text, kSpellings));
    }

    MethodSpec spec;
    spec.text = text;
    if (name == "baseline") {
        if (hasArgument) {
            return fail(ErrorCode::Usage,
                        fmt::format("the method 'baseline' takes no value but got '{}'; write baseline", argument));
        }
        return spec;
    }
    if (name == "lpes") {
        if (argument.empty()) {
            return fail(ErrorCode::Usage,
                        fmt::format("the method '{}' names no profile; write lpes:FILE with the profile's path", text));
        }
        spec.kind = MethodSpec::Kind::Lpes;
        spec.profile = std::string(argument);
        return spec;
    }
    if (name == "pi" || name == "uniform") {
        const std::optional<double> factor = parseNumber(argument);
        if (!factor || *factor < kMinScale || *factor > kMaxScale) {
            return fail(ErrorCode::Usage,
                        fmt::format("'{}' in the method '{}' is not a number from {} to {}; write for example {}:1.5",
                                    argument, text, kMinScale, kMaxScale, name));
        }
        spec.kind = name == "pi" ? MethodSpec::Kind::PositionInterpolation : MethodSpec::Kind::Uniform;
        spec.factor = *factor;
        return spec;
    }
    return fail(ErrorCode::Usage, fmt::format("'{}' is not a position method; write {}", text, kSpellings));
}

}  // namespace lpes::rope
