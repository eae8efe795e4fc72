#include "core/text/new_characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/text/unicode.h"

namespace lpes::text {

namespace {

struct Range {
    char32_t first, last;
};

// Made by comparing every code point with tokenizers 0.23 (its Oniguruma knows Unicode 16, its Rust Unicode 17) against
// PCRE2 10.42, which knows Unicode 14. A newer PCRE2 knows them itself, and then they change nothing.
constexpr std::array<Range, 35> kNewL = {
    {{0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3}, {0x10D4A, 0x10D65},
     {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x1123F, 0x11240}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
     {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7}, {0x113D1, 0x113D1}, {0x113D3, 0x113D3},
     {0x11BC0, 0x11BE0}, {0x11F02, 0x11F02}, {0x11F04, 0x11F10}, {0x11F12, 0x11F33}, {0x1342F, 0x1342F},
     {0x13441, 0x13446}, {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF},
     {0x1B132, 0x1B132}, {0x1B155, 0x1B155}, {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E06D}, {0x1E4D0, 0x1E4EB},
     {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0}, {0x2B739, 0x2B739}, {0x2EBF0, 0x2EE5D}, {0x31350, 0x323AF}}};
constexpr std::array<Range, 5> kNewLu = {
    {{0x1C89, 0x1C89}, {0xA7CB, 0xA7CC}, {0xA7DA, 0xA7DA}, {0xA7DC, 0xA7DC}, {0x10D50, 0x10D65}}};
constexpr std::array<Range, 5> kNewLl = {
    {{0x1C8A, 0x1C8A}, {0xA7CD, 0xA7CD}, {0xA7DB, 0xA7DB}, {0x10D70, 0x10D85}, {0x1DF25, 0x1DF2A}}};
constexpr std::array<Range, 6> kNewLm = {{{0x10D4E, 0x10D4E},
                                          {0x10D6F, 0x10D6F},
                                          {0x16D40, 0x16D42},
                                          {0x16D6B, 0x16D6C},
                                          {0x1E030, 0x1E06D},
                                          {0x1E4EB, 0x1E4EB}}};
constexpr std::array<Range, 30> kNewLo = {
    {{0x105C0, 0x105F3}, {0x10D4A, 0x10D4D}, {0x10D4F, 0x10D4F}, {0x10EC2, 0x10EC4}, {0x1123F, 0x11240},
     {0x11380, 0x11389}, {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
     {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x11F02, 0x11F02}, {0x11F04, 0x11F10},
     {0x11F12, 0x11F33}, {0x1342F, 0x1342F}, {0x13441, 0x13446}, {0x13460, 0x143FA}, {0x16100, 0x1611D},
     {0x16D43, 0x16D6A}, {0x18CFF, 0x18CFF}, {0x1B132, 0x1B132}, {0x1B155, 0x1B155}, {0x1E4D0, 0x1E4EA},
     {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0}, {0x2B739, 0x2B739}, {0x2EBF0, 0x2EE5D}, {0x31350, 0x323AF}}};
constexpr std::array<Range, 24> kNewM = {
    {{0x897, 0x897},     {0xCF3, 0xCF3},     {0xECE, 0xECE},     {0x10D69, 0x10D6D}, {0x10EFC, 0x10EFF},
     {0x11241, 0x11241}, {0x113B8, 0x113C0}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113CA},
     {0x113CC, 0x113D0}, {0x113D2, 0x113D2}, {0x113E1, 0x113E2}, {0x11F00, 0x11F01}, {0x11F03, 0x11F03},
     {0x11F34, 0x11F3A}, {0x11F3E, 0x11F42}, {0x11F5A, 0x11F5A}, {0x13440, 0x13440}, {0x13447, 0x13455},
     {0x1611E, 0x1612F}, {0x1E08F, 0x1E08F}, {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF}}};
constexpr std::array<Range, 10> kNewN = {{{0x10D40, 0x10D49},
                                          {0x116D0, 0x116E3},
                                          {0x11BF0, 0x11BF9},
                                          {0x11F50, 0x11F59},
                                          {0x16130, 0x16139},
                                          {0x16D70, 0x16D79},
                                          {0x1CCF0, 0x1CCF9},
                                          {0x1D2C0, 0x1D2D3},
                                          {0x1E4F0, 0x1E4F9},
                                          {0x1E5F1, 0x1E5FA}}};
constexpr std::array<Range, 10> kNewP = {{{0x1B4E, 0x1B4F},
                                          {0x1B7F, 0x1B7F},
                                          {0x10D6E, 0x10D6E},
                                          {0x113D4, 0x113D5},
                                          {0x113D7, 0x113D8},
                                          {0x11B00, 0x11B09},
                                          {0x11BE1, 0x11BE1},
                                          {0x11F43, 0x11F4F},
                                          {0x16D6D, 0x16D6F},
                                          {0x1E5FF, 0x1E5FF}}};
constexpr std::array<Range, 25> kNewS = {
    {{0x2427, 0x2429},   {0x2FFC, 0x2FFF},   {0x31E4, 0x31E5},   {0x31EF, 0x31EF},   {0x10D8E, 0x10D8F},
     {0x1CC00, 0x1CCEF}, {0x1CD00, 0x1CEB3}, {0x1F6DC, 0x1F6DC}, {0x1F774, 0x1F776}, {0x1F77B, 0x1F77F},
     {0x1F7D9, 0x1F7D9}, {0x1F8B2, 0x1F8BB}, {0x1F8C0, 0x1F8C1}, {0x1FA75, 0x1FA77}, {0x1FA87, 0x1FA89},
     {0x1FA8F, 0x1FA8F}, {0x1FAAD, 0x1FAAF}, {0x1FABB, 0x1FABF}, {0x1FAC6, 0x1FAC6}, {0x1FACE, 0x1FACF},
     {0x1FADA, 0x1FADC}, {0x1FADF, 0x1FADF}, {0x1FAE8, 0x1FAE9}, {0x1FAF7, 0x1FAF8}, {0x1FBCB, 0x1FBEF}}};
// Digits of Unicode 17, which only char::is_numeric knows.
constexpr std::array<Range, 2> kNewerN = {{{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}}};

struct Category {
    std::string_view name;  ///< as in \p{name}
    std::span<const Range> ranges;
};
constexpr std::array<Category, 9> kCategories = {{{"L", kNewL},
                                                  {"Lu", kNewLu},
                                                  {"Ll", kNewLl},
                                                  {"Lm", kNewLm},
                                                  {"Lo", kNewLo},
                                                  {"M", kNewM},
                                                  {"N", kNewN},
                                                  {"P", kNewP},
                                                  {"S", kNewS}}};

bool isIn(std::span<const Range> ranges, char32_t c) {
    const auto at = std::upper_bound(ranges.begin(), ranges.end(), c,
                                     [](char32_t value, const Range& range) { return value < range.first; });
    return at != ranges.begin() && c <= std::prev(at)->last;
}

/// Those of the one-letter categories, in which the others are.
std::vector<Range> allRanges() {
    std::vector<Range> all;
    for (const Category& category : kCategories) {
        if (category.name.size() == 1) all.insert(all.end(), category.ranges.begin(), category.ranges.end());
    }
    std::sort(all.begin(), all.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
    return all;
}

std::string classBody(std::span<const Range> ranges) {
    std::string body;
    for (const Range& range : ranges) {
        body += fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<std::uint32_t>(range.first),
                            static_cast<std::uint32_t>(range.last));
    }
    return body;
}

}  // namespace

bool isNewLetter(char32_t c) {
    return isIn(kNewL, c);
}

bool isNewMark(char32_t c) {
    return isIn(kNewM, c);
}

bool isNewNumber(char32_t c) {
    return isIn(kNewN, c) || isIn(kNewerN, c);
}

bool holdsNewCharacters(std::string_view text) {
    static const std::vector<Range> all = allRanges();
    for (std::size_t at = 0; at < text.size();) {
        // All of them are beyond U+0896, that is, three or four bytes long.
        if (static_cast<unsigned char>(text[at]) < 0xE0) {
            ++at;
            continue;
        }
        const CodePoint c = codePointAt(text, at);
        if (isIn(all, c.value)) return true;
        at += c.size;
    }
    return false;
}

std::string withNewCharacters(std::string_view pattern) {
    std::string out;
    bool inClass = false;
    for (std::size_t at = 0; at < pattern.size();) {
        const std::string_view rest = pattern.substr(at);
        const auto category = std::find_if(kCategories.begin(), kCategories.end(), [&](const Category& one) {
            return rest.substr(0, 3) == "\\p{" && rest.substr(3, one.name.size()) == one.name &&
                   rest.substr(3 + one.name.size(), 1) == "}";
        });
        if (category != kCategories.end()) {
            const std::size_t size = category->name.size() + 4;
            const std::string body = std::string(rest.substr(0, size)) + classBody(category->ranges);
            out += inClass ? body : "[" + body + "]";
            at += size;
            continue;
        }
        const std::size_t size = rest[0] == '\\' ? std::min<std::size_t>(2, rest.size()) : 1;
        if (rest[0] == '[' && !inClass) {
            inClass = true;
        } else if (rest[0] == ']') {
            inClass = false;
        }
        out += rest.substr(0, size);
        at += size;
    }
    return out;
}

}  // namespace lpes::text
