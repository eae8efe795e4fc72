#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// sentencepiece's kinds of pieces (sentencepiece_model.proto), which tokenizer.ggml.token_type shares.
enum class PieceType : std::int32_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

/// U+2581, which stands for a space in sentencepiece's pieces.
extern const std::string_view kMetaspace;

/// A vocabulary with scores, whatever file it comes from. The three lists have one length.
struct ScoredVocabulary {
    std::vector<std::string> pieces;
    std::vector<float> scores;
    std::vector<std::int32_t> types;
    /// User-defined pieces are looked for in the text with its spaces escaped, as sentencepiece does, or in the text as
    /// it is, as llama.cpp does.
    bool userDefinedInNormalForm = false;
};

/// sentencepiece's BPE (of two neighbours whose concatenation is a piece, those of the highest score are merged first)
/// or Unigram: pieces, merges or scores, byte fallback, added tokens and unknown id of `spec`. BadInput for a score
/// that is not finite, a piece that is not UTF-8 or too long to be believed.
[[nodiscard]] Result<void> readScoredVocabulary(ScoredVocabulary vocabulary, TokenizerSpec& spec);

/// The decoder of sentencepiece: spaces back, bytes back, and the space in front off where one was put there.
void putSentencePieceDecoder(bool prefixed, TokenizerSpec& spec);

}  // namespace lpes::text
