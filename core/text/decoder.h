#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/text/split_pattern.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// The decoder steps of a TokenizerSpec, in order: pieces of a sequence → its text. immutable.
class Decoder {
  public:
    /// BadInput or Unsupported for a pattern, as SplitPattern::compile.
    [[nodiscard]] static Result<Decoder> make(const TokenizerSpec& spec, bool byteLevel);

    /// The text; bytes that are not UTF-8 where the sequence was cut inside a character. Failed where a pattern gave
    /// up.
    [[nodiscard]] Result<std::string> run(std::vector<std::string> pieces) const;
    /// The text of a sequence is that of its pieces, each turned from the byte-level alphabet into bytes.
    [[nodiscard]] bool isByteLevelAlone() const;

  private:
    struct Step {
        TokenizerSpec::DecoderStep spec;
        std::vector<SplitPattern> pattern;  ///< none or one
    };
    Decoder() = default;
    std::vector<Step> m_steps;
};

}  // namespace lpes::text
