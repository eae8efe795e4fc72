#include "core/text/pre_tokenizer.h"

#include "core/text/known_steps.h"
#include "core/text/unicode.h"

namespace lpes::text {

namespace {

using Kind = TokenizerSpec::Step::Kind;

bool isByteLevel(Kind kind) {
    return kind == Kind::ByteLevelRegex || kind == Kind::ByteLevelPlain;
}

/// The tokenizers library's Digits: every numeric character alone, or runs of them together.
void splitDigits(std::string_view segment, TextRange piece, bool individual, std::vector<TextRange>& out) {
    std::size_t begin = piece.begin;
    bool inDigits = false;
    for (std::size_t at = piece.begin; at < piece.end;) {
        const CodePoint c = codePointAt(segment, at);
        const bool numeric = isNumeric(c.value);
        if (at > begin && (numeric != inDigits || (numeric && individual))) {
            out.push_back({begin, at});
            begin = at;
        }
        inDigits = numeric;
        at += c.size;
    }
    if (begin < piece.end) out.push_back({begin, piece.end});
}

}  // namespace

Result<PreTokenizer> PreTokenizer::make(const TokenizerSpec& spec) {
    PreTokenizer made;
    made.m_addPrefixSpace = spec.addPrefixSpace;
    for (const auto& step : spec.steps) {
        if (!made.m_steps.empty() && isByteLevel(made.m_steps.back().kind)) {
            return fail(
                ErrorCode::Unsupported,
                "The pre-tokenizer has a step behind ByteLevel, which is not supported; ByteLevel must come last.");
        }
        Step built{step.kind, {}};
        if (step.kind == Kind::Split || step.kind == Kind::ByteLevelRegex) {
            auto pattern =
                SplitPattern::compile(step.kind == Kind::Split ? step.pattern : knownSplit(kGpt2Pattern).pattern);
            if (!pattern) return fail(pattern.error());
            built.pattern.push_back(std::move(*pattern));
        }
        made.m_steps.push_back(std::move(built));
    }
    if (made.m_steps.empty() || !isByteLevel(made.m_steps.back().kind)) {
        return fail(ErrorCode::Unsupported,
                    "The pre-tokenizer has no ByteLevel step; only byte-level vocabularies are supported.");
    }
    return made;
}

Result<void> PreTokenizer::run(std::string_view segment, Scratch& scratch, std::vector<PreToken>& out) const {
    if (segment.empty()) return {};
    const bool newCharacters = holdsNewCharacters(segment);
    scratch.pieces.assign(1, {0, segment.size()});
    for (const Step& step : m_steps) {
        if (isByteLevel(step.kind)) return byteLevel(segment, step, newCharacters, scratch, out);
        scratch.next.clear();
        for (const TextRange& piece : scratch.pieces) {
            if (step.kind != Kind::Split) {
                splitDigits(segment, piece, step.kind == Kind::DigitsIndividual, scratch.next);
                continue;
            }
            const auto split = step.pattern.front().split(segment.substr(piece.begin, piece.end - piece.begin),
                                                          piece.begin, newCharacters, scratch.pattern, scratch.next);
            if (!split) return fail(split.error());
        }
        std::swap(scratch.pieces, scratch.next);
    }
    return {};
}

Result<void> PreTokenizer::byteLevel(std::string_view segment, const Step& step, bool newCharacters, Scratch& scratch,
                                     std::vector<PreToken>& out) const {
    for (const TextRange& piece : scratch.pieces) {
        std::string_view text = segment.substr(piece.begin, piece.end - piece.begin);
        const bool spaceAdded = m_addPrefixSpace && text.front() != ' ';
        if (spaceAdded) text = scratch.arena.emplace_back(" " + std::string(text));
        scratch.next.clear();
        if (step.pattern.empty()) {
            scratch.next.push_back({0, text.size()});
        } else {
            const auto split = step.pattern.front().split(text, 0, newCharacters, scratch.pattern, scratch.next);
            if (!split) return fail(split.error());
        }
        for (const TextRange& word : scratch.next) {
            const bool first = word.begin == 0;
            const std::size_t shift = spaceAdded && !first ? 1 : 0;
            out.push_back({text.substr(word.begin, word.end - word.begin), piece.begin + word.begin - shift,
                           spaceAdded && first});
        }
    }
    return {};
}

}  // namespace lpes::text
