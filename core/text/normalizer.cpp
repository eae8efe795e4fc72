#include "core/text/normalizer.h"

#include <utf8proc.h>

#include "core/text/new_characters.h"
#include "core/text/unicode.h"
#include "core/text/unicode_form.h"

namespace lpes::text {

namespace {

using Kind = TokenizerSpec::NormalizerStep::Kind;

/// The text without its first `front` and last `back` bytes.
MappedText trimmed(const MappedText& in, std::size_t begin, std::size_t end) {
    return begin == 0 && end == in.size() ? in : in.part(begin, end);
}

MappedText stripped(const MappedText& in, bool left, bool right) {
    const std::string_view text = in.text();
    std::size_t begin = 0;
    std::size_t end = text.size();
    while (left && begin < end && isWhiteSpace(codePointAt(text, begin).value)) begin += codePointAt(text, begin).size;
    while (right && end > begin && isWhiteSpace(codePointBefore(text, end).value))
        end -= codePointBefore(text, end).size;
    return trimmed(in, begin, end);
}

MappedText withoutExtraSpaces(const MappedText& in) {
    const std::string_view text = in.text();
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    MappedText out;
    for (std::size_t at = begin; at < text.size();) {
        const std::size_t space = std::min(text.find(' ', at), text.size());
        out.appendPart(in, at, space);
        at = std::min(text.find_first_not_of(' ', space), text.size());
        if (at < text.size()) out.appendPart(in, space, space + 1);
    }
    out.setEnd(in.origin(text.size()));
    return out;
}

/// `one` appends what a character becomes, or nothing and returns false where it stays.
template <class One>
MappedText mapCharacters(const MappedText& in, const One& one) {
    const std::string_view text = in.text();
    MappedText out;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = codePointAt(text, at);
        if (!one(c.value, out, in.origin(at))) out.appendPart(in, at, at + c.size);
        at += c.size;
    }
    out.setEnd(in.origin(text.size()));
    return out;
}

bool appendLowercase(char32_t c, MappedText& out, std::size_t origin) {
    std::string lower;
    if (c == 0x130) {
        lower = "i\xCC\x87";  // the only lower case of two characters, which utf8proc's simple mapping does not have
    } else {
        const auto simple = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
        if (simple == c) return false;
        appendUtf8(lower, simple);
    }
    out.append(lower, origin);
    return true;
}

bool isMark(char32_t c) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
}

MappedText prepended(const MappedText& in, std::string_view content) {
    if (in.size() == 0) return in;
    MappedText out;
    out.append(content, in.origin(0));
    out.appendPart(in, 0, in.size());
    out.setEnd(in.origin(in.size()));
    return out;
}

Result<MappedText> replaced(const MappedText& in, const SplitPattern& pattern, std::string_view content,
                            SplitPattern::Scratch& scratch) {
    const std::string_view text = in.text();
    std::vector<TextRange> matches;
    if (const auto done = pattern.matches(text, holdsNewCharacters(text), scratch, matches); !done) {
        return fail(done.error());
    }
    if (matches.empty()) return in;
    MappedText out;
    std::size_t at = 0;
    for (const TextRange& match : matches) {
        out.appendPart(in, at, match.begin);
        out.append(content, in.origin(match.begin));
        at = match.end;
    }
    out.appendPart(in, at, text.size());
    out.setEnd(in.origin(text.size()));
    return out;
}

std::size_t graphemeEnd(std::string_view text, std::size_t begin) {
    CodePoint c = codePointAt(text, begin);
    std::size_t end = begin + c.size;
    utf8proc_int32_t state = 0;
    while (end < text.size()) {
        const CodePoint next = codePointAt(text, end);
        if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.value),
                                             static_cast<utf8proc_int32_t>(next.value), &state)) {
            break;
        }
        c = next;
        end += c.size;
    }
    return end;
}

/// As the tokenizers library's Precompiled: a grapheme below 6 bytes is replaced whole by the shortest entry that it
/// begins with; otherwise each of its characters is looked up.
MappedText charsmapped(const MappedText& in, const Charsmap& map) {
    const std::string_view text = in.text();
    MappedText out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = graphemeEnd(text, at);
        const std::string_view grapheme = text.substr(at, end - at);
        const auto whole = grapheme.size() < 6 ? map.shortest(grapheme) : std::nullopt;
        if (whole) {
            out.append(whole->replacement, in.origin(at));
            at = end;
            continue;
        }
        while (at < end) {
            const std::size_t size = codePointAt(text, at).size;
            if (const auto one = map.shortest(text.substr(at, size))) {
                out.append(one->replacement, in.origin(at));
            } else {
                out.appendPart(in, at, at + size);
            }
            at += size;
        }
    }
    out.setEnd(in.origin(text.size()));
    return out;
}

/// As sentencepiece: at every place the longest entry.
MappedText charsmappedLongest(const MappedText& in, const Charsmap& map) {
    const std::string_view text = in.text();
    MappedText out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = codePointAt(text, at).size;
        const auto match = map.longest(text.substr(at));
        const bool whole =
            match && match->size >= size &&
            (at + match->size == text.size() || (static_cast<unsigned char>(text[at + match->size]) & 0xC0u) != 0x80u);
        if (whole) {
            out.append(match->replacement, in.origin(at));
            at += match->size;
        } else {
            out.appendPart(in, at, at + size);
            at += size;
        }
    }
    out.setEnd(in.origin(text.size()));
    return out;
}

UnicodeForm formOf(Kind kind) {
    return kind == Kind::Nfc    ? UnicodeForm::Nfc
           : kind == Kind::Nfd  ? UnicodeForm::Nfd
           : kind == Kind::Nfkc ? UnicodeForm::Nfkc
                                : UnicodeForm::Nfkd;
}

}  // namespace

Result<Normalizer> Normalizer::make(const TokenizerSpec& spec) {
    Normalizer made;
    for (const auto& step : spec.normalizers) {
        Step built{step, {}, {}};
        if (step.kind == Kind::Replace) {
            auto pattern = SplitPattern::compile(step.pattern);
            if (!pattern) return fail(pattern.error());
            built.pattern.push_back(std::move(*pattern));
        }
        if (step.kind == Kind::Charsmap || step.kind == Kind::CharsmapLongest) {
            auto map = Charsmap::make(step.content);
            if (!map) return fail(map.error());
            built.charsmap.push_back(std::move(*map));
        }
        made.m_steps.push_back(std::move(built));
    }
    return made;
}

Result<MappedText> Normalizer::run(std::string_view segment, std::size_t begin, SplitPattern::Scratch& scratch) const {
    MappedText text(segment, begin);
    for (const Step& step : m_steps) {
        switch (step.spec.kind) {
            case Kind::Nfc:
            case Kind::Nfd:
            case Kind::Nfkc:
            case Kind::Nfkd:
                text = inForm(text, formOf(step.spec.kind));
                break;
            case Kind::Lowercase:
                text = mapCharacters(text, appendLowercase);
                break;
            case Kind::Strip:
                text = stripped(text, step.spec.left, step.spec.right);
                break;
            case Kind::StripAccents:
                text = mapCharacters(text, [](char32_t c, MappedText&, std::size_t) { return isMark(c); });
                break;
            case Kind::Prepend:
                text = prepended(text, step.spec.content);
                break;
            case Kind::PrependFirst:
                if (begin == 0) text = prepended(text, step.spec.content);
                break;
            case Kind::Replace: {
                auto done = replaced(text, step.pattern.front(), step.spec.content, scratch);
                if (!done) return fail(done.error());
                text = std::move(*done);
                break;
            }
            case Kind::Charsmap:
                text = charsmapped(text, step.charsmap.front());
                break;
            case Kind::CharsmapLongest:
                text = charsmappedLongest(text, step.charsmap.front());
                break;
            case Kind::RemoveExtraSpaces:
                text = withoutExtraSpaces(text);
                break;
        }
    }
    return text;
}

}  // namespace lpes::text
