#include <set>
#include <stdexcept>

#include "tests/support/tiny_model.h"

namespace lpes::test {

namespace {

std::string utf8(unsigned codePoint) {
    if (codePoint < 0x80) return {static_cast<char>(codePoint)};
    return {static_cast<char>(0xc0 | (codePoint >> 6)), static_cast<char>(0x80 | (codePoint & 0x3f))};
}

/// GPT-2's bytes_to_unicode: printable bytes stand for themselves, the others for U+0100 onwards.
std::vector<std::string> byteAlphabet() {
    std::vector<std::string> pieces;
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
        pieces.push_back(utf8(printable ? byte : next++));
    }
    return pieces;
}

}  // namespace

TinyVocabulary tinyVocabulary(int vocabSize) {
    constexpr int kFixed = 3 + 256;
    if (vocabSize < kFixed + 1 || vocabSize > 900) throw std::runtime_error("vocabSize is 260 … 900");
    TinyVocabulary vocabulary;
    vocabulary.pieces = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
    for (std::string& piece : byteAlphabet()) vocabulary.pieces.push_back(std::move(piece));

    const std::string space = "\xc4\xa0";  // Ġ, the byte 0x20
    std::vector<std::pair<std::string, std::string>> wanted = {{space, "t"},
                                                               {"h", "e"},
                                                               {space, "a"},
                                                               {"i", "n"},
                                                               {space + "t", "he"},
                                                               {"r", "e"},
                                                               {"o", "n"},
                                                               {space, "s"},
                                                               {space, "v"},
                                                               {"a", "l"},
                                                               {space + "v", "al"},
                                                               {"u", "e"},
                                                               {space + "val", "ue"},
                                                               {space, "k"},
                                                               {"e", "y"},
                                                               {space + "k", "ey"},
                                                               {"in", "g"},
                                                               {"e", "r"},
                                                               {space, "o"},
                                                               {"o", "r"},
                                                               {"a", "t"},
                                                               {space, "w"}};
    for (char left = 'a'; left <= 'z'; ++left) {
        for (char right = 'a'; right <= 'z'; ++right) wanted.emplace_back(std::string(1, left), std::string(1, right));
    }
    std::set<std::string> known(vocabulary.pieces.begin(), vocabulary.pieces.end());
    for (const auto& [left, right] : wanted) {
        if (vocabulary.pieces.size() == static_cast<std::size_t>(vocabSize)) break;
        if (!known.insert(left + right).second) continue;
        vocabulary.pieces.push_back(left + right);
        vocabulary.merges.emplace_back(left, right);
    }
    return vocabulary;
}

}  // namespace lpes::test
