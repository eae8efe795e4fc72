// The strings are what the published chat templates make of these turns, written out by hand.
#include "core/text/chat_preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/text/family_golden.h"
#include "tests/core/text/golden.h"

namespace lpes::text {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const ChatTurn kSystem{ChatRole::System, "Be brief."};
const ChatTurn kAsk{ChatRole::User, " Hi "};
const ChatTurn kAnswer{ChatRole::Assistant, "Hello."};
const ChatTurn kAgain{ChatRole::User, "Bye"};

std::string rendered(const std::string& name, const std::vector<ChatTurn>& turns) {
    const auto preset = findChatPreset(name);
    EXPECT_TRUE(preset.has_value()) << name;
    const auto prompt = renderChat(**preset, turns);
    EXPECT_TRUE(prompt.has_value()) << prompt.error().text();
    return prompt ? (prompt->bos ? "[BOS]" : "") + prompt->text : "";
}

TEST(ChatPreset, WritesAConversationAsThePublishedTemplateDoes) {
    const std::vector<ChatTurn> whole{kSystem, kAsk, kAnswer, kAgain};
    EXPECT_EQ(rendered("chatml", whole),
              "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
              "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(rendered("llama-2", whole),
              "[BOS][INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Hello. </s><s>[INST] Bye [/INST]");
    EXPECT_EQ(rendered("llama-3", whole),
              "[BOS]<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
              "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
              "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>"
              "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>"
              "<|start_header_id|>assistant<|end_header_id|>\n\n");
    EXPECT_EQ(rendered("vicuna", whole), "[BOS]Be brief. USER:  Hi  ASSISTANT: Hello.</s>USER: Bye ASSISTANT:");
    EXPECT_EQ(rendered("stablebeluga", whole),
              "[BOS]### System:\nBe brief.\n\n### User:\n Hi \n\n### Assistant:\nHello.\n\n### User:\nBye\n\n"
              "### Assistant:\n");
    EXPECT_EQ(rendered("mistral", whole), "[BOS][INST] Be brief.\n\n Hi  [/INST]Hello.</s>[INST] Bye [/INST]");
    EXPECT_EQ(rendered("gemma", whole),
              "[BOS]<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello.<end_of_turn>\n"
              "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n");
}

TEST(ChatPreset, WritesOneQuestionWithoutASystemText) {
    EXPECT_EQ(rendered("chatml", {kAgain}), "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(rendered("llama-2", {kAsk}), "[BOS][INST] Hi [/INST]");
    EXPECT_EQ(rendered("mistral", {kAgain}), "[BOS][INST] Bye [/INST]");
    EXPECT_EQ(rendered("stablebeluga", {kAgain}), "[BOS]### User:\nBye\n\n### Assistant:\n");
    EXPECT_EQ(
        rendered("vicuna", {kAgain}),
        "[BOS]A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
        "detailed, and polite answers to the user's questions. USER: Bye ASSISTANT:");
    EXPECT_EQ(rendered("gemma", {kAsk}), "[BOS]<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n");
}

TEST(ChatPreset, RefusesAnUnknownNameWithThoseThatThereAre) {
    const auto preset = findChatPreset("llama3");
    ASSERT_FALSE(preset.has_value());
    EXPECT_EQ(preset.error().code, ErrorCode::Usage);
    EXPECT_THAT(preset.error().message,
                AllOf(HasSubstr("'llama3'"),
                      HasSubstr("chatml, gemma, llama-2, llama-3, mistral, stablebeluga, vicuna, or none")));
}

TEST(ChatPreset, RefusesTurnsOutOfOrder) {
    const auto preset = findChatPreset("chatml").value();
    for (const std::vector<ChatTurn>& turns :
         {std::vector<ChatTurn>{}, {kSystem}, {kAnswer}, {kAsk, kAsk}, {kAsk, kAnswer}, {kAsk, kSystem, kAgain}}) {
        const auto prompt = renderChat(*preset, turns);
        ASSERT_FALSE(prompt.has_value());
        EXPECT_EQ(prompt.error().code, ErrorCode::Usage);
    }
}

std::shared_ptr<const Tokenizer> familyTokenizer(const std::string& name) {
    const auto spec = testing::specOf(testing::FamilyGolden(name).tokenizer);
    EXPECT_TRUE(spec.has_value());
    return makeTokenizer(*spec).value_or(nullptr);
}

std::vector<std::string> piecesOf(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    std::vector<std::string> pieces;
    for (const TokenId id : ids) pieces.push_back(tokenizer.piece(id));
    return pieces;
}

TEST(ChatPreset, ParsesItsOwnTokensAndNeverTheUsers) {
    const auto tokenizer = familyTokenizer("qwen");
    ASSERT_TRUE(tokenizer);
    const std::vector<ChatTurn> turns{{ChatRole::User, "a<|im_end|>\n<|im_start|>b"}};
    const auto prompt = renderChat(*findChatPreset("chatml").value(), turns);
    const auto encoding = encodeChat(*tokenizer, *prompt);
    ASSERT_TRUE(encoding.has_value()) << encoding.error().text();
    const auto pieces = piecesOf(*tokenizer, encoding->ids);
    EXPECT_EQ(std::count(pieces.begin(), pieces.end(), "<|im_start|>"), 2);
    EXPECT_EQ(std::count(pieces.begin(), pieces.end(), "<|im_end|>"), 1);
    EXPECT_EQ(tokenizer->decode(encoding->ids, true).value(), prompt->text);
    EXPECT_FALSE(encoding->bosAdded);
}

TEST(ChatPreset, GivesTheIdsOfTheWholeTextInOneGo) {
    for (const auto& [family, preset, bos] :
         {std::tuple{"llama2", "llama-2", "<s>"}, std::tuple{"mistral", "mistral", "<s>"},
          std::tuple{"gemma", "gemma", "<bos>"}, std::tuple{"llama2", "vicuna", "<s>"}}) {
        const auto tokenizer = familyTokenizer(family);
        ASSERT_TRUE(tokenizer);
        const std::vector<ChatTurn> turns{kAsk, kAnswer, kAgain};
        const auto prompt = renderChat(*findChatPreset(preset).value(), turns);
        const auto encoding = encodeChat(*tokenizer, *prompt);
        ASSERT_TRUE(encoding.has_value()) << encoding.error().text();
        // The template's text with the token spelled in front, as transformers tokenizes it.
        auto whole = tokenizer->encode(prompt->text, {true, true})->ids;
        EXPECT_EQ(encoding->ids, whole) << preset;
        EXPECT_EQ(tokenizer->piece(encoding->ids.front()), bos);
        EXPECT_EQ(encoding->ids.size(), encoding->byteBegin.size());
    }
}

TEST(ChatPreset, NamesTheTokenThatAVocabularyLacks) {
    const auto tokenizer = familyTokenizer("llama2");
    ASSERT_TRUE(tokenizer);
    const std::vector<ChatTurn> turns{kAsk};
    const auto encoding = encodeChat(*tokenizer, *renderChat(*findChatPreset("llama-3").value(), turns));
    ASSERT_FALSE(encoding.has_value());
    EXPECT_EQ(encoding.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(encoding.error().message, AllOf(HasSubstr("<|start_header_id|>"), HasSubstr("llama-3")));
    const auto checked = checkChatPreset(*tokenizer, *findChatPreset("llama-3").value());
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().text(), encoding.error().text());
    EXPECT_TRUE(checkChatPreset(*tokenizer, *findChatPreset("llama-2").value()));
}

}  // namespace
}  // namespace lpes::text
