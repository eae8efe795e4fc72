#include "core/tasks/python_number.h"

#include <charconv>
#include <limits>
#include <string>

#include "core/tasks/python_text.h"

namespace lpes::tasks {

namespace {

/// Digits of any script as ASCII; anything else outside ASCII becomes a character that no number has.
std::string asciiNumber(std::string_view text) {
    std::string out;
    for (; !text.empty(); text.remove_prefix(firstCharacter(text).size)) {
        const char32_t code = firstCharacter(text).value;
        out += code < 0x80 ? text.front() : isDecimalDigit(code) ? asciiDigit(code) : '?';
    }
    return out;
}

/// Takes a run of digits off `text`, with single underscores between them, and appends it to `out` without these.
/// False where there is none, or where an underscore stands elsewhere.
bool takeDigits(std::string_view& text, std::string& out) {
    const std::size_t before = out.size();
    bool underscore = false;
    for (; !text.empty(); text.remove_prefix(1)) {
        const char c = text.front();
        if (c == '_' && !underscore && out.size() > before) {
            underscore = true;
        } else if (c >= '0' && c <= '9') {
            out += c;
            underscore = false;
        } else {
            break;
        }
    }
    return out.size() > before && !underscore;
}

std::optional<double> wordNumber(std::string_view lower) {
    if (lower == "inf" || lower == "infinity") return std::numeric_limits<double>::infinity();
    if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
}

/// `number` is digits, perhaps with a point, and `exponent` empty or "e" with digits.
double value(const std::string& number, const std::string& exponent) {
    const std::string whole = number + exponent;
    double result = 0.0;
    const auto error = std::from_chars(whole.data(), whole.data() + whole.size(), result).ec;
    if (error != std::errc::result_out_of_range) return result;
    const bool tiny = exponent.starts_with("e-") || number.find_first_not_of('0') == number.find('.');
    return tiny ? 0.0 : std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<double> pythonFloat(std::string_view text) {
    const std::string ascii = lowerCase(asciiNumber(strip(text)));
    std::string_view rest = ascii;
    const bool negative = rest.starts_with('-');
    if (negative || rest.starts_with('+')) rest.remove_prefix(1);
    const auto word = wordNumber(rest);
    if (word) return negative ? -*word : *word;

    std::string number, exponent;
    const bool digits = takeDigits(rest, number);
    if (!digits && !number.empty()) return std::nullopt;
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        number += '.';
        const std::size_t before = number.size();
        if (!takeDigits(rest, number) && (number.size() > before || !digits)) return std::nullopt;
    } else if (!digits) {
        return std::nullopt;
    }
    if (rest.starts_with('e')) {
        rest.remove_prefix(1);
        exponent += 'e';
        if (rest.starts_with('-')) exponent += '-';
        if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
        if (!takeDigits(rest, exponent)) return std::nullopt;
    }
    if (!rest.empty()) return std::nullopt;
    const double magnitude = value(number, exponent);
    return negative ? -magnitude : magnitude;
}

}  // namespace lpes::tasks
