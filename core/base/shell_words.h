#pragma once

#include <string>
#include <string_view>

namespace lpes {

/// `text` as one word of a POSIX shell, whatever it holds: as it is where nothing in it has a meaning to a shell, else
/// between single quotes. Texts with a NUL byte cannot be words of any shell.
[[nodiscard]] std::string shellWord(std::string_view text);

}  // namespace lpes
