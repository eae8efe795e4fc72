#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/split_pattern.h"
#include "core/text/tokenizer.h"

namespace lpes::text {

/// A stretch of text that byte-pair merging does not cross.
struct PreToken {
    std::string_view bytes;
    std::size_t begin = 0;  ///< offset of bytes[0] in the segment (of bytes[1] where a space was put in front)
    bool spaceAdded = false;
};

/// The steps of TokenizerSpec, in order. immutable.
class PreTokenizer {
  public:
    /// BadInput or Unsupported as makeTokenizer says.
    [[nodiscard]] static Result<PreTokenizer> make(const TokenizerSpec& spec);

    /// What one encoding needs and may reuse from segment to segment; PreToken::bytes may point into `arena`.
    struct Scratch {
        SplitPattern::Scratch pattern;
        std::vector<TextRange> pieces, next;
        std::deque<std::string> arena;
    };

    /// Appends the pre-tokens of a segment of valid UTF-8, in order. Failed where a pattern gave up.
    [[nodiscard]] Result<void> run(std::string_view segment, Scratch& scratch, std::vector<PreToken>& out) const;

  private:
    struct Step {
        TokenizerSpec::Step::Kind kind;
        std::vector<SplitPattern> pattern;  ///< none or one
    };
    PreTokenizer() = default;
    [[nodiscard]] Result<void> byteLevel(std::string_view segment, const Step& step, bool newCharacters,
                                         Scratch& scratch, std::vector<PreToken>& out) const;

    std::vector<Step> m_steps;
    bool m_addPrefixSpace = false;
};

}  // namespace lpes::text
