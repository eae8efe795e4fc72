#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/text_range.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

struct EncodeOptions {
    /// Text that spells a special token ("<|im_start|>") becomes that token; otherwise it is ordinary text.
    bool parseSpecial = false;
    /// Put the tokens around the text that the model's files say the tokenizer adds: the beginning-of-sequence token in
    /// front, in most families, and seldom an end token behind.
    bool addSpecial = false;
    /// With parseSpecial: only inside one of these ranges of the text (sorted, apart); empty: everywhere. So a prompt
    /// is tokenized in one go, and what the user wrote in it never becomes a special token.
    std::vector<TextRange> specialRanges = {};
};

/// Token ids with where each begins. ids.size() == byteBegin.size().
struct Encoding {
    std::vector<TokenId> ids;
    /// Offset in bytes into the text that was given at which the token's text begins. A token that was added in front
    /// (BOS) has the offset of the token behind it, one that was added behind the size of the text. Where a normalizer
    /// changed the text, the offset of the piece of the original that the token comes from; a space that was put in
    /// front has the offset of the character behind it.
    ///
    /// A token that begins inside a character has the offset of that byte; inside a piece that normalising changed, the
    /// offset of the piece.
    std::vector<std::size_t> byteBegin;
    bool bosAdded = false;  ///< addSpecial put something in front
    /// Offsets of the bytes that no token of the vocabulary spells (SmolLM2 has none for U+0004, for example). They
    /// have no id, as in the tokenizers library; the caller tells the user. Empty for every ordinary text.
    std::vector<std::size_t> withoutToken;
};

/// Byte-level BPE, sentencepiece's BPE and Unigram. immutable, hence thread-safe.
///
/// Sources: a Hugging Face tokenizer.json, sentencepiece's tokenizer.model, and the tokenizer.ggml.* keys of a GGUF
/// file; they give the same ids for the same vocabulary. Pieces of tokenizer.json that are not understood (model type,
/// normalizer, pre-tokenizer, post-processor, decoder) and unknown tokenizer.ggml.model / .pre names are refused by
/// name (Unsupported).
class Tokenizer {
  public:
    virtual ~Tokenizer() = default;

    /// Ids of a UTF-8 text. BadInput with the byte offset where the text is not UTF-8, and for more than 2 GiB; Failed
    /// where a Split pattern of the vocabulary ran into PCRE2's limits.
    [[nodiscard]] virtual Result<Encoding> encode(std::string_view text, const EncodeOptions& options = {}) const = 0;
    /// Text of ids; special tokens are left out unless keepSpecial. A sequence that is cut inside a character yields
    /// the raw bytes. Usage for an id outside the vocabulary.
    [[nodiscard]] virtual Result<std::string> decode(std::span<const TokenId> ids, bool keepSpecial = false) const = 0;
    /// The same of ids that a model made, whose table may have more rows than the vocabulary has tokens: those that it
    /// does not have are left out, as the tokenizers library leaves them out, and counted.
    struct KnownText {
        std::string text;
        std::int64_t unknownTokens = 0;
    };
    [[nodiscard]] Result<KnownText> decodeKnown(std::span<const TokenId> ids, bool keepSpecial = false) const;
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

/// Builds the tokenizer; BadInput when a merge names a piece that does not exist, an id is out of range or doubled, a
/// pattern or a precompiled map is malformed, or no byte or character has a token. Unsupported when a step follows
/// ByteLevel, or ByteLevel stands before Unigram.
[[nodiscard]] Result<std::shared_ptr<const Tokenizer>> makeTokenizer(TokenizerSpec spec);

/// Reads tokenizer.json (and tokenizer_config.json / generation_config.json beside it for BOS and end ids). BadInput
/// when missing or malformed, Unsupported by name otherwise.
[[nodiscard]] Result<TokenizerSpec> readTokenizerJson(const std::filesystem::path& folder);

/// Reads sentencepiece's tokenizer.model, with added_tokens.json, tokenizer_config.json and generation_config.json
/// beside it where they are there. The ids are those of sentencepiece for text without added tokens. BadInput when
/// missing or damaged, Unsupported by name for other model types and tokenizer classes that renumber the pieces.
[[nodiscard]] Result<TokenizerSpec> readSentencePieceModel(const std::filesystem::path& folder);

/// tokenizer.json where the folder has one, else tokenizer.model; BadInput when it has neither.
[[nodiscard]] Result<TokenizerSpec> readTokenizerFiles(const std::filesystem::path& folder);

/// The tokenizer.ggml.* metadata of a GGUF file, already read by core/model/formats.
struct GgufVocabulary {
    std::string model;      ///< tokenizer.ggml.model; "gpt2" is byte-level BPE, "llama" sentencepiece's BPE
    std::string pre;        ///< tokenizer.ggml.pre; empty when the key is absent
    std::string modelName;  ///< general.name; llama.cpp takes the flags of Phi-3's added tokens from it
    std::vector<std::string> tokens;
    std::vector<std::string> merges;  ///< "left right"
    std::vector<float> scores;        ///< "llama": one for each token
    std::vector<std::int32_t>
        tokenTypes;  ///< 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte, or none
    std::int64_t bosId = -1, eosId = -1, eotId = -1, eomId = -1, unknownId = -1;  ///< −1 when the key is absent
    int addBos = -1, addEos = -1, addSpacePrefix = -1;                            ///< −1 when the key is absent
};

/// Unsupported for another model or an unknown or missing .pre (refused by name, with what is known). "default" and a
/// missing .pre of a "gpt2" vocabulary are refused: they are what llama.cpp's converter writes, or wrote, for a model
/// that it did not recognise, and llama.cpp's own guess for them degrades its results.
[[nodiscard]] Result<TokenizerSpec> specFromGguf(const GgufVocabulary& vocabulary);

}  // namespace lpes::text
