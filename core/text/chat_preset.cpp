#include "core/text/chat_preset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/unicode.h"

namespace lpes::text {

namespace {

// Sources, all read as one conversation whose first turn may be the system's: ChatML, the template of Qwen 2 without
// its default system text; Gemma 3's template; the templates of Llama 2 and Llama 3 as published with the models; the
// instruction format of Mistral 7B Instruct v0.1 and v0.2, with the system text where the later template puts it; the
// prompt format of Stable Beluga's model card; Vicuna v1.1 as FastChat writes it (ADD_COLON_TWO).
constexpr std::array<ChatPreset, 7> kPresets = {{
    {.name = "chatml",
     .bos = false,
     .trims = false,
     .systemInFirstTurn = false,
     .defaultSystem = "",
     .systemBefore = "<|im_start|>system\n",
     .systemBehind = "<|im_end|>\n",
     .userBefore = "<|im_start|>user\n",
     .userBehind = "<|im_end|>\n",
     .assistantBefore = "<|im_start|>assistant\n",
     .assistantBehind = "<|im_end|>\n",
     .laterUserBefore = "<|im_start|>user\n",
     .generation = "<|im_start|>assistant\n",
     .endToken = "<|im_end|>",
     .tokens = "<|im_start|> <|im_end|>"},
    {.name = "gemma",
     .bos = true,
     .trims = true,
     .systemInFirstTurn = true,
     .defaultSystem = "",
     .systemBefore = "",
     .systemBehind = "\n\n",
     .userBefore = "<start_of_turn>user\n",
     .userBehind = "<end_of_turn>\n",
     .assistantBefore = "<start_of_turn>model\n",
     .assistantBehind = "<end_of_turn>\n",
     .laterUserBefore = "<start_of_turn>user\n",
     .generation = "<start_of_turn>model\n",
     .endToken = "<end_of_turn>",
     .tokens = "<start_of_turn> <end_of_turn>"},
    {.name = "llama-2",
     .bos = true,
     .trims = true,
     .systemInFirstTurn = true,
     .defaultSystem = "",
     .systemBefore = "<<SYS>>\n",
     .systemBehind = "\n<</SYS>>\n\n",
     .userBefore = "[INST] ",
     .userBehind = " [/INST]",
     .assistantBefore = " ",
     .assistantBehind = " </s>",
     .laterUserBefore = "<s>[INST] ",
     .generation = "",
     .endToken = "</s>",
     .tokens = "<s> </s>"},
    {.name = "llama-3",
     .bos = true,
     .trims = true,
     .systemInFirstTurn = false,
     .defaultSystem = "",
     .systemBefore = "<|start_header_id|>system<|end_header_id|>\n\n",
     .systemBehind = "<|eot_id|>",
     .userBefore = "<|start_header_id|>user<|end_header_id|>\n\n",
     .userBehind = "<|eot_id|>",
     .assistantBefore = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .assistantBehind = "<|eot_id|>",
     .laterUserBefore = "<|start_header_id|>user<|end_header_id|>\n\n",
     .generation = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .endToken = "<|eot_id|>",
     .tokens = "<|start_header_id|> <|end_header_id|> <|eot_id|>"},
    {.name = "mistral",
     .bos = true,
     .trims = false,
     .systemInFirstTurn = true,
     .defaultSystem = "",
     .systemBefore = "",
     .systemBehind = "\n\n",
     .userBefore = "[INST] ",
     .userBehind = " [/INST]",
     .assistantBefore = "",
     .assistantBehind = "</s>",
     .laterUserBefore = "[INST] ",
     .generation = "",
     .endToken = "</s>",
     .tokens = "</s>"},
    {.name = "stablebeluga",
     .bos = true,
     .trims = false,
     .systemInFirstTurn = false,
     .defaultSystem = "",
     .systemBefore = "### System:\n",
     .systemBehind = "\n\n",
     .userBefore = "### User:\n",
     .userBehind = "\n\n",
     .assistantBefore = "### Assistant:\n",
     .assistantBehind = "\n\n",
     .laterUserBefore = "### User:\n",
     .generation = "### Assistant:\n",
     .endToken = "</s>",
     .tokens = "</s>"},
    {.name = "vicuna",
     .bos = true,
     .trims = false,
     .systemInFirstTurn = false,
     .defaultSystem = "A chat between a curious user and an artificial intelligence assistant. The assistant gives "
                      "helpful, detailed, and polite answers to the user's questions.",
     .systemBefore = "",
     .systemBehind = " ",
     .userBefore = "USER: ",
     .userBehind = " ",
     .assistantBefore = "ASSISTANT: ",
     .assistantBehind = "</s>",
     .laterUserBefore = "USER: ",
     .generation = "ASSISTANT:",
     .endToken = "</s>",
     .tokens = "</s>"},
}};

std::string_view trimmed(std::string_view text, bool left) {
    while (left && !text.empty() && isWhiteSpace(codePointAt(text, 0).value)) {
        text.remove_prefix(codePointAt(text, 0).size);
    }
    while (!text.empty() && isWhiteSpace(codePointBefore(text, text.size()).value)) {
        text.remove_suffix(codePointBefore(text, text.size()).size);
    }
    return text;
}

class Writer {
  public:
    explicit Writer(ChatPrompt& prompt) : m_prompt(prompt) {}

    void marker(std::string_view text) {
        if (text.empty()) return;
        const std::size_t begin = m_prompt.text.size();
        m_prompt.text += text;
        if (!m_prompt.markers.empty() && m_prompt.markers.back().end == begin) {
            m_prompt.markers.back().end = m_prompt.text.size();
        } else {
            m_prompt.markers.push_back({begin, m_prompt.text.size()});
        }
    }
    void said(std::string_view text) { m_prompt.text += text; }

  private:
    ChatPrompt& m_prompt;
};

Result<void> checkTurns(std::span<const ChatTurn> turns, std::size_t first) {
    const bool odd = turns.size() > first && (turns.size() - first) % 2 == 1;
    for (std::size_t k = first; k < turns.size(); ++k) {
        const ChatRole expected = (k - first) % 2 == 0 ? ChatRole::User : ChatRole::Assistant;
        if (turns[k].role != expected) {
            return fail(ErrorCode::Usage, fmt::format("turn {} of the conversation is out of order; give an optional "
                                                      "system turn, then user and assistant in alternation",
                                                      k + 1));
        }
    }
    if (odd) return {};
    return fail(ErrorCode::Usage, "the conversation does not end in a user's turn; add what is to be answered");
}

std::vector<std::string> tokensOf(const ChatPreset& preset) {
    std::vector<std::string> tokens;
    for (std::string_view rest = preset.tokens; !rest.empty();) {
        const std::size_t space = std::min(rest.find(' '), rest.size());
        tokens.emplace_back(rest.substr(0, space));
        rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    return tokens;
}

Result<void> requireTokens(const Tokenizer& tokenizer, std::span<const std::string> tokens, std::string_view preset) {
    for (const std::string& token : tokens) {
        const auto id = specialTokenId(tokenizer, token);
        if (!id) return fail(id.error());
        if (*id < 0) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("the model's vocabulary has no token '{}', which the chat preset {} needs; take "
                                    "another preset, or none, for this model",
                                    token, preset));
        }
    }
    return {};
}

}  // namespace

Result<void> checkChatPreset(const Tokenizer& tokenizer, const ChatPreset& preset) {
    return requireTokens(tokenizer, tokensOf(preset), preset.name);
}

std::string chatPresetNames() {
    std::string names;
    for (const ChatPreset& preset : kPresets) names += (names.empty() ? "" : ", ") + std::string(preset.name);
    return names;
}

Result<const ChatPreset*> findChatPreset(std::string_view name) {
    const auto at = std::find_if(kPresets.begin(), kPresets.end(), [&](const auto& one) { return one.name == name; });
    if (at != kPresets.end()) return &*at;
    return fail(ErrorCode::Usage, fmt::format("there is no chat preset '{}'; give one of {}, or {}", name,
                                              chatPresetNames(), kNoChatPreset));
}

Result<ChatPrompt> renderChat(const ChatPreset& preset, std::span<const ChatTurn> turns) {
    const bool hasSystem = !turns.empty() && turns.front().role == ChatRole::System;
    const std::size_t first = hasSystem ? 1 : 0;
    if (const auto order = checkTurns(turns, first); !order) return fail(order.error());

    ChatPrompt prompt;
    prompt.bos = preset.bos;
    prompt.preset = preset.name;
    prompt.endToken = preset.endToken;
    prompt.tokens = tokensOf(preset);
    Writer writer(prompt);
    const bool system = hasSystem || !preset.defaultSystem.empty();
    const auto writeSystem = [&] {
        writer.marker(preset.systemBefore);
        if (!hasSystem) {
            writer.marker(preset.defaultSystem);
        } else {
            const std::string_view text = turns.front().text;
            // Only templates that give the system a turn of its own trim it.
            writer.said(preset.trims && !preset.systemInFirstTurn ? trimmed(text, true) : text);
        }
        writer.marker(preset.systemBehind);
    };
    if (system && !preset.systemInFirstTurn) writeSystem();
    for (std::size_t k = first; k < turns.size(); ++k) {
        const bool user = turns[k].role == ChatRole::User;
        const bool withSystem = k == first && system && preset.systemInFirstTurn;
        writer.marker(!user ? preset.assistantBefore : k == first ? preset.userBefore : preset.laterUserBefore);
        if (withSystem) writeSystem();
        // Llama 2's template trims the system's frame and the user's text as one.
        const bool left = !(withSystem && !preset.systemBefore.empty());
        writer.said(preset.trims ? trimmed(turns[k].text, left) : std::string_view(turns[k].text));
        writer.marker(user ? preset.userBehind : preset.assistantBehind);
    }
    writer.marker(preset.generation);
    return prompt;
}

Result<TokenId> specialTokenId(const Tokenizer& tokenizer, const std::string& spelling) {
    const auto encoding = tokenizer.encode(spelling, {true, false});
    if (!encoding) return fail(encoding.error());
    const bool one = encoding->ids.size() == 1 && tokenizer.piece(encoding->ids.front()) == spelling;
    return one ? encoding->ids.front() : TokenId{-1};
}

Result<Encoding> encodeChat(const Tokenizer& tokenizer, const ChatPrompt& prompt) {
    if (auto known = requireTokens(tokenizer, prompt.tokens, prompt.preset); !known) return fail(known.error());
    EncodeOptions options;
    options.parseSpecial = true;
    options.specialRanges = prompt.markers;
    auto encoding = tokenizer.encode(prompt.text, options);
    if (!encoding) return fail(encoding.error());
    if (prompt.bos && tokenizer.bosId() >= 0) prependBos(*encoding, tokenizer.bosId());
    return encoding;
}

void prependBos(Encoding& encoding, TokenId bos) {
    encoding.bosAdded = true;
    encoding.ids.insert(encoding.ids.begin(), bos);
    encoding.byteBegin.insert(encoding.byteBegin.begin(), 0);
}

}  // namespace lpes::text
