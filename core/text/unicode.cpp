#include "core/text/unicode.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>

namespace lpes::text {

namespace {

struct Range {
    char32_t first, last;
};

// Made by comparing every code point with tokenizers 0.23 (its Oniguruma knows Unicode 16, its Rust Unicode 17) against
// PCRE2 10.42. A newer PCRE2 knows them itself, and then they change nothing.
constexpr std::array<Range, 35> kNewLetters = {
    {{0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3}, {0x10D4A, 0x10D65},
     {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x1123F, 0x11240}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
     {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7}, {0x113D1, 0x113D1}, {0x113D3, 0x113D3},
     {0x11BC0, 0x11BE0}, {0x11F02, 0x11F02}, {0x11F04, 0x11F10}, {0x11F12, 0x11F33}, {0x1342F, 0x1342F},
     {0x13441, 0x13446}, {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF},
     {0x1B132, 0x1B132}, {0x1B155, 0x1B155}, {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E06D}, {0x1E4D0, 0x1E4EB},
     {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0}, {0x2B739, 0x2B739}, {0x2EBF0, 0x2EE5D}, {0x31350, 0x323AF}}};
constexpr std::array<Range, 10> kNewNumbers = {{{0x10D40, 0x10D49},
                                                {0x116D0, 0x116E3},
                                                {0x11BF0, 0x11BF9},
                                                {0x11F50, 0x11F59},
                                                {0x16130, 0x16139},
                                                {0x16D70, 0x16D79},
                                                {0x1CCF0, 0x1CCF9},
                                                {0x1D2C0, 0x1D2D3},
                                                {0x1E4F0, 0x1E4F9},
                                                {0x1E5F1, 0x1E5FA}}};
// Digits of Unicode 17, which only char::is_numeric knows.
constexpr std::array<Range, 2> kNewerNumbers = {{{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}}};

bool isIn(std::span<const Range> ranges, char32_t c) {
    const auto at = std::upper_bound(ranges.begin(), ranges.end(), c,
                                     [](char32_t value, const Range& range) { return value < range.first; });
    return at != ranges.begin() && c <= std::prev(at)->last;
}

std::string classBody(std::span<const Range> ranges) {
    std::string body;
    for (const Range& range : ranges) {
        body += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<std::uint32_t>(range.first),
                            static_cast<std::uint32_t>(range.last));
    }
    return body;
}

bool isContinuation(std::string_view text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u;
}

utf8proc_category_t categoryOf(char32_t c) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

std::optional<std::size_t> firstInvalidUtf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const auto lead = static_cast<unsigned char>(text[at]);
        if (lead < 0x80) {
            ++at;
            continue;
        }
        const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
        if (lead < 0xC2 || lead > 0xF4) return at;
        for (std::size_t k = 1; k < size; ++k) {
            if (!isContinuation(text, at + k)) return at;
        }
        const auto second = static_cast<unsigned char>(text[at + 1]);
        const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
        const bool surrogate = lead == 0xED && second >= 0xA0;
        const bool tooLarge = lead == 0xF4 && second >= 0x90;
        if (overlong || surrogate || tooLarge) return at;
        at += size;
    }
    return std::nullopt;
}

CodePoint codePointAt(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t k) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + k])); };
    const char32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xE0) return {((lead & 0x1Fu) << 6) | (byte(1) & 0x3Fu), 2};
    if (lead < 0xF0) return {((lead & 0x0Fu) << 12) | ((byte(1) & 0x3Fu) << 6) | (byte(2) & 0x3Fu), 3};
    return {((lead & 0x07u) << 18) | ((byte(1) & 0x3Fu) << 12) | ((byte(2) & 0x3Fu) << 6) | (byte(3) & 0x3Fu), 4};
}

CodePoint codePointBefore(std::string_view text, std::size_t end) {
    std::size_t at = end - 1;
    while (at > 0 && isContinuation(text, at)) --at;
    return codePointAt(text, at);
}

void appendUtf8(std::string& out, char32_t codePoint) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(codePoint), bytes.data());
    for (utf8proc_ssize_t k = 0; k < size; ++k) out.push_back(static_cast<char>(bytes[static_cast<std::size_t>(k)]));
}

bool isWhiteSpace(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool isNumeric(char32_t c) {
    if (c < 0x80) return c >= U'0' && c <= U'9';
    const auto category = categoryOf(c);
    return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO ||
           isIn(kNewNumbers, c) || isIn(kNewerNumbers, c);
}

bool isPunctuation(char32_t c) {
    if (c < 0x80) {
        return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
               (c >= 0x7B && c <= 0x7E);
    }
    switch (categoryOf(c)) {
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO:
            return true;
        default:
            return false;
    }
}

bool isWordCharacter(char32_t c) {
    switch (categoryOf(c)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_PC:
            return true;
        default:
            break;
    }
    const bool joiner = c == 0x200C || c == 0x200D;
    // Circled and squared letters are symbols (So), and yet Alphabetic.
    const bool letterSymbol = (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
                              (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
    return joiner || letterSymbol || isIn(kNewLetters, c) || isIn(kNewNumbers, c);
}

const std::string& newLettersClass() {
    static const std::string body = classBody(kNewLetters);
    return body;
}

const std::string& newNumbersClass() {
    static const std::string body = classBody(kNewNumbers);
    return body;
}

bool holdsNewCharacters(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        // All of them are beyond U+1C88, that is, three or four bytes long.
        if (static_cast<unsigned char>(text[at]) < 0xE1) {
            ++at;
            continue;
        }
        const CodePoint c = codePointAt(text, at);
        if (isIn(kNewLetters, c.value) || isIn(kNewNumbers, c.value)) return true;
        at += c.size;
    }
    return false;
}

}  // namespace lpes::text
