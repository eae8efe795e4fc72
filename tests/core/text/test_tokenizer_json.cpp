#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/text/golden.h"
#include "tests/support/temp_folder.h"

namespace lpes::text {
namespace {

using nlohmann::json;
using test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::loadGolden;
using testing::specOf;

json tokenizerJson(const std::string& family = "smollm") {
    return loadGolden("tiny_" + family)["tokenizer"];
}

/// "unsupported: message", or "ok".
template <class Change>
std::string outcome(Change change, const std::string& family = "smollm") {
    json file = tokenizerJson(family);
    change(file);
    auto spec = specOf(file);
    if (spec) {
        const auto made = makeTokenizer(*spec);
        if (made) return "ok";
        return std::string(errorName(made.error().code)) + ": " + made.error().message;
    }
    return std::string(errorName(spec.error().code)) + ": " + spec.error().message;
}

TEST(TokenizerJson, RefusesUnknownPiecesByName) {
    const auto refused = [](const std::string& name) { return AllOf(HasSubstr("unsupported: "), HasSubstr(name)); };
    EXPECT_THAT(outcome([](json& f) { f["model"]["type"] = "WordPiece"; }), refused("WordPiece"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["type"] = "WordLevel"; }), refused("WordLevel"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["dropout"] = 0.1; }), refused("dropout"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["byte_fallback"] = true; }), refused("byte_fallback"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["end_of_word_suffix"] = "</w>"; }), refused("end_of_word_suffix"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["continuing_subword_prefix"] = "##"; }), refused("##"));
    EXPECT_THAT(outcome([](json& f) { f["normalizer"] = {{"type", "BertNormalizer"}}; }), refused("BertNormalizer"));
    EXPECT_THAT(outcome([](json& f) { f["normalizer"] = {{"type", "ByteLevel"}}; }), refused("ByteLevel"));
    EXPECT_THAT(outcome([](json& f) {
                    f["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "Nmt"}}}}};
                }),
                refused("Nmt"));
    EXPECT_THAT(outcome([](json& f) { f["pre_tokenizer"] = {{"type", "UnicodeScripts"}}; }), refused("UnicodeScripts"));
    EXPECT_THAT(outcome([](json& f) {
                    f["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}};
                }),
                refused("last"));
    EXPECT_THAT(outcome([](json& f) {
                    std::swap(f["pre_tokenizer"]["pretokenizers"][0], f["pre_tokenizer"]["pretokenizers"][1]);
                }),
                refused("behind ByteLevel"));
    EXPECT_THAT(outcome([](json& f) { f["post_processor"] = {{"type", "RobertaProcessing"}}; }), refused("Roberta"));
    EXPECT_THAT(outcome([](json& f) { f["decoder"] = {{"type", "WordPiece"}}; }), refused("WordPiece"));
    const auto split = [](const char* key, const json& value) {
        return [=](json& f) { f["pre_tokenizer"]["pretokenizers"][0][key] = value; };
    };
    EXPECT_THAT(outcome(split("behavior", "Dropped"), "qwen2"), refused("Dropped"));
    EXPECT_THAT(outcome(split("pattern", {{"Regex", "\\w+"}}), "qwen2"), refused("\\\\w"));
}

TEST(TokenizerJson, ReadsATemplateAroundTheText) {
    const json sequence = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    const json token = {{"SpecialToken", {{"id", "<|eot_id|>"}, {"type_id", 0}}}};
    const auto single = [](const json& value) {
        return [=](json& f) {
            f["post_processor"]["processors"][1]["single"] = value;
            f["post_processor"]["processors"][1]["special_tokens"]["<|eot_id|>"] = {{"ids", {901}}};
        };
    };
    EXPECT_THAT(outcome(single(json::array({sequence, sequence})), "llama3"), HasSubstr("unsupported: "));
    EXPECT_THAT(outcome(single(json::array({token})), "llama3"), HasSubstr("bad_input: "));
    EXPECT_EQ(outcome(single(json::array({sequence})), "llama3"), "ok");
    EXPECT_EQ(outcome(single(json::array({token, sequence})), "llama3"), "ok");
    json file = tokenizerJson("llama3");
    single(json::array({token, token, sequence, token}))(file);
    const auto spec = specOf(file);
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    EXPECT_THAT(spec->prefixIds, ElementsAre(901, 901));
    EXPECT_THAT(spec->suffixIds, ElementsAre(901));
    const auto encoding = (*makeTokenizer(*spec))->encode("ab", {false, true});
    EXPECT_TRUE(encoding->bosAdded);
    EXPECT_EQ(encoding->ids.back(), 901);
    EXPECT_EQ(encoding->byteBegin.back(), 2u);
    EXPECT_EQ(encoding->byteBegin.front(), 0u);
}

TEST(TokenizerJson, AcceptsWhatChangesNothing) {
    EXPECT_EQ(outcome([](json& f) { f["model"]["dropout"] = 0.0; }), "ok");
    EXPECT_EQ(outcome([](json& f) { f["model"].erase("type"); }), "ok");
    EXPECT_EQ(outcome([](json& f) { f["model"]["byte_fallback"] = true; }, "gpt2"), "ok");
    EXPECT_EQ(outcome([](json& f) {
                  f["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
              }),
              "ok");
    EXPECT_EQ(outcome([](json& f) { f["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}}; }), "ok");
    EXPECT_EQ(outcome([](json& f) { f["decoder"] = nullptr; }), "ok");
    EXPECT_EQ(outcome([](json& f) { f.erase("post_processor"); }), "ok");
    EXPECT_EQ(outcome([](json& f) { f["pre_tokenizer"] = nullptr; }), "ok");
}

TEST(TokenizerJson, NamesTheFieldThatIsMalformed) {
    const auto bad = [](const std::string& name) { return AllOf(HasSubstr("bad_input: "), HasSubstr(name)); };
    EXPECT_THAT(outcome([](json& f) { f.erase("model"); }), bad("model"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["vocab"] = json::array(); }), bad("model.vocab"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["vocab"]["a"] = -1; }), bad("model.vocab[\"a\"]"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["vocab"]["a"] = 1.5; }), bad("model.vocab[\"a\"]"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["vocab"]["a"] = 4'000'000'000u; }), bad("model.vocab[\"a\"]"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["vocab"]["a"] = f["model"]["vocab"]["b"]; }), bad("gives id"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["vocab"].erase("th"); }), bad("\"th\""));
    EXPECT_THAT(outcome([](json& f) { f["model"].erase("merges"); }), bad("model.merges"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["merges"][3] = "abc"; }), bad("model.merges[3]"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["merges"][3] = {"a"}; }), bad("model.merges[3]"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["merges"][3] = "a b c"; }), bad("model.merges[3]"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["unk_token"] = "nowhere"; }), bad("unk_token"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["ignore_merges"] = 1; }), bad("model.ignore_merges"));
    EXPECT_THAT(outcome([](json& f) { f["added_tokens"][0]["id"] = 99'999'999; }), bad("added_tokens[0].id"));
    EXPECT_THAT(outcome([](json& f) { f["added_tokens"][0]["id"] = 5; }), bad("added_tokens"));
    EXPECT_THAT(outcome([](json& f) { f["added_tokens"][0].erase("content"); }), bad("added_tokens[0].content"));
    EXPECT_THAT(outcome([](json& f) { f["added_tokens"][0]["lstrip"] = "no"; }), bad("added_tokens[0].lstrip"));
    EXPECT_THAT(outcome([](json& f) { f["pre_tokenizer"] = "ByteLevel"; }), bad("pre_tokenizer"));
    EXPECT_THAT(outcome([](json& f) { f["normalizer"] = {{"type", "Sequence"}}; }), bad("normalizer.normalizers"));
    EXPECT_THAT(outcome([](json& f) { f["model"]["type"] = "Unigram"; }), bad("model.vocab"));
    const json good = json::array({"a", 0.0});
    EXPECT_THAT(outcome([&](json& f) {
                    f["model"] = {{"type", "Unigram"}, {"vocab", json::array({good, json::array({"b", "x"})})}};
                }),
                bad("model.vocab[1]"));
    EXPECT_THAT(outcome([&](json& f) {
                    f["model"] = {{"type", "Unigram"}, {"vocab", json::array({good})}, {"unk_id", 1}};
                }),
                bad("model.unk_id"));
    for (const char* map : {"", "AAAA", "BAAAAA==", "AAAAAAAAAAA", "????", "//////////8="}) {
        EXPECT_THAT(outcome([&](json& f) {
                        f["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", map}};
                    }),
                    bad("precompiled_charsmap"))
            << map;
    }
}

TEST(TokenizerJson, RefusesFilesThatAreMissingOrNotJson) {
    const TempFolder folder;
    EXPECT_EQ(readTokenizerJson(folder.path()).error().code, ErrorCode::BadInput);
    EXPECT_THAT(readTokenizerJson(folder.path()).error().text(), HasSubstr("tokenizer.json"));
    for (const std::string text : {"", "{", "[]", "null", "{\"model\":\"\xFF\"}", "\"\\ud800\"", "{}"}) {
        const auto spec = specOf(text);
        ASSERT_FALSE(spec.has_value()) << text;
        EXPECT_EQ(spec.error().code, ErrorCode::BadInput) << text;
    }
    EXPECT_EQ(specOf(std::string(100'000, '[')).error().code, ErrorCode::BadInput);
    std::string nested = "null";
    for (int k = 0; k < 1000; ++k) nested = R"({"type":"Sequence","normalizers":[)" + nested + "]}";
    EXPECT_THAT(outcome([&](json& f) { f["normalizer"] = json::parse(nested); }), HasSubstr("bad_input"));
}

TEST(TokenizerJson, ReadsBosAndEndIdsFromTheFilesBesideIt) {
    const TempFolder folder;
    const json file = tokenizerJson();
    folder.write("tokenizer.json", file.dump());
    auto spec = readTokenizerJson(folder.path());
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    EXPECT_EQ(spec->bosId, -1);
    EXPECT_THAT(spec->endIds, ElementsAre(0, 2));  // <|endoftext|> and <|im_end|> end a text wherever they occur
    folder.write("tokenizer_config.json",
                 R"({"bos_token":"<|im_start|>","eos_token":{"content":"<repo_name>"},"add_bos_token":true})");
    folder.write("generation_config.json", R"({"eos_token_id":[2,40]})");
    spec = readTokenizerJson(folder.path());
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    EXPECT_EQ(spec->bosId, 1);
    EXPECT_THAT(spec->prefixIds, ElementsAre(spec->bosId));
    EXPECT_THAT(spec->endIds, ElementsAre(0, 2, 3, 40));
    folder.write("generation_config.json", R"({"eos_token_id":"two"})");
    EXPECT_THAT(readTokenizerJson(folder.path()).error().message, HasSubstr("eos_token_id"));
    folder.write("generation_config.json", "{");
    EXPECT_THAT(readTokenizerJson(folder.path()).error().message, HasSubstr("generation_config.json"));
}

TEST(TokenizerJson, ReadsBosFromTheTemplate) {
    const auto spec = specOf(tokenizerJson("llama3"));
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    EXPECT_THAT(spec->prefixIds, ElementsAre(spec->bosId));
    EXPECT_EQ(spec->pieces[static_cast<std::size_t>(spec->bosId)], "<|begin_of_text|>");
    EXPECT_TRUE(spec->ignoreMerges);
}

/// One change that a damaged or hostile file could have.
void mutate(std::string& text, std::uint64_t& state) {
    const auto next = [&](std::uint64_t below) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % below;
    };
    static const std::vector<std::string> snippets = {
        "null",        "-1",      "1e999", "[]", "{}", "\"\"", "99999999999999999999",
        "true",        "\\u0000", "\\",    "\"", ",",  "((((", "{1,65536}",
        "[[:alpha:]]", "(?R)",    "\xC3"};
    const std::size_t at = next(text.size());
    switch (next(4)) {
        case 0:
            text[at] = static_cast<char>(next(256));
            break;
        case 1:
            text.erase(at, 1 + next(40));
            break;
        case 2:
            text.insert(at, snippets[next(snippets.size())]);
            break;
        default: {  // the value behind a colon becomes another
            const std::size_t colon = text.find(':', at);
            if (colon == std::string::npos) return;
            const std::size_t end = text.find_first_of(",}]", colon);
            text.replace(colon + 1, end == std::string::npos ? 0 : end - colon - 1, snippets[next(snippets.size())]);
        }
    }
}

TEST(TokenizerJson, SurvivesEveryMutation) {
    int made = 0;
    int refused = 0;
    const TempFolder folder;
    for (const char* family : {"smollm", "qwen2", "llama3", "added"}) {
        json file = tokenizerJson(family);
        // A short file, so that the mutations hit the steps as well as the vocabulary.
        file["model"]["merges"].erase(file["model"]["merges"].begin() + 5, file["model"]["merges"].end());
        const std::string sound = file.dump();
        std::uint64_t state = 19;
        for (int round = 0; round < 400; ++round) {
            std::string text = sound;
            const std::size_t edges = round % 2 == 0 ? 1 : 3;
            for (std::size_t k = 0; k < edges; ++k) {
                // Half of the mutations in what is not the vocabulary.
                if (round % 4 < 2) {
                    mutate(text, state);
                } else {
                    const std::size_t vocabulary = text.find("\"model\"");
                    std::string head = text.substr(0, vocabulary);
                    if (head.empty()) continue;
                    const std::string tail = text.substr(head.size());
                    mutate(head, state);
                    text = head + tail;
                }
            }
            folder.write("tokenizer.json", text);
            const auto spec = readTokenizerJson(folder.path());
            if (!spec) {
                EXPECT_FALSE(spec.error().message.empty());
                ++refused;
                continue;
            }
            const auto tokenizer = makeTokenizer(*spec);
            if (!tokenizer) {
                ++refused;
                continue;
            }
            ++made;
            const auto encoding = (*tokenizer)->encode("They're 1234 <|im_start|> e\xCC\x81\n\n LSTRIP", {true, true});
            if (encoding) {
                EXPECT_TRUE((*tokenizer)->decode(encoding->ids, true).has_value());
            }
        }
    }
    EXPECT_GT(made, 50);
    EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace lpes::text
