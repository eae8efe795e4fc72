#include "core/text/pre_tokenizer.h"

#include <utility>

#include "core/text/known_steps.h"
#include "core/text/new_characters.h"
#include "core/text/split_behavior.h"
#include "core/text/unicode.h"

namespace lpes::text {

namespace {

using Kind = TokenizerSpec::Step::Kind;
using Behavior = TokenizerSpec::Step::Behavior;
using Prepend = TokenizerSpec::Step::Prepend;

bool isByteLevel(Kind kind) {
    return kind == Kind::ByteLevelRegex || kind == Kind::ByteLevelPlain;
}

/// The characters of a word for which `one` holds, each a match of its own.
template <class One>
void matchCharacters(std::string_view word, const One& one, std::vector<TextRange>& matches) {
    for (std::size_t at = 0; at < word.size();) {
        const CodePoint c = codePointAt(word, at);
        if (one(c.value)) matches.push_back({at, at + c.size});
        at += c.size;
    }
}

/// The tokenizers library's Whitespace, \w+|[^\w\s]+: runs of one kind of character.
void splitAtWhitespace(std::string_view word, std::size_t offset, std::vector<TextRange>& out) {
    const auto kindOf = [](char32_t c) { return isWordCharacter(c) ? 1 : isWhiteSpace(c) ? 0 : 2; };
    int last = 0;
    for (std::size_t at = 0; at < word.size();) {
        const CodePoint c = codePointAt(word, at);
        const int kind = kindOf(c.value);
        if (kind != 0 && kind == last) {
            out.back().end = offset + at + c.size;
        } else if (kind != 0) {
            out.push_back({offset + at, offset + at + c.size});
        }
        last = kind;
        at += c.size;
    }
}

/// The list with another text: `one` appends what a word becomes.
template <class One>
void rewriteWords(WordList& list, const One& one) {
    WordList next;
    for (const TextRange& word : list.words) {
        const std::size_t begin = next.text.size();
        one(word, next.text);
        if (next.text.size() > begin) next.words.push_back({begin, next.text.size()});
    }
    next.text.setEnd(list.text.origin(list.text.size()));
    list = std::move(next);
}

void putSpaceInFront(WordList& list) {
    rewriteWords(list, [&](const TextRange& word, MappedText& out) {
        if (list.text.text()[word.begin] != ' ') out.append(" ", list.text.origin(word.begin));
        out.appendPart(list.text, word.begin, word.end);
    });
}

void replaceSpaces(WordList& list, const TokenizerSpec::Step& step) {
    rewriteWords(list, [&](const TextRange& range, MappedText& out) {
        const std::string_view word = list.text.text().substr(range.begin, range.end - range.begin);
        const bool hasAlready = word.front() == ' ' || word.substr(0, step.content.size()) == step.content;
        const bool wanted =
            step.prepend == Prepend::Always || (step.prepend == Prepend::First && list.text.origin(range.begin) == 0);
        if (wanted && !hasAlready) out.append(step.content, list.text.origin(range.begin));
        for (std::size_t at = 0; at < word.size();) {
            const std::size_t space = std::min(word.find(' ', at), word.size());
            out.appendPart(list.text, range.begin + at, range.begin + space);
            if (space < word.size()) out.append(step.content, list.text.origin(range.begin + space));
            at = space + 1;
        }
    });
}

void matchText(std::string_view word, std::string_view wanted, std::vector<TextRange>& matches) {
    for (std::size_t at = word.find(wanted); at != std::string_view::npos; at = word.find(wanted, at + wanted.size())) {
        matches.push_back({at, at + wanted.size()});
    }
}

}  // namespace

Result<PreTokenizer> PreTokenizer::make(const TokenizerSpec& spec) {
    PreTokenizer made;
    for (const auto& step : spec.steps) {
        if (made.m_byteLevel) {
            return fail(
                ErrorCode::Unsupported,
                "The pre-tokenizer has a step behind ByteLevel, which is not supported; ByteLevel must come last.");
        }
        if (step.kind == Kind::Metaspace && step.content.empty()) {
            return fail(ErrorCode::BadInput,
                        "The pre-tokenizer's Metaspace has no replacement; fetch the tokenizer files again.");
        }
        Step built{step, {}};
        if (step.kind == Kind::Split || step.kind == Kind::ByteLevelRegex) {
            auto pattern =
                SplitPattern::compile(step.kind == Kind::Split ? step.pattern : knownSplit(kGpt2Pattern).pattern);
            if (!pattern) return fail(pattern.error());
            built.pattern.push_back(std::move(*pattern));
        }
        made.m_byteLevel = text::isByteLevel(step.kind);
        made.m_steps.push_back(std::move(built));
    }
    return made;
}

Result<void> PreTokenizer::run(WordList& list, Scratch& scratch) const {
    for (const Step& step : m_steps) {
        if (const auto done = runStep(step, list, scratch); !done) return done;
    }
    return {};
}

Result<void> PreTokenizer::runStep(const Step& step, WordList& list, Scratch& scratch) {
    const Kind kind = step.spec.kind;
    if (text::isByteLevel(kind) && step.spec.prefixSpace) putSpaceInFront(list);
    if (kind == Kind::ByteLevelPlain) return {};
    if (kind == Kind::Metaspace) {
        replaceSpaces(list, step.spec);
        if (!step.spec.split) return {};
    }
    const bool newCharacters = !step.pattern.empty() && holdsNewCharacters(list.text.text());
    scratch.next.clear();
    for (const TextRange& range : list.words) {
        const std::string_view word = list.text.text().substr(range.begin, range.end - range.begin);
        scratch.matches.clear();
        Behavior behavior = Behavior::Isolated;
        switch (kind) {
            case Kind::DigitsGrouped:
                behavior = Behavior::Contiguous;
                [[fallthrough]];
            case Kind::DigitsIndividual:
                matchCharacters(word, isNumeric, scratch.matches);
                break;
            case Kind::Punctuation:
                matchCharacters(word, isPunctuation, scratch.matches);
                behavior = step.spec.behavior;
                break;
            case Kind::WhitespaceSplit:
                matchCharacters(word, isWhiteSpace, scratch.matches);
                behavior = Behavior::Removed;
                break;
            case Kind::Whitespace:
                splitAtWhitespace(word, range.begin, scratch.next);
                continue;
            case Kind::Metaspace:
                matchText(word, step.spec.content, scratch.matches);
                behavior = Behavior::MergedWithNext;
                break;
            case Kind::Split:
                behavior = step.spec.behavior;
                [[fallthrough]];
            case Kind::ByteLevelRegex:
            case Kind::ByteLevelPlain: {
                const auto done = step.pattern.front().matches(word, newCharacters, scratch.pattern, scratch.matches);
                if (!done) return done;
                break;
            }
        }
        splitAtMatches(scratch.matches, word.size(), range.begin, behavior, step.spec.invert, scratch.next);
    }
    std::swap(list.words, scratch.next);
    return {};
}

}  // namespace lpes::text
