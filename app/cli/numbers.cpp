#include "app/cli/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <type_traits>

namespace lpes::cli {

namespace {

template <class T>
std::string range(T low, T high) {
    const bool lowOpen = low == std::numeric_limits<T>::lowest();
    const bool highOpen = high == std::numeric_limits<T>::max();
    const char* kind = std::is_floating_point_v<T> ? "a number" : "a whole number";
    if (lowOpen && highOpen) return fmt::format("{}", kind);
    if (highOpen) return fmt::format("{} from {}", kind, low);
    return fmt::format("{} from {} to {}", kind, low, high);
}

}  // namespace

template <class T>
Result<T> parseNumber(const std::string& option, const std::string& text, T low, T high) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    bool valid = error == std::errc{} && stop == end && !text.empty();
    if constexpr (std::is_floating_point_v<T>) valid = valid && std::isfinite(value);
    if (!valid || value < low || value > high) {
        return fail(ErrorCode::Usage, fmt::format("{} '{}' is not {}", option, text, range(low, high)));
    }
    return value;
}

template Result<int> parseNumber<int>(const std::string&, const std::string&, int, int);
template Result<std::int64_t> parseNumber<std::int64_t>(const std::string&, const std::string&, std::int64_t,
                                                        std::int64_t);
template Result<std::uint64_t> parseNumber<std::uint64_t>(const std::string&, const std::string&, std::uint64_t,
                                                          std::uint64_t);
template Result<double> parseNumber<double>(const std::string&, const std::string&, double, double);

Result<std::vector<double>> parseNumberList(const std::string& option, const std::string& text) {
    std::vector<double> values;
    for (const std::string& part : splitList(text, ',')) {
        auto value = parseNumber<double>(option, part);
        if (!value) return fail(value.error());
        values.push_back(*value);
    }
    return values;
}

std::vector<std::string> splitList(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (;;) {
        const std::size_t at = text.find(separator, begin);
        parts.push_back(text.substr(begin, at - begin));
        if (at == std::string::npos) return parts;
        begin = at + 1;
    }
}

}  // namespace lpes::cli
