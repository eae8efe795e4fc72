#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"
#include "core/text/word_token.h"

namespace lpes::text {

/// Unigram language model: of all ways to cut a word into pieces the one with the highest sum of scores
/// (Kudo 2018, arXiv 1804.10959, section 3.2), found by Viterbi's algorithm. A character that no piece of one
/// character spells costs 10 below the lowest score. immutable.
class UnigramModel {
  public:
    /// BadInput when there is no score for a piece, two ids share a spelling, or nothing can be made.
    [[nodiscard]] static Result<UnigramModel> make(const TokenizerSpec& spec);

    /// Memory that tokenize() reuses. thread-compatible.
    class Scratch {
        friend class UnigramModel;
        struct Node {
            double score = 0.0;
            std::uint32_t begin = 0;
            TokenId id = -1;
            bool reached = false;
        };
        std::vector<Node> best;           ///< by end of the piece
        std::vector<std::uint32_t> ends;  ///< of the best path, backwards
    };

    /// Appends the tokens of a word (not empty, below 2³¹ bytes), bytes without a token behind the others. In time
    /// proportional to the word's length times the longest piece.
    void tokenize(std::string_view word, Scratch& scratch, std::vector<WordToken>& out) const;

  private:
    struct Piece {
        std::string text;
        TokenId id;
        double score;
    };
    UnigramModel() = default;
    void putUnknown(std::string_view word, std::size_t begin, std::size_t end, std::vector<WordToken>& out,
                    std::vector<WordToken>& missing) const;

    std::vector<Piece> m_pieces;                   ///< sorted by text
    std::array<std::uint32_t, 257> m_firstByte{};  ///< first byte → its pieces
    std::array<TokenId, 256> m_byteToken{};        ///< byteFallback: all 256, or −1
    double m_unknownScore = 0.0;
    TokenId m_unknownId = -1;
};

}  // namespace lpes::text
