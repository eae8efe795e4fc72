#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/text/tokenizer.h"

namespace lpes::text {

/// A token of a pre-token and the byte it begins at. id −1: that byte has no token.
struct WordToken {
    TokenId id = -1;
    std::uint32_t begin = 0;
};

/// Byte-pair merging: the pair of the lowest rank first, the leftmost of equals, until none is left
/// (Sennrich et al. 2016, arXiv 1508.07909, section 3.2). immutable.
class BpeMerger {
  public:
    /// BadInput when a merge names a piece that does not exist, two ids share a spelling, or no byte has a token.
    [[nodiscard]] static Result<BpeMerger> make(const TokenizerSpec& spec);

    /// Memory that merge() reuses. thread-compatible.
    class Scratch {
        friend class BpeMerger;
        struct Symbol {
            TokenId id;
            std::uint32_t begin, previous, next;
        };
        struct Candidate {
            std::uint32_t rank, position;
            TokenId merged;
        };
        std::vector<Symbol> symbols;
        std::vector<Candidate> heap;
    };

    /// Appends the tokens of a pre-token (not empty, below 2³² bytes), bytes without a token behind the others.
    /// O(n log n) in its length.
    void merge(std::string_view word, Scratch& scratch, std::vector<WordToken>& out) const;

  private:
    struct Pair {
        std::uint64_t key = kNoPair;  ///< left id << 32 | right id
        std::uint32_t rank = 0;
        TokenId merged = -1;
    };
    static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};

    BpeMerger() = default;
    [[nodiscard]] const Pair* find(TokenId left, TokenId right) const;
    void insert(const Pair& pair);
    void consider(Scratch& scratch, std::uint32_t position) const;

    std::array<TokenId, 256> m_byteToken{};
    std::vector<Pair> m_pairs;  ///< open addressing; the size is a power of two, at most half full
    std::unordered_map<std::string, TokenId> m_wholeWords;  ///< ignoreMerges: bytes → id
    bool m_ignoreMerges = false;
    TokenId m_unknownId = -1;
    bool m_fuseUnknown = false;
};

}  // namespace lpes::text
