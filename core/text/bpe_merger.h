#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"
#include "core/text/word_token.h"

namespace lpes::text {

/// Byte-pair merging: the pair of the lowest rank first, the leftmost of equals, until none is left
/// (Sennrich et al. 2016, arXiv 1508.07909, section 3.2). What is merged is bytes, each a piece of one character of the
/// byte-level alphabet, or characters; a character without a piece becomes its bytes (byteFallback) or the unknown
/// token. immutable.
class BpeMerger {
  public:
    /// BadInput when a merge names a piece that does not exist, two ids share a spelling, or no symbol has a token.
    [[nodiscard]] static Result<BpeMerger> make(const TokenizerSpec& spec, bool byteLevel);

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
        std::vector<WordToken> missing;
        bool afterUnknown = false;
    };

    /// Appends the tokens of a word (not empty, below 2³¹ bytes), bytes without a token behind the others.
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
    [[nodiscard]] Result<void> readSymbols(const std::unordered_map<std::string_view, TokenId>& ids,
                                           const TokenizerSpec& spec);
    [[nodiscard]] Result<void> readMerges(const std::unordered_map<std::string_view, TokenId>& ids,
                                          const TokenizerSpec& spec);
    void cutIntoBytes(std::string_view word, Scratch& scratch) const;
    void cutIntoCharacters(std::string_view word, Scratch& scratch) const;
    void putSymbol(TokenId id, std::size_t begin, Scratch& scratch) const;
    void putUnknown(std::size_t begin, std::size_t end, Scratch& scratch) const;
    [[nodiscard]] const Pair* find(TokenId left, TokenId right) const;
    void insert(const Pair& pair);
    void consider(Scratch& scratch, std::uint32_t position) const;

    bool m_byteLevel = true;
    std::array<TokenId, 256> m_byteToken{};                  ///< byte level: of each byte; else byteFallback's, or −1
    std::unordered_map<char32_t, TokenId> m_characterToken;  ///< not byte level
    std::vector<Pair> m_pairs;  ///< open addressing; the size is a power of two, at most half full
    std::unordered_map<std::string, TokenId> m_wholeWords;  ///< ignoreMerges: text → id
    bool m_ignoreMerges = false;
    TokenId m_unknownId = -1;
    bool m_fuseUnknown = false;
};

}  // namespace lpes::text
