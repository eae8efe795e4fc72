#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/text/normalizer.h"
#include "core/text/split_pattern.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// Finds the added tokens in a text: leftmost, longest, with the lstrip, rstrip and single-word rules of the tokenizers
/// library (added_vocabulary.rs, find_matches). immutable.
class AddedTokens {
  public:
    /// Those of spec.added that are looked for in the text as it is (normalizer null), or in the normalised text, with
    /// their content normalised too. Failed where a pattern of the normalizer gave up.
    [[nodiscard]] static Result<AddedTokens> make(const TokenizerSpec& spec, const Normalizer* normalizer);

    struct Part {
        TextRange range;
        TokenId id = -1;  ///< −1: ordinary text
    };
    /// The parts of a text in order, none empty. A special token counts as ordinary text unless `parse`, which is given
    /// its place, says that it is one.
    void split(std::string_view text, const std::function<bool(TextRange)>& parse, std::vector<Part>& out) const;

  private:
    AddedTokens() = default;
    [[nodiscard]] const TokenizerSpec::Added* longestAt(std::string_view text, std::size_t at, std::size_t& size) const;

    std::unordered_map<std::string, TokenizerSpec::Added> m_tokens;
    /// Lengths in bytes, longest first, of the tokens that begin with a byte.
    std::array<std::vector<std::size_t>, 256> m_sizes;
};

}  // namespace lpes::text
