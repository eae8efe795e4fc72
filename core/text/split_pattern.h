#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/text_range.h"

namespace lpes::text {

/// A compiled PCRE2 pattern (UTF, UCP, just-in-time compiled where the machine allows). immutable; what a match needs
/// lives in a Scratch that belongs to the caller.
class SplitPattern {
  public:
    /// BadInput, with PCRE2's words, for a pattern that does not compile; Unsupported for one that can match nothing.
    [[nodiscard]] static Result<SplitPattern> compile(const std::string& pattern);
    ~SplitPattern();
    SplitPattern(SplitPattern&&) noexcept;
    SplitPattern& operator=(SplitPattern&&) noexcept;

    /// Match data and machine stack of one caller. thread-compatible.
    class Scratch {
      public:
        Scratch();
        ~Scratch();
        Scratch(const Scratch&) = delete;
        Scratch& operator=(const Scratch&) = delete;

      private:
        friend class SplitPattern;
        struct Impl;
        std::unique_ptr<Impl> m_impl;
    };

    /// The matches in order, none empty, appended. `text` is valid UTF-8 and is matched on its own: look-around sees
    /// nothing outside it. Failed when PCRE2 gives up (match or stack limit). `newCharacters`: whether the text holds
    /// characters newer than PCRE2's tables (holdsNewCharacters).
    [[nodiscard]] Result<void> matches(std::string_view text, bool newCharacters, Scratch& scratch,
                                       std::vector<TextRange>& out) const;

  private:
    struct Impl;
    explicit SplitPattern(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

}  // namespace lpes::text
