#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/model/session_values.h"

namespace lpes::model {

/// Tokens that go through the layers: a sequence, or what is new of it.
struct PackedPrompt {
    std::span<const text::TokenId> ids;
    int firstPosition = 0;  ///< of ids.front(): how many tokens of the sequence are known already
    /// The prompt ahead of it in the pass whose sequence begins with the same `firstPosition` tokens: their keys and
    /// values are taken from there. −1: from the cache, or there are none.
    std::int64_t continues = -1;
    std::size_t slot = 0;  ///< of the cache, where there is one

    /// Tokens of the sequence up to its end.
    [[nodiscard]] std::int64_t length() const { return firstPosition + std::ssize(ids); }
};

/// Fewer common tokens than these are computed again: what a further part of a pass costs is more than they do.
inline constexpr std::size_t kFewestSharedTokens = 16;

/// Sequences of one pass, of which every common beginning is computed once. In the order of their ids a sequence has
/// more in common with the one ahead of it than with any other ahead of it, so that one look back finds all. The order
/// depends on the sequences alone. immutable.
class SharedPrefixes {
  public:
    /// Every sequence for itself, in the given order. `sequences` are not empty and outlive it, here and below.
    [[nodiscard]] static SharedPrefixes none(std::span<const std::vector<text::TokenId>> sequences);
    /// `kinds` [sequences]: sequences of different kinds (other frequencies) have nothing in common.
    [[nodiscard]] static SharedPrefixes find(std::span<const std::vector<text::TokenId>> sequences,
                                             std::span<const std::vector<int>> kinds);

    /// What a sequence has in common with one that is computed before it.
    struct Beginning {
        std::size_t sequence = 0;
        std::size_t tokens = 0;  ///< 0: nothing
        std::size_t ahead = 0;   ///< a sequence that begins with them
    };
    /// Of every sequence, in the order in which they are computed.
    [[nodiscard]] std::span<const Beginning> beginnings() const { return m_beginnings; }
    /// What has to be computed; a sequence that is the beginning of another, or the same, has no prompt of its own.
    [[nodiscard]] std::span<const PackedPrompt> prompts() const { return m_prompts; }
    /// Rows of all prompts together, and of their keys: those of the shared beginnings stand with each prompt.
    [[nodiscard]] std::int64_t rows() const { return m_rows; }
    [[nodiscard]] std::int64_t keys() const;
    /// The row among them of token `position` of a sequence.
    [[nodiscard]] std::int64_t row(std::size_t sequence, std::size_t position) const;

  private:
    /// Where a sequence's tokens are computed.
    struct Place {
        std::size_t known = 0;   ///< tokens that `ahead` has computed
        std::size_t ahead = 0;   ///< a sequence
        std::size_t prompt = 0;  ///< that has all of the sequence's keys
        std::int64_t begin = 0;  ///< row of token `known`
    };
    void add(const Beginning& beginning, std::span<const text::TokenId> ids);

    std::vector<Beginning> m_beginnings;
    std::vector<PackedPrompt> m_prompts;
    std::vector<Place> m_places;  ///< [sequences]
    std::int64_t m_rows = 0;
};

/// By which frequencies each kind of layer rotates a sequence of that length (rope::lengthVariant).
[[nodiscard]] std::vector<int> lengthVariants(const PositionMethod& method, const rope::MethodModel& model,
                                              std::size_t length);

/// What sequences of one pass share where the method allows it; nothing unless they shall.
[[nodiscard]] SharedPrefixes sharedPrefixes(std::span<const std::vector<text::TokenId>> sequences,
                                            const PositionMethod& method, const rope::MethodModel& model, bool share);

/// What a pass reads of prompts that it scores: the last answer id is predicted, not read.
[[nodiscard]] std::vector<std::vector<text::TokenId>> scoredSequences(std::span<const ScoredPrompt> batch);

}  // namespace lpes::model
