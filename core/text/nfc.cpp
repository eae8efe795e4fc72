#include "core/text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "core/text/unicode.h"

namespace lpes::text {

namespace {

// Characters of combining class 0 that can still melt into the one before them: the second halves of canonical
// compositions (UnicodeData.txt up to Unicode 16). A superset only makes clusters longer, never the text wrong.
bool composesWithPrevious(char32_t c) {
    static constexpr std::array<char32_t, 32> kSecondHalves = {
        0x09BE,  0x09D7,  0x0B3E,  0x0B56,  0x0B57,  0x0BBE,  0x0BD7,  0x0CC2,  0x0CD5,  0x0CD6,  0x0D3E,
        0x0D57,  0x0DCF,  0x0DDF,  0x102E,  0x1B35,  0x11127, 0x1133E, 0x11357, 0x113B8, 0x113BB, 0x113C2,
        0x113C5, 0x113C7, 0x113C8, 0x113C9, 0x114B0, 0x114BA, 0x114BD, 0x115AF, 0x11930, 0x16D67};
    const bool hangulVowelOrTail = (c >= 0x1161 && c <= 0x1175) || (c >= 0x11A8 && c <= 0x11C2);
    const bool kiratOrGurung = c >= 0x1611E && c <= 0x16129;
    return hangulVowelOrTail || kiratOrGurung || std::binary_search(kSecondHalves.begin(), kSecondHalves.end(), c);
}

int combiningClass(utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
}

/// Canonical decomposition of one character, appended; at most 4 characters by Unicode's stability rules, 18 allowed.
void appendDecomposed(std::vector<utf8proc_int32_t>& out, char32_t c) {
    std::array<utf8proc_int32_t, 18> buffer{};
    int boundClass = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer.data(), buffer.size(),
                                static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &boundClass);
    for (utf8proc_ssize_t k = 0; k < count; ++k) out.push_back(buffer[static_cast<std::size_t>(k)]);
}

/// utf8proc sorts the marks of a character by insertion, which takes minutes for a hostile run of them; this does not.
void sortMarks(std::vector<utf8proc_int32_t>& characters) {
    auto begin = characters.begin();
    while (begin != characters.end()) {
        begin = std::find_if(begin, characters.end(), [](auto c) { return combiningClass(c) != 0; });
        const auto end = std::find_if(begin, characters.end(), [](auto c) { return combiningClass(c) == 0; });
        std::stable_sort(begin, end, [](auto a, auto b) { return combiningClass(a) < combiningClass(b); });
        begin = end;
    }
}

bool beginsCluster(char32_t c, std::vector<utf8proc_int32_t>& scratch) {
    if (c < 0x300) return true;
    scratch.clear();
    appendDecomposed(scratch, c);
    return scratch.empty() ||
           (combiningClass(scratch.front()) == 0 && !composesWithPrevious(static_cast<char32_t>(scratch.front())));
}

std::string composed(std::string_view cluster, std::vector<utf8proc_int32_t>& scratch) {
    scratch.clear();
    for (std::size_t at = 0; at < cluster.size();) {
        const CodePoint c = codePointAt(cluster, at);
        appendDecomposed(scratch, c.value);
        at += c.size;
    }
    sortMarks(scratch);
    const auto count = utf8proc_normalize_utf32(scratch.data(), static_cast<utf8proc_ssize_t>(scratch.size()),
                                                static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    std::string out;
    for (utf8proc_ssize_t k = 0; k < count; ++k) {
        appendUtf8(out, static_cast<char32_t>(scratch[static_cast<std::size_t>(k)]));
    }
    return out;
}

}  // namespace

NfcText::NfcText(std::string_view original) {
    m_text.reserve(original.size());
    std::vector<utf8proc_int32_t> scratch;
    std::size_t begin = 0;
    while (begin < original.size()) {
        CodePoint c = codePointAt(original, begin);
        std::size_t end = begin + c.size;
        bool simple = c.value < 0x300;
        while (end < original.size()) {
            c = codePointAt(original, end);
            if (beginsCluster(c.value, scratch)) break;
            simple = false;
            end += c.size;
        }
        const std::string_view cluster = original.substr(begin, end - begin);
        if (simple) {
            addPart(begin, true);
            m_text += cluster;
        } else {
            const std::string normal = composed(cluster, scratch);
            addPart(begin, normal == cluster);
            m_text += normal;
        }
        begin = end;
    }
    // One past the end, so that every offset has a part.
    m_parts.push_back({m_text.size(), original.size(), true});
}

void NfcText::addPart(std::size_t originalBegin, bool verbatim) {
    if (verbatim && !m_parts.empty() && m_parts.back().verbatim) return;
    m_parts.push_back({m_text.size(), originalBegin, verbatim});
}

std::size_t NfcText::originalOffset(std::size_t at) const {
    const auto next = std::upper_bound(m_parts.begin(), m_parts.end(), at,
                                       [](std::size_t value, const Part& part) { return value < part.begin; });
    const Part& part = *std::prev(next);
    return part.verbatim ? part.originalBegin + (at - part.begin) : part.originalBegin;
}

}  // namespace lpes::text
