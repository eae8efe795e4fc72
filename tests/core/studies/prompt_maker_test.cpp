#include "core/studies/prompt_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/studies/item_evaluator.h"
#include "core/studies/model_setup.h"
#include "core/studies/show_prompt.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::PromptMaker;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// A tiny model's tokenizer and context.
class PromptMaking : public testing::Test {
  protected:
    explicit PromptMaking(const TinyModelSpec& spec = withContext(4096)) : folder(spec) {
        opened = take(studies::openModel(folder.model(), true));
    }
    [[nodiscard]] PromptMaker maker(const studies::TaskSpec& spec) const { return maker(spec, context); }
    [[nodiscard]] PromptMaker maker(const studies::TaskSpec& spec, int contextLength) const {
        return PromptMaker(take(studies::prepareTask(spec, 10)), *opened.tokenizer, contextLength);
    }
    [[nodiscard]] studies::TaskSpec own(const std::vector<json>& records) const {
        return ownTask(folder / "own.jsonl", records);
    }
    [[nodiscard]] std::string decoded(const studies::TokenizedPrompt& prompt, std::pair<int, int> span) const {
        const auto ids =
            std::span(prompt.prompt)
                .subspan(static_cast<std::size_t>(span.first), static_cast<std::size_t>(span.second - span.first));
        return take(opened.tokenizer->decode(ids));
    }

    StudyFolder folder;
    studies::OpenedModel opened;
    int context = 4096;
};

std::string cut(const std::string& text, const tasks::ByteSpan& span) {
    return text.substr(span.begin, span.end - span.begin);
}

std::vector<std::string> presets() {
    std::vector<std::string> names;
    std::istringstream list(text::chatPresetNames());
    for (std::string name; std::getline(list >> std::ws, name, ',');) names.push_back(name);
    return names;
}

class UnderPreset : public PromptMaking, public testing::WithParamInterface<std::string> {};

TEST_P(UnderPreset, EveryPartIsWhereItsTextIs) {
    for (const std::string system : {"", "Be brief.\n"}) {
        for (const std::string around : {"", " \n "}) {
            json item = bakery();
            item["template"] = around + "{documents}\n\nQ: {question}\nA:" + around;
            item["system"] = system;
            auto spec = own({item});
            const PromptMaker plain = maker(spec);
            spec.chat = GetParam();
            const PromptMaker chat = maker(spec);
            for (int position = 0; position < 3; ++position) {
                const auto bare = take(plain.text(0, position));
                const auto talk = take(chat.text(0, position));
                SCOPED_TRACE(talk.text);
                ASSERT_EQ(talk.prompt.evidence.size(), 1u);
                EXPECT_THAT(cut(talk.text, talk.prompt.evidence[0]), HasSubstr("The bakery opens at seven."));
                EXPECT_EQ(cut(talk.text, talk.prompt.evidence[0]), cut(bare.text, bare.prompt.evidence[0]));
                ASSERT_EQ(talk.prompt.records.size(), 3u);
                for (std::size_t i = 0; i < 3; ++i)
                    EXPECT_EQ(cut(talk.text, talk.prompt.records[i]), cut(bare.text, bare.prompt.records[i]));
                EXPECT_THAT(cut(talk.text, talk.prompt.question), StartsWith("Q: When does the bakery open?\nA:"));
                EXPECT_LE(talk.prompt.question.end, talk.text.size());
            }
        }
    }
}

TEST_P(UnderPreset, WhatThePresetWritesIsNeverTakenForTheUsersText) {
    for (const std::string word : {"user", "assistant", "model", "INST", ":"}) {
        auto spec = own({{{"question", word}, {"answers", {"x"}}, {"template", "{question}"}, {"system", word}}});
        spec.chat = GetParam();
        const auto talk = take(maker(spec).text(0, 0));
        EXPECT_EQ(cut(talk.text, talk.prompt.question), word) << talk.text;
        const auto& markers = talk.chat->markers;
        EXPECT_TRUE(std::ranges::none_of(markers, [&](const text::TextRange& marker) {
            return marker.begin < talk.prompt.question.end && talk.prompt.question.begin < marker.end;
        })) << talk.text;
    }
}

TEST_P(UnderPreset, AnAnswerBehindWhiteSpaceBeginsAtOnce) {
    auto spec = own({bakery()});
    spec.chat = GetParam();
    const auto talk = take(maker(spec).text(0, 0));
    const bool space = std::string(" \n").find(talk.text.back()) != std::string::npos;
    EXPECT_EQ(talk.answer, space ? "at seven" : " at seven") << talk.text;
    EXPECT_EQ(take(maker(own({bakery()})).text(0, 0)).answer, " at seven") << "without a preset";
}

INSTANTIATE_TEST_SUITE_P(All, UnderPreset, testing::ValuesIn(presets()), [](const auto& parameter) {
    std::string name = parameter.param;
    std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
    return name;
});

TEST_F(PromptMaking, TokenSpansHoldThePartsUnderAPresetToo) {
    auto spec = own({bakery()});
    for (const std::optional<std::string>& chat :
         {std::optional<std::string>(), std::optional<std::string>("chatml")}) {
        spec.chat = chat;
        const PromptMaker making = maker(spec);
        for (int position = 0; position < 3; ++position) {
            const auto tokens = take(making.tokens(0, position));
            ASSERT_EQ(tokens.evidence.size(), 1u);
            EXPECT_THAT(decoded(tokens, tokens.evidence[0]), HasSubstr("The bakery opens at seven."));
            EXPECT_THAT(decoded(tokens, tokens.evidence[0]), testing::Not(HasSubstr("ferry")));
            EXPECT_EQ(tokens.evidence[0], tokens.records[static_cast<std::size_t>(position)]);
            EXPECT_EQ(tokens.goldToken(), tokens.evidence[0].first);
            EXPECT_THAT(decoded(tokens, tokens.question), StartsWith("Question: When does the bakery open?"));
            int before = tokens.instruction.second;
            for (const auto& [begin, end] : tokens.records) {
                EXPECT_GE(begin, before);
                EXPECT_LT(begin, end);
                before = end;
            }
            EXPECT_GE(tokens.question.first, before);
        }
    }
}

TEST_F(PromptMaking, ASpecialTokensSpellingInTheDataIsText) {
    json item = bakery();
    item["question"] = "What does <|im_end|> mean?";
    auto spec = own({item});
    spec.chat = "chatml";
    const auto tokens = take(maker(spec).tokens(0, 0));
    EXPECT_EQ(std::ranges::count(tokens.prompt, kTinyEos), 1) << "the one that the preset wrote";
    EXPECT_EQ(std::ranges::count(tokens.prompt, kTinyBos), 2);
}

TEST_F(PromptMaking, APresetWhoseTokensTheModelLacksIsRefusedByName) {
    auto spec = own({bakery()});
    spec.chat = "gemma";
    const auto tokens = maker(spec).tokens(0, 0);
    ASSERT_FALSE(tokens);
    EXPECT_EQ(tokens.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(tokens.error().message, HasSubstr("<start_of_turn>"));
}

TEST_F(PromptMaking, SystemTextStandsAheadOfAPlainPrompt) {
    json item = bakery();
    item["system"] = "Be brief.";
    const auto made = take(maker(own({item})).text(0, 1));
    EXPECT_THAT(made.text, StartsWith("Be brief.\nDocument [1]"));
    EXPECT_THAT(cut(made.text, made.prompt.evidence[0]), HasSubstr("bakery"));
}

class PromptMakingWithBos : public PromptMaking {
  protected:
    static TinyModelSpec spec() {
        TinyModelSpec spec = withContext(4096);
        spec.addBos = true;
        return spec;
    }
    PromptMakingWithBos() : PromptMaking(spec()) {}
};

TEST_F(PromptMakingWithBos, BosIsLeftOutUnlessItIsAskedFor) {
    auto task = own({bakery()});
    const auto without = take(maker(task).tokens(0, 0));
    task.bos = "model";
    const auto with = take(maker(task).tokens(0, 0));
    ASSERT_EQ(with.prompt.size(), without.prompt.size() + 1);
    EXPECT_EQ(with.prompt.front(), kTinyBos);
    EXPECT_TRUE(std::equal(without.prompt.begin(), without.prompt.end(), with.prompt.begin() + 1));
    EXPECT_EQ(with.answer, without.answer) << "an answer has none";
    EXPECT_EQ(without.goldToken(), 0);
    EXPECT_EQ(with.goldToken(), 1) << "evidence at the beginning of the text does not hold the token";
    EXPECT_EQ(with.evidence[0].second, without.evidence[0].second + 1);
    EXPECT_EQ(decoded(with, with.question), decoded(without, without.question));
}

TEST_F(PromptMaking, AModelWithoutABosGetsNone) {
    auto task = own({bakery()});
    const auto without = take(maker(task).tokens(0, 0));
    task.bos = "model";
    EXPECT_EQ(take(maker(task).tokens(0, 0)).prompt, without.prompt);
    task.chat = "chatml";
    const auto both = studies::prepareTask(task, 1);
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().code, ErrorCode::Usage);
    EXPECT_THAT(both.error().message, HasSubstr("--bos"));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

TEST_F(PromptMaking, ShotsAreDroppedFromTheEndUntilThePromptFits) {
    const PromptMaker wide = maker(mmluTask(5));
    const auto whole = take(wide.tokens(0, 0));
    const auto wholeText = take(wide.text(0, 0)).text;
    EXPECT_TRUE(whole.note.empty());
    ASSERT_EQ(occurrences(wholeText, "Answer:"), 6u);
    std::size_t before = 6;
    for (const int size : {static_cast<int>(whole.tokens()), static_cast<int>(whole.tokens()) - 1, 800, 500}) {
        const PromptMaker narrow = maker(mmluTask(5), size);
        const auto tokens = take(narrow.tokens(0, 0));
        const auto made = take(narrow.text(0, 0));
        const std::size_t asked = occurrences(made.text, "Answer:");
        EXPECT_LE(asked, before);
        before = asked;
        EXPECT_LE(tokens.tokens(), static_cast<std::size_t>(size));
        EXPECT_EQ(tokens.note.empty(), asked == 6) << tokens.note;
        // What is left are the first shots and the question itself.
        const std::string question = made.text.substr(made.prompt.question.begin);
        EXPECT_THAT(wholeText, EndsWith(question));
        EXPECT_THAT(wholeText, StartsWith(made.text.substr(0, made.text.size() - question.size())));
    }
    EXPECT_LT(before, 6u);
    // Without any shot it does not fit: it is left as it is, and too long.
    const auto none = take(maker(mmluTask(5), 50).tokens(0, 0));
    EXPECT_GT(none.tokens(), 50u);
}

TEST_F(PromptMaking, DocumentsAreCutOnlyWhereOfficialTruncationIsAskedFor) {
    std::string document;
    for (int word = 0; word < 3000; ++word) document += "word" + std::to_string(word) + " ";
    writeBytes(folder / "long.jsonl", json{{"instructions", {"Summarise it."}},
                                           {"outputs", {"Words."}},
                                           {"input", document},
                                           {"source", "x"},
                                           {"evaluation", "rouge"}}
                                              .dump() +
                                          "\n");
    studies::TaskSpec spec;
    spec.task = "leval:gov_report_summ";
    spec.data = (folder / "long.jsonl").string();
    const auto whole = take(maker(spec).tokens(0, 0));
    EXPECT_GT(whole.tokens(), 4096u) << "too long, and left alone";
    EXPECT_THAT(take(maker(spec).text(0, 0)).text, HasSubstr("word2999 "));
    EXPECT_TRUE(whole.note.empty());
    spec.truncation = "official";
    const auto official = take(maker(spec).tokens(0, 0));
    EXPECT_LE(official.tokens(), 4096u);
    EXPECT_FALSE(official.note.empty());
    EXPECT_THAT(take(maker(spec).text(0, 0)).text, testing::Not(HasSubstr("word2999 ")));
}

TEST_F(PromptMaking, KeyValueSpansCoverTheRecordsAndNothingElse) {
    studies::TaskSpec spec = smallSearch(folder).task;
    spec.limit = 2;
    const PromptMaker making = maker(spec);
    const auto tokens = take(making.tokens(0, 2));
    const auto made = take(making.text(0, 2));
    ASSERT_EQ(tokens.records.size(), 4u);
    EXPECT_EQ(tokens.question.second, static_cast<int>(tokens.prompt.size()));
    EXPECT_EQ(tokens.goldIndex, 3);
    EXPECT_THAT(decoded(tokens, tokens.records[3]), HasSubstr(made.answer.substr(made.answer.find_first_not_of(' '))));
    EXPECT_EQ(tokens.evidence.at(0), tokens.records[3]);
}

// Plans of many prompts.

class PromptPlans : public PromptMaking {
  protected:
    [[nodiscard]] studies::PromptPlan plan(const studies::TaskSpec& spec, studies::PassSize pass, int contextLength,
                                           std::int64_t kept = studies::PromptPlan::kTokensKept) const {
        const auto task = take(studies::prepareTask(spec, 10));
        return take(studies::PromptPlan::make(task, task.ids(), *opened.tokenizer, contextLength, pass, {}, kept));
    }
};

TEST_F(PromptPlans, AStopEndsTheReadingOfItemsAndTheMakingOfPrompts) {
    const studies::TaskSpec spec = smallSearch(folder).task;
    std::stop_source stop;
    stop.request_stop();
    const auto task = take(studies::prepareTask(spec, 10));
    const auto stopped = studies::PromptPlan::make(task, task.ids(), *opened.tokenizer, 4096, {}, stop.get_token());
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(wasStopped(stopped.error())) << stopped.error().text();

    const studies::TaskSpec fromFile =
        own({{{"question", "Who?"}, {"answers", {"Ada"}}, {"documents", {"Ada.", "Bob."}}}});
    const auto unread = studies::prepareTask(fromFile, 10, nullptr, studies::Purpose::Scored, stop.get_token());
    ASSERT_FALSE(unread);
    EXPECT_TRUE(wasStopped(unread.error())) << unread.error().text();
}

TEST_F(PromptPlans, PromptsThatAreNotKeptAreMadeAnewAsTheyWere) {
    studies::TaskSpec spec = smallSearch(folder).task;
    spec.limit = 5;
    const auto all = plan(spec, {3, {}, false}, 4096);
    const auto none = plan(spec, {3, {}, false}, 4096, 0);
    const auto some = plan(spec, {3, {}, false}, 4096, all.tokens() / 2);
    EXPECT_EQ(all.chunks(), none.chunks());
    EXPECT_EQ(all.chunks(), some.chunks());
    for (std::size_t entry = 0; entry < all.entries().size(); ++entry) {
        const auto kept = take(all.tokens(entry)), made = take(none.tokens(entry)), either = take(some.tokens(entry));
        EXPECT_EQ(kept->prompt, made->prompt);
        EXPECT_EQ(kept->answer, made->answer);
        EXPECT_EQ(kept->records, made->records);
        EXPECT_EQ(kept->references, made->references);
        EXPECT_EQ(kept->prompt, either->prompt);
        EXPECT_EQ(take(all.tokens(entry)), kept) << "the same object";
        EXPECT_NE(take(none.tokens(entry)), made) << "not kept";
    }
}

TEST_F(PromptPlans, APassHoldsNoMoreTokensThanItMayUnlessASinglePromptDoes) {
    studies::TaskSpec spec = mmluTask(0);
    const auto free = plan(spec, {8, {}, false}, 4096);
    const std::int64_t longest = free.longestPrompt();
    for (const std::int64_t limit : {std::int64_t{1}, longest - 1, longest, 3 * longest}) {
        const auto bound = plan(spec, {8, limit, false}, 4096);
        std::size_t next = 0;
        for (std::size_t c = 0; c < bound.chunks().size(); ++c) {
            const auto& chunk = bound.chunks()[c];
            ASSERT_FALSE(chunk.empty());
            EXPECT_LE(chunk.size(), 8u);
            std::int64_t tokens = 0;
            for (const std::size_t index : chunk) {
                EXPECT_EQ(index, next++) << "in order, none left out";
                tokens += bound.entries()[index].scoredTokens;
            }
            EXPECT_TRUE(tokens <= limit || chunk.size() == 1) << tokens;
            // No pass was ended early.
            if (c + 1 < bound.chunks().size() && chunk.size() < 8u) {
                EXPECT_GT(tokens + bound.entries()[next].scoredTokens, limit);
            }
        }
        EXPECT_EQ(next, bound.entries().size());
    }
}

TEST_F(PromptPlans, T21_AnItemThatIsTooLongAnywhereIsLeftOutEverywhereAndCounted) {
    std::vector<json> records{bakery(), bakery(), bakery()};
    records[1]["documents"][2] = std::string(900, 'x');
    const auto made = plan(own(records), {4, {}, false}, 400);
    EXPECT_EQ(made.itemsRun(), 2);
    EXPECT_EQ(made.itemsSkipped(), 1);
    EXPECT_EQ(made.prompts(), 6);
    EXPECT_LE(made.longestPrompt(), 400);
    for (const auto& entry : made.entries()) {
        EXPECT_EQ(entry.tooLong, entry.itemId == "own/1");
        if (entry.tooLong) {
            EXPECT_GT(entry.promptTokens, 900) << "counted whole, not cut";
        }
    }
}

TEST_F(PromptMaking, WhatIsShownKeepsTheRoomThatARunKeeps) {
    json record = bakery();
    record["max_new_tokens"] = 4000;
    const studies::TaskSpec spec = own({record});
    const auto generated = take(studies::showPrompt(folder.model(), spec, "0", std::nullopt));
    EXPECT_EQ(generated.tokens.room, 4000) << "the score of such items when none is asked for";
    EXPECT_EQ(generated.fits, generated.tokens.prompt.size() <= 96);
    const auto strict = take(studies::showPrompt(folder.model(), spec, "0", std::nullopt, "strict"));
    EXPECT_LT(strict.tokens.room, 100);
    EXPECT_TRUE(strict.fits);
    EXPECT_EQ(strict.text.text, generated.text.text);
    EXPECT_FALSE(studies::showPrompt(folder.model(), spec, "0", std::nullopt, "choice")) << "it has no choices";
}

}  // namespace
}  // namespace lpes::test
