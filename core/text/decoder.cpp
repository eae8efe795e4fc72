#include "core/text/decoder.h"

#include <utility>

#include "core/text/byte_alphabet.h"
#include "core/text/new_characters.h"
#include "core/text/unicode.h"

namespace lpes::text {

namespace {

using Kind = TokenizerSpec::DecoderStep::Kind;

int hexDigit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/// "<0x0A>" → "\n"; anything else stays. The library makes U+FFFD out of bytes that are not UTF-8; here they stay
/// bytes.
void byteOrSame(std::string& piece) {
    if (piece.size() != 6 || piece.compare(0, 3, "<0x") != 0 || piece[5] != '>') return;
    const int high = hexDigit(piece[3]);
    const int low = hexDigit(piece[4]);
    if (high >= 0 && low >= 0) piece.assign(1, static_cast<char>(high * 16 + low));
}

std::string joined(const std::vector<std::string>& pieces, const char* between = "") {
    std::string text;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        if (k > 0) text += between;
        text += pieces[k];
    }
    return text;
}

/// At most so many of `content`, one character, at the ends. The stop is not held back by the start, as in the library.
void strip(std::string& piece, const TokenizerSpec::DecoderStep& step) {
    const std::string& content = step.content;
    std::size_t begin = 0;
    for (std::uint32_t k = 0; k < step.start && piece.compare(begin, content.size(), content) == 0; ++k) {
        begin += content.size();
    }
    std::size_t end = piece.size();
    for (std::uint32_t k = 0; k < step.stop && end >= begin + content.size() &&
                              piece.compare(end - content.size(), content.size(), content) == 0;
         ++k) {
        end -= content.size();
    }
    piece = piece.substr(begin, end - begin);
}

void metaspace(std::string& piece, const TokenizerSpec::DecoderStep& step, bool first) {
    const std::string instead = first && step.prepended ? "" : " ";
    std::string out;
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t found = std::min(piece.find(step.content, at), piece.size());
        out.append(piece, at, found - at);
        if (found < piece.size()) out += instead;
        at = found + step.content.size();
    }
    piece = std::move(out);
}

Result<void> replace(std::string& piece, const SplitPattern& pattern, const std::string& content,
                     SplitPattern::Scratch& scratch) {
    // Bytes of a cut character, which the pattern cannot be matched against.
    if (firstInvalidUtf8(piece)) return {};
    std::vector<TextRange> matches;
    const auto done = pattern.matches(piece, holdsNewCharacters(piece), scratch, matches);
    if (!done || matches.empty()) return done;
    std::string out;
    std::size_t at = 0;
    for (const TextRange& match : matches) {
        out.append(piece, at, match.begin - at);
        out += content;
        at = match.end;
    }
    out.append(piece, at, std::string::npos);
    piece = std::move(out);
    return {};
}

}  // namespace

Result<Decoder> Decoder::make(const TokenizerSpec& spec, bool byteLevel) {
    Decoder made;
    for (const auto& step : spec.decoders) {
        Step built{step, {}};
        const bool needsContent = step.kind == Kind::Strip || step.kind == Kind::Metaspace;
        if (needsContent && step.content.empty()) {
            return fail(ErrorCode::BadInput, "A decoder step has an empty content; fetch the tokenizer files again.");
        }
        if (step.kind == Kind::Replace) {
            auto pattern = SplitPattern::compile(step.pattern);
            if (!pattern) return fail(pattern.error());
            built.pattern.push_back(std::move(*pattern));
        }
        made.m_steps.push_back(std::move(built));
    }
    if (made.m_steps.empty() && byteLevel) made.m_steps.push_back({{Kind::ByteLevel}, {}});
    return made;
}

bool Decoder::isByteLevelAlone() const {
    return m_steps.size() == 1 && m_steps.front().spec.kind == Kind::ByteLevel;
}

Result<std::string> Decoder::run(std::vector<std::string> pieces) const {
    SplitPattern::Scratch scratch;
    for (const Step& step : m_steps) {
        switch (step.spec.kind) {
            case Kind::ByteLevel:
                for (std::string& piece : pieces) piece = alphabetToBytes(piece).value_or(std::move(piece));
                break;
            case Kind::Replace:
                for (std::string& piece : pieces) {
                    const auto done = replace(piece, step.pattern.front(), step.spec.content, scratch);
                    if (!done) return fail(done.error());
                }
                break;
            case Kind::ByteFallback:
                for (std::string& piece : pieces) byteOrSame(piece);
                break;
            case Kind::Fuse:
                pieces = {joined(pieces)};
                break;
            case Kind::Strip:
                for (std::string& piece : pieces) strip(piece, step.spec);
                break;
            case Kind::Metaspace:
                for (std::size_t k = 0; k < pieces.size(); ++k) metaspace(pieces[k], step.spec, k == 0);
                break;
            case Kind::JoinWithSpaces:
                pieces = {joined(pieces, " ")};
                break;
        }
    }
    return joined(pieces);
}

}  // namespace lpes::text
