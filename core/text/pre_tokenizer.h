#pragma once

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/mapped_text.h"
#include "core/text/split_pattern.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// A text and the words in it, in order, none empty, that the model does not cross.
struct WordList {
    MappedText text;
    std::vector<TextRange> words;
};

/// The pre-tokenizer steps of a TokenizerSpec, in order. immutable.
class PreTokenizer {
  public:
    /// BadInput or Unsupported as makeTokenizer says.
    [[nodiscard]] static Result<PreTokenizer> make(const TokenizerSpec& spec);

    /// What one encoding reuses from segment to segment. thread-compatible.
    struct Scratch {
        SplitPattern::Scratch pattern;
        std::vector<TextRange> matches, next;
    };

    /// Turns words (the whole text, to begin with) into finer ones. Failed where a pattern gave up; std::length_error
    /// beyond 2 GiB.
    [[nodiscard]] Result<void> run(WordList& list, Scratch& scratch) const;

    /// The last step is ByteLevel: the model is to read bytes, not characters.
    [[nodiscard]] bool isByteLevel() const { return m_byteLevel; }

  private:
    struct Step {
        TokenizerSpec::Step spec;
        std::vector<SplitPattern> pattern;  ///< none or one
    };
    PreTokenizer() = default;
    [[nodiscard]] static Result<void> runStep(const Step& step, WordList& list, Scratch& scratch);

    std::vector<Step> m_steps;
    bool m_byteLevel = false;
};

}  // namespace lpes::text
