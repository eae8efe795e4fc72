#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/text/text_range.h"
#include "core/text/tokenizer.h"

namespace lpes::text {

/// How a family writes a conversation: the texts around the turns, as in its published chat template.
struct ChatPreset {
    std::string_view name;
    bool bos;                        ///< a beginning-of-sequence token in front, where the vocabulary has one
    bool trims;                      ///< white space at the ends of what people say is dropped
    bool systemInFirstTurn;          ///< the system text stands inside the first user turn
    std::string_view defaultSystem;  ///< where the conversation has none; empty: no system turn then
    std::string_view systemBefore, systemBehind;
    std::string_view userBefore, userBehind;
    std::string_view assistantBefore, assistantBehind;
    std::string_view laterUserBefore;  ///< of all user turns but the first
    std::string_view generation;       ///< what the model goes on from
    std::string_view endToken;         ///< spelling of the token that ends an answer
    std::string_view tokens;           ///< the special tokens of the texts, separated by spaces
};

enum class ChatRole { System, User, Assistant };
struct ChatTurn {
    ChatRole role = ChatRole::User;
    std::string text;
};

/// A conversation as one text, to be tokenized with special tokens parsed in `markers` alone.
struct ChatPrompt {
    std::string text;
    std::vector<TextRange> markers;  ///< what the preset wrote, not the people
    bool bos = false;
    std::string preset, endToken;
    std::vector<std::string> tokens;
};

/// How users spell that there is none.
inline constexpr std::string_view kNoChatPreset = "none";

/// "chatml, gemma, …".
[[nodiscard]] std::string chatPresetNames();

/// Usage, with the names that there are, for another one.
[[nodiscard]] Result<const ChatPreset*> findChatPreset(std::string_view name);

/// Unsupported, with the token named, where the vocabulary lacks a special token that the preset needs.
[[nodiscard]] Result<void> checkChatPreset(const Tokenizer& tokenizer, const ChatPreset& preset);

/// The prompt for the answer to the last turn. Usage unless the turns are an optional system turn, then user and
/// assistant in alternation, a user turn last.
[[nodiscard]] Result<ChatPrompt> renderChat(const ChatPreset& preset, std::span<const ChatTurn> turns);

/// Its ids. Nothing is put behind them, whatever the tokenizer's files say. Unsupported as checkChatPreset.
[[nodiscard]] Result<Encoding> encodeChat(const Tokenizer& tokenizer, const ChatPrompt& prompt);

/// Puts a beginning-of-sequence token in front of a text's ids.
void prependBos(Encoding& encoding, TokenId bos);

/// The id of a special token by its spelling; −1 where the vocabulary does not have it.
[[nodiscard]] Result<TokenId> specialTokenId(const Tokenizer& tokenizer, const std::string& spelling);

}  // namespace lpes::text
