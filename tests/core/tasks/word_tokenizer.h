#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizer.h"

namespace lpes::tasks::testing {

/// A token for every word of ASCII letters and every other character, as make_task_prompts.py counts them; one in front
/// when asked.
class WordTokenizer final : public text::Tokenizer {
  public:
    Result<text::Encoding> encode(std::string_view text, const text::EncodeOptions& options) const override {
        const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        text::Encoding encoding;
        if (options.addSpecial) encoding.ids.push_back(0);
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool inside = (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
            if (!inside && (!isLetter(text[i]) || i == 0 || !isLetter(text[i - 1]))) encoding.ids.push_back(1);
        }
        encoding.byteBegin.resize(encoding.ids.size());
        return encoding;
    }
    Result<std::string> decode(std::span<const text::TokenId>, bool) const override { return ""; }
    std::string piece(text::TokenId) const override { return ""; }
    std::size_t vocabularySize() const override { return 2; }
    text::TokenId bosId() const override { return 0; }
    const std::vector<text::TokenId>& endIds() const override { return m_none; }
    const std::string& fingerprint() const override { return m_text; }
    std::string description() const override { return m_text; }

  private:
    std::vector<text::TokenId> m_none;
    std::string m_text = "words";
};

}  // namespace lpes::tasks::testing
