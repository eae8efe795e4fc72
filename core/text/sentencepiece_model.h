#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/text/sentencepiece_vocabulary.h"

namespace lpes::text {

/// What tokenizer.model (sentencepiece_model.proto, ModelProto) says. It is read here and not by the sentencepiece
/// library, whose interface gives neither the normalizer nor the kinds of all pieces: with them the steps of this
/// module give the same ids, and offsets and added tokens too.
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
