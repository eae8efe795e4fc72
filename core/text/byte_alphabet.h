#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lpes::text {

/// The byte-level alphabet of GPT-2 (bytes_to_unicode in its encoder.py): every byte as one printable character, so
/// that vocabularies can be written as text. 0x21–0x7E, 0xA1–0xAC and 0xAE–0xFF stand for themselves, the other 68
/// bytes for U+0100, U+0101, … in order: a space is "Ġ" (U+0120), a line feed "Ċ".
[[nodiscard]] std::string bytesToAlphabet(std::string_view bytes);

/// The bytes that a spelling stands for; nothing where it holds a character outside the alphabet or is not UTF-8.
[[nodiscard]] std::optional<std::string> alphabetToBytes(std::string_view piece);

}  // namespace lpes::text
