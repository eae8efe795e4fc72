#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lpes::text {

/// A text in Unicode normalisation form C that remembers where its parts come from. immutable.
class NfcText {
  public:
    /// `original` is valid UTF-8. Linear in its length but for the sorting of marks (n log n).
    explicit NfcText(std::string_view original);

    [[nodiscard]] const std::string& text() const { return m_text; }
    /// Offset in the original of the byte at `at` (≤ size) of the normalised text: exact where normalising changed
    /// nothing; inside a changed cluster (a character with its marks, a Hangul syllable) the cluster's begin.
    [[nodiscard]] std::size_t originalOffset(std::size_t at) const;

  private:
    struct Part {
        std::size_t begin = 0;          ///< in m_text
        std::size_t originalBegin = 0;  ///< in the original
        bool verbatim = true;
    };
    void addPart(std::size_t originalBegin, bool verbatim);

    std::string m_text;
    std::vector<Part> m_parts;
};

}  // namespace lpes::text
