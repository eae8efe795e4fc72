#pragma once

#include <vector>

#include "core/text/split_pattern.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// The pieces of [0, size) that a split leaves, appended with `offset` added, none empty: the tokenizers library's
/// SplitDelimiterBehavior (normalizer.rs) with the matches (in order, none empty) as delimiters, or, with `invert`, the
/// text between them.
void splitAtMatches(const std::vector<TextRange>& matches, std::size_t size, std::size_t offset,
                    TokenizerSpec::Step::Behavior behavior, bool invert, std::vector<TextRange>& out);

}  // namespace lpes::text
