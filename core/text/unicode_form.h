#pragma once

#include "core/text/mapped_text.h"

namespace lpes::text {

/// The normalisation forms of Unicode Standard Annex 15.
enum class UnicodeForm { Nfc, Nfd, Nfkc, Nfkd };

/// `text` (valid UTF-8) in a normalisation form. Bytes that normalising did not change keep their origins; those of a
/// changed cluster (a character with its marks, a Hangul syllable) all have the cluster's begin. Linear in the length
/// but for the sorting of marks (n log n).
[[nodiscard]] MappedText inForm(const MappedText& text, UnicodeForm form);

}  // namespace lpes::text
