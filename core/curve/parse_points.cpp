#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "core/curve/scale_curve.h"

namespace lpes::curve {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// A finite number in the C locale, whatever the process' locale is.
std::optional<double> number(std::string_view text) {
    text = trimmed(text);
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace

Result<std::vector<ControlPoint>> parsePoints(const std::string& text) {
    std::vector<ControlPoint> points;
    std::string_view rest = text;
    for (;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        const std::size_t colon = part.find(':');
        const std::optional<double> x = colon == std::string_view::npos ? std::nullopt : number(part.substr(0, colon));
        const std::optional<double> y = colon == std::string_view::npos ? std::nullopt : number(part.substr(colon + 1));
        if (!x || !y) {
            return fail(ErrorCode::Usage,
                        fmt::format("control point {}, '{}', is not DEPTH:SCALE with decimal points; write for example "
                                    "0:1.0,0.33:1.6,0.67:2.0,1:1.2",
                                    points.size(), trimmed(part)));
        }
        points.push_back({*x, *y});
        if (comma == std::string_view::npos) return points;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace lpes::curve
