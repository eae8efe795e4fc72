#include "core/text/unicode.h"

#include <utf8proc.h>

#include <array>

#include "core/text/new_characters.h"

namespace lpes::text {

namespace {

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
           isNewNumber(c);
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

bool isLetter(char32_t c) {
    switch (categoryOf(c)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
            return true;
        default:
            return isNewLetter(c);
    }
}

bool isWordCharacter(char32_t c) {
    if (isLetter(c)) return true;
    switch (categoryOf(c)) {
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
    return joiner || letterSymbol || isNewMark(c) || isNewNumber(c);
}

}  // namespace lpes::text
