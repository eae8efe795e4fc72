#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lpes::text {

using TokenId = std::int32_t;

/// What a vocabulary source hands over, whatever file it comes from: the steps from a text to ids and back, in the
/// order in which they work. The words are those of tokenizer.json, which can express all of it.
struct TokenizerSpec {
    std::vector<std::string> pieces;  ///< id → spelling (in the byte-level alphabet where a ByteLevel step comes last)

    /// Tokens that are looked for in the text before anything else.
    struct Added {
        TokenId id = 0;
        std::string content;
        bool special = false;
        bool lstrip = false, rstrip = false, singleWord = false;
        bool normalized = false;    ///< looked for in the normalised text, after those that are not
        bool inNormalForm = false;  ///< with `normalized`: the content is compared as it is, not normalised first
    };
    std::vector<Added> added;

    struct NormalizerStep {
        enum class Kind {
            Nfc,
            Nfd,
            Nfkc,
            Nfkd,
            Lowercase,
            Strip,             ///< white space at the ends, `left` and `right`
            StripAccents,      ///< marks
            Prepend,           ///< `content` in front of a text that is not empty
            PrependFirst,      ///< the same where the segment begins the whole text
            Replace,           ///< matches of `pattern` become `content`
            Charsmap,          ///< sentencepiece's precompiled map in `content`, applied as the tokenizers library does
            CharsmapLongest,   ///< the same, applied as sentencepiece does
            RemoveExtraSpaces  ///< U+0020 at the ends, and all but one of a run (sentencepiece)
        } kind;
        std::string pattern = {};  ///< PCRE2 (UTF, UCP)
        std::string content = {};
        bool left = true, right = true;
    };
    std::vector<NormalizerStep> normalizers;

    /// Pre-tokenizer step: cuts the text into words that the model does not cross.
    struct Step {
        enum class Kind {
            DigitsIndividual,
            DigitsGrouped,
            Split,
            ByteLevelRegex,
            ByteLevelPlain,
            Metaspace,        ///< U+0020 becomes `content`, which is put in front by `prepend`
            Whitespace,       ///< runs of word characters and runs of others; white space is dropped
            WhitespaceSplit,  ///< white space is dropped
            Punctuation
        } kind;
        std::string pattern = {};  ///< Split only: PCRE2 (UTF, UCP)
        /// What becomes of the matches of Split and Punctuation.
        enum class Behavior {
            Isolated,
            Removed,
            MergedWithPrevious,
            MergedWithNext,
            Contiguous
        } behavior = Behavior::Isolated;
        bool invert = false;  ///< Split: the text between the matches is what matches
        std::string content = {};
        enum class Prepend { Never, First, Always } prepend = Prepend::Never;
        bool split = false;        ///< Metaspace: each `content` begins a word
        bool prefixSpace = false;  ///< ByteLevel: a space in front of each piece that has none
    };
    std::vector<Step> steps;

    enum class Model { Bpe, Unigram } model = Model::Bpe;
    std::vector<std::pair<std::string, std::string>> merges;  ///< BPE
    /// BPE of vocabularies that have scores instead of merges: all ways to put a piece together from two. The lowest
    /// rank first, the leftmost of equals.
    struct ScoreMerge {
        TokenId left = 0, right = 0, whole = 0;
        std::uint32_t rank = 0;
    };
    std::vector<ScoreMerge> scoreMerges;
    std::vector<double> scores;  ///< Unigram: log-probability by id; NaN: never made by the model
    TokenId unknownId = -1;      ///< stands for what no piece spells; −1: it has no id
    bool fuseUnknown = false;    ///< one unknownId for a run
    bool ignoreMerges = false;   ///< a word that is in the vocabulary is taken whole (Llama 3)
    bool byteFallback = false;   ///< a character without a piece becomes its bytes, spelled "<0x0A>"

    std::vector<TokenId> prefixIds, suffixIds;  ///< around a text, where EncodeOptions ask for them
    TokenId bosId = -1;
    std::vector<TokenId> endIds;

    struct DecoderStep {
        enum class Kind { ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, JoinWithSpaces } kind;
        std::string pattern = {};           ///< Replace: PCRE2
        std::string content = {};           ///< Replace, Strip, Metaspace
        std::uint32_t start = 0, stop = 0;  ///< Strip: at most so many of `content` at the ends of each piece
        bool prepended = false;             ///< Metaspace: the first piece loses its `content`
    };
    std::vector<DecoderStep> decoders;  ///< none: bytes behind a ByteLevel step, else the pieces as they are
};

}  // namespace lpes::text
