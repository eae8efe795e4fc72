#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/text/sentencepiece_vocabulary.h"

namespace lpes::text {

/// What tokenizer.model (sentencepiece_model.proto, ModelProto) says. Read here and not by the sentencepiece library:
/// its interface does not give the normalizer, and it follows the trie of a damaged map outside its memory.
struct SentencePieceModel {
    ScoredVocabulary vocabulary;
    std::int64_t modelType = 1;  ///< 1 Unigram, 2 BPE, 3 word, 4 character
    bool byteFallback = false, spacesAsSuffix = false;
    std::string charsmap;
    bool addDummyPrefix = true, removeExtraSpaces = true, escapeSpaces = true;
    std::string bosPiece = "<s>", eosPiece = "</s>";
};

/// BadInput for bytes that are no such message, or one without pieces.
[[nodiscard]] Result<SentencePieceModel> parseSentencePieceModel(std::string_view bytes);

}  // namespace lpes::text
