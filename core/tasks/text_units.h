#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lpes::tasks {

/// Byte at which character `index` (from 0, in code points, as Python counts) of a UTF-8 text begins; its size for the
/// index behind the last. Nothing when the text is shorter, or the index negative.
[[nodiscard]] std::optional<std::size_t> byteOfCharacter(std::string_view text, std::int64_t index);
/// The last byte at or before `byte` at which a character begins.
[[nodiscard]] std::size_t characterStart(std::string_view text, std::size_t byte);
[[nodiscard]] std::size_t characterCount(std::string_view text);
[[nodiscard]] bool isUtf8(std::string_view text);

/// Python's str.strip(), str.split()[0] (empty without a word) and len(str.split()): white space is what Python's
/// str.isspace says (Unicode's Zs and the bidirectional classes WS, B and S).
[[nodiscard]] std::string_view strippedAsPython(std::string_view text);
[[nodiscard]] std::string_view firstWordAsPython(std::string_view text);
[[nodiscard]] std::size_t wordCountAsPython(std::string_view text);

}  // namespace lpes::tasks
