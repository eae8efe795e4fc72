#include "core/store/number_text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace lpes::store {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void append(std::string& text, double number) {
    if (std::isnan(number)) {
        text += "null";
    } else if (std::isinf(number)) {
        text += number > 0 ? "1e999" : "-1e999";
    } else {
        char digits[40];
        const auto end = std::to_chars(digits, digits + sizeof digits, number == 0.0 ? 0.0 : number).ptr;
        text.append(digits, end);
    }
}

std::optional<double> parse(std::string_view text) {
    if (text == "null") return std::numeric_limits<double>::quiet_NaN();
    if (text == "1e999") return kInfinity;
    if (text == "-1e999") return -kInfinity;
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
    return number;
}

}  // namespace

std::string numbersToText(std::span<const double> numbers) {
    std::string text = "[";
    for (const double number : numbers) {
        if (text.size() > 1) text += ',';
        append(text, number);
    }
    return text + ']';
}

std::optional<std::vector<double>> numbersFromText(std::string_view text) {
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<double> numbers;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::optional<double> number = parse(text.substr(0, comma));
        if (!number) return std::nullopt;
        numbers.push_back(*number);
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
        if (text.empty()) return std::nullopt;
    }
    return numbers;
}

}  // namespace lpes::store
