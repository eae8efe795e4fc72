#pragma once

#include <array>
#include <cstdint>

#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// A token of a word and the byte it begins at. id −1: that byte has no token.
struct WordToken {
    TokenId id = -1;
    std::uint32_t begin = 0;
};

/// The ids of the pieces "<0x00>" … "<0xFF>" (sentencepiece's byte fallback); −1 where there is none.
[[nodiscard]] std::array<TokenId, 256> byteTokens(const TokenizerSpec& spec);

/// "<0x0A>" for 10.
[[nodiscard]] std::string bytePiece(unsigned char byte);

}  // namespace lpes::text
