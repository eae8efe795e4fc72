#pragma once

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/charsmap.h"
#include "core/text/mapped_text.h"
#include "core/text/split_pattern.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// The normalizer steps of a TokenizerSpec, in order. immutable.
class Normalizer {
  public:
    /// BadInput for a damaged charsmap or pattern, Unsupported for a pattern that can match nothing.
    [[nodiscard]] static Result<Normalizer> make(const TokenizerSpec& spec);

    /// A segment (valid UTF-8) that begins at byte `begin` of the user's text; a view of it where there are no steps.
    /// Failed where a pattern gave up; std::length_error beyond 2 GiB.
    [[nodiscard]] Result<MappedText> run(std::string_view segment, std::size_t begin,
                                         SplitPattern::Scratch& scratch) const;

  private:
    struct Step {
        TokenizerSpec::NormalizerStep spec;
        std::vector<SplitPattern> pattern;  ///< none or one
        std::vector<Charsmap> charsmap;     ///< none or one
    };
    Normalizer() = default;
    std::vector<Step> m_steps;
};

}  // namespace lpes::text
