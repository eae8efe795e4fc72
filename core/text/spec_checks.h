#pragma once

#include <string>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// Largest vocabulary that is believed: a larger id in a file is damage, not a model.
inline constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 22;

/// BadInput when an id (of an added token, BOS, end, unknown, around a text) is out of range or doubled, or an added
/// token and the vocabulary spell one id differently.
[[nodiscard]] Result<void> checkSpec(const TokenizerSpec& spec);

/// SHA-256 over what decides the ids of a text: pieces, merges or scores, added tokens by id, and the steps.
[[nodiscard]] std::string fingerprintOf(const TokenizerSpec& spec);

/// The last pre-tokenizer step is ByteLevel.
[[nodiscard]] bool endsInByteLevel(const TokenizerSpec& spec);

/// Makes special tokens of those added tokens that mark turns ("<|im_end|>", "<end_of_turn>", …), which files with
/// sentencepiece's kinds of pieces list as user-defined, so that ordinary text never becomes one: transformers does so
/// for Gemma, llama.cpp for every token that ends a turn.
void markTurnTokens(TokenizerSpec& spec);

/// Adds the special tokens that end a text by their spelling, and sorts and deduplicates endIds.
void completeEndIds(TokenizerSpec& spec);

}  // namespace lpes::text
