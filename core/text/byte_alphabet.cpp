#include "core/text/byte_alphabet.h"

#include <array>

#include "core/text/unicode.h"

namespace lpes::text {

namespace {

constexpr std::size_t kAlphabetEnd = 0x100 + 68;

struct Tables {
    std::array<char32_t, 256> characterOf{};
    std::array<int, kAlphabetEnd> byteOf{};
};

constexpr Tables makeTables() {
    Tables tables;
    tables.byteOf.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        const char32_t character = printable ? static_cast<char32_t>(byte) : next++;
        tables.characterOf[byte] = character;
        tables.byteOf[character] = static_cast<int>(byte);
    }
    return tables;
}

constexpr Tables kTables = makeTables();

}  // namespace

std::string bytesToAlphabet(std::string_view bytes) {
    std::string piece;
    piece.reserve(bytes.size() * 2);
    for (const char byte : bytes) appendUtf8(piece, kTables.characterOf[static_cast<unsigned char>(byte)]);
    return piece;
}

std::optional<std::string> alphabetToBytes(std::string_view piece) {
    if (firstInvalidUtf8(piece)) return std::nullopt;
    std::string bytes;
    bytes.reserve(piece.size());
    for (std::size_t at = 0; at < piece.size();) {
        const CodePoint c = codePointAt(piece, at);
        if (c.value >= kAlphabetEnd || kTables.byteOf[c.value] < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(kTables.byteOf[c.value]));
        at += c.size;
    }
    return bytes;
}

}  // namespace lpes::text
