#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace lpes::text {

using TokenId = std::int32_t;

struct EncodeOptions {
    /// Text that spells a special token ("<|im_start|>") becomes that token; otherwise it is ordinary text.
    bool parseSpecial = false;
    /// Put the beginning-of-sequence token in front where the model's files say that the tokenizer adds one.
    bool addSpecial = false;
};

/// Token ids with where each begins. ids.size() == byteBegin.size().
struct Encoding {
    std::vector<TokenId> ids;
    /// Offset in bytes into the text that was given at which the token's text begins. A token that was added (BOS) has
    /// the offset of the token behind it. Where a normalizer changed the text, the offset of the piece of the original
    /// that the token comes from.
    ///
    /// A token that begins inside a character has the offset of that byte; inside a piece that NFC changed, the offset
    /// of the piece.
    std::vector<std::size_t> byteBegin;
    bool bosAdded = false;
    /// Offsets of the bytes that no token of the vocabulary spells (SmolLM2 has none for U+0004, for example). They
    /// have no id, as in the tokenizers library; the caller tells the user. Empty for every ordinary text.
    std::vector<std::size_t> withoutToken;
};

/// Byte-level BPE. immutable, hence thread-safe.
///
/// Sources: a Hugging Face tokenizer.json and the tokenizer.ggml.* keys of a GGUF file; both give the same ids for the
/// same vocabulary. Pieces of tokenizer.json that are not understood (model type, normalizer, pre-tokenizer,
/// post-processor) and unknown tokenizer.ggml.model / .pre names are refused by name (Unsupported).
class Tokenizer {
  public:
    virtual ~Tokenizer() = default;

    /// Ids of a UTF-8 text. BadInput with the byte offset where the text is not UTF-8, and for more than 2 GiB; Failed
    /// where a Split pattern of the vocabulary ran into PCRE2's limits.
    [[nodiscard]] virtual Result<Encoding> encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
    /// Text of ids; special tokens are left out unless keepSpecial. A sequence that is cut inside a character yields
    /// the raw bytes. Usage for an id outside the vocabulary.
    [[nodiscard]] virtual Result<std::string> decode(std::span<const TokenId> ids, bool keepSpecial = false) const = 0;
    /// The vocabulary's own spelling of an id ("Ġthe"); empty for an id outside the vocabulary.
    [[nodiscard]] virtual std::string piece(TokenId id) const = 0;
    [[nodiscard]] virtual std::size_t vocabularySize() const = 0;
    /// −1 where the model has none.
    [[nodiscard]] virtual TokenId bosId() const = 0;
    /// Ids that end a generated text (end of sequence, end of turn).
    [[nodiscard]] virtual const std::vector<TokenId>& endIds() const = 0;
    /// SHA-256 over vocabulary, merges, added tokens and the names of the steps: part of every run record.
    [[nodiscard]] virtual const std::string& fingerprint() const = 0;
    /// The steps in words, for `inspect` ("Digits(individual) + ByteLevel, no normalizer").
    [[nodiscard]] virtual std::string description() const = 0;
};

/// What a vocabulary source hands over, whatever file it comes from.
struct TokenizerSpec {
    std::vector<std::string> pieces;                          ///< id → spelling in the byte-level alphabet
    std::vector<std::pair<std::string, std::string>> merges;  ///< by rank
    struct Added {
        TokenId id = 0;
        std::string content;
        bool special = false;
        bool lstrip = false, rstrip = false, singleWord = false;
        bool normalized = false;  ///< looked for in the normalised text, after those that are not
    };
    std::vector<Added> added;
    enum class Normalizer { None, Nfc } normalizer = Normalizer::None;
    /// Pre-tokenizer steps in order. Split patterns are PCRE2 (UTF, UCP), isolated behaviour: text between matches is
    /// kept as pieces of its own.
    struct Step {
        enum class Kind { DigitsIndividual, DigitsGrouped, Split, ByteLevelRegex, ByteLevelPlain } kind;
        std::string pattern;  ///< Split only
    };
    std::vector<Step> steps;
    bool addPrefixSpace = false;
    TokenId unknownId = -1;     ///< stands for each byte that has no token; −1: such a byte has no id
    bool fuseUnknown = false;   ///< one unknownId for a run of such bytes
    bool ignoreMerges = false;  ///< a pre-token that is in the vocabulary is taken whole (Llama 3)
    bool addBos = false;
    TokenId bosId = -1;
    std::vector<TokenId> endIds;
};

/// Builds the tokenizer; BadInput when a merge names a piece that does not exist, an id is out of range or doubled, a
/// Split pattern is malformed, or no byte of the byte-level alphabet has a token. Unsupported when the steps are not
/// zero or more of Digits and Split followed by one ByteLevel.
[[nodiscard]] Result<std::shared_ptr<const Tokenizer>> makeTokenizer(TokenizerSpec spec);

/// Reads tokenizer.json (and tokenizer_config.json / generation_config.json beside it for BOS and end ids). BadInput
/// when missing or malformed, Unsupported by name otherwise.
[[nodiscard]] Result<TokenizerSpec> readTokenizerJson(const std::filesystem::path& folder);

/// The tokenizer.ggml.* metadata of a GGUF file, already read by core/model/formats.
struct GgufVocabulary {
    std::string model;  ///< tokenizer.ggml.model; "gpt2" is byte-level BPE
    std::string pre;    ///< tokenizer.ggml.pre; empty when the key is absent
    std::vector<std::string> tokens;
    std::vector<std::string> merges;       ///< "left right"
    std::vector<std::int32_t> tokenTypes;  ///< 1 normal, 3 control, 4 user defined, …; may be empty
    std::int64_t bosId = -1, eosId = -1, eotId = -1;
    int addBos = -1;  ///< −1 when the key is absent
};

/// Unsupported for another model or an unknown or missing .pre (refused by name, with what is known).
[[nodiscard]] Result<TokenizerSpec> specFromGguf(const GgufVocabulary& vocabulary);

}  // namespace lpes::text
