#include "core/text/unicode_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

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

bool isCompatible(UnicodeForm form) {
    return form == UnicodeForm::Nfkc || form == UnicodeForm::Nfkd;
}
bool isComposed(UnicodeForm form) {
    return form == UnicodeForm::Nfc || form == UnicodeForm::Nfkc;
}
/// The first character that the form may change, or that may belong to the cluster of the one before.
char32_t firstChanged(UnicodeForm form) {
    return form == UnicodeForm::Nfc ? 0x300 : 0x80;
}

/// Full decomposition of one character, appended. The longest is that of U+FDFA, 18 characters.
void appendDecomposed(std::vector<utf8proc_int32_t>& out, char32_t c, UnicodeForm form) {
    std::array<utf8proc_int32_t, 18> buffer{};
    int boundClass = 0;
    const auto options = UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (isCompatible(form) ? UTF8PROC_COMPAT : 0);
    const auto count =
        std::min<utf8proc_ssize_t>(utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer.data(),
                                                           static_cast<utf8proc_ssize_t>(buffer.size()),
                                                           static_cast<utf8proc_option_t>(options), &boundClass),
                                   static_cast<utf8proc_ssize_t>(buffer.size()));
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

bool beginsCluster(char32_t c, UnicodeForm form, std::vector<utf8proc_int32_t>& scratch) {
    if (c < firstChanged(form)) return true;
    scratch.clear();
    appendDecomposed(scratch, c, form);
    return scratch.empty() ||
           (combiningClass(scratch.front()) == 0 && !composesWithPrevious(static_cast<char32_t>(scratch.front())));
}

std::string normalized(std::string_view cluster, UnicodeForm form, std::vector<utf8proc_int32_t>& scratch) {
    scratch.clear();
    for (std::size_t at = 0; at < cluster.size();) {
        const CodePoint c = codePointAt(cluster, at);
        appendDecomposed(scratch, c.value, form);
        at += c.size;
    }
    sortMarks(scratch);
    auto count = static_cast<utf8proc_ssize_t>(scratch.size());
    if (isComposed(form)) {
        count = utf8proc_normalize_utf32(scratch.data(), count,
                                         static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    }
    std::string out;
    for (utf8proc_ssize_t k = 0; k < count; ++k) {
        appendUtf8(out, static_cast<char32_t>(scratch[static_cast<std::size_t>(k)]));
    }
    return out;
}

bool isUnchanged(std::string_view text, UnicodeForm form) {
    // 0xCC is the lead byte of U+0300.
    const unsigned char first = form == UnicodeForm::Nfc ? 0xCC : 0x80;
    return std::all_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) < first; });
}

}  // namespace

MappedText inForm(const MappedText& in, UnicodeForm form) {
    const std::string_view text = in.text();
    if (isUnchanged(text, form)) return in;
    MappedText out;
    std::vector<utf8proc_int32_t> scratch;
    std::size_t begin = 0;
    while (begin < text.size()) {
        CodePoint c = codePointAt(text, begin);
        std::size_t end = begin + c.size;
        bool simple = c.value < firstChanged(form);
        while (end < text.size()) {
            c = codePointAt(text, end);
            if (beginsCluster(c.value, form, scratch)) break;
            simple = false;
            end += c.size;
        }
        const std::string_view cluster = text.substr(begin, end - begin);
        const std::string normal = simple ? std::string() : normalized(cluster, form, scratch);
        if (simple || normal == cluster) {
            out.appendPart(in, begin, end);
        } else {
            out.append(normal, in.origin(begin));
        }
        begin = end;
    }
    out.setEnd(in.origin(text.size()));
    return out;
}

}  // namespace lpes::text
