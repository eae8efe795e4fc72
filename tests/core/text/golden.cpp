#include "tests/core/text/golden.h"

#include "tests/support/temp_folder.h"

#include <fstream>

namespace lpes::text::testing {

using nlohmann::json;

json loadGolden(const std::string& name) {
    std::ifstream file(std::string(LPES_TEST_DATA) + "/golden/tokenizer_" + name + ".json");
    EXPECT_TRUE(file.good()) << name;
    return json::parse(file);
}

std::vector<GoldenCase> casesOf(const json& golden) {
    std::vector<GoldenCase> cases;
    for (const json& item : golden["cases"]) {
        const auto ids = item[1].get<std::vector<TokenId>>();
        cases.push_back({item[0].get<std::string>(), ids, item.size() > 2 ? item[2].get<std::vector<TokenId>>() : ids});
    }
    return cases;
}

Result<TokenizerSpec> specOf(const std::string& tokenizerJson) {
    const test::TempFolder folder;
    folder.write("tokenizer.json", tokenizerJson);
    return readTokenizerJson(folder.path());
}

Result<TokenizerSpec> specOf(const json& tokenizerJson) {
    return specOf(tokenizerJson.dump());
}

std::shared_ptr<const Tokenizer> tokenizerOf(const json& golden) {
    const auto spec = specOf(golden["tokenizer"]);
    EXPECT_TRUE(spec.has_value()) << spec.error().text();
    if (!spec) return nullptr;
    const auto tokenizer = makeTokenizer(*spec);
    EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().text();
    return tokenizer.value_or(nullptr);
}

GgufVocabulary ggufOf(const json& golden, const std::string& pre) {
    const json& file = golden["tokenizer"];
    GgufVocabulary vocabulary;
    vocabulary.model = "gpt2";
    vocabulary.pre = pre;
    const auto put = [&](const std::string& piece, std::size_t id, std::int32_t type) {
        if (id >= vocabulary.tokens.size()) {
            vocabulary.tokens.resize(id + 1);
            vocabulary.tokenTypes.resize(id + 1, 1);
        }
        vocabulary.tokens[id] = piece;
        vocabulary.tokenTypes[id] = type;
    };
    for (const auto& [piece, id] : file["model"]["vocab"].items()) put(piece, id.get<std::size_t>(), 1);
    for (const json& added : file["added_tokens"]) {
        put(added["content"].get<std::string>(), added["id"].get<std::size_t>(), added["special"].get<bool>() ? 3 : 4);
    }
    for (const json& merge : file["model"]["merges"]) {
        vocabulary.merges.push_back(merge.is_string()
                                        ? merge.get<std::string>()
                                        : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
    return vocabulary;
}

void expectGoldenIds(const Tokenizer& tokenizer, const std::vector<GoldenCase>& cases) {
    for (const GoldenCase& item : cases) {
        const auto plain = tokenizer.encode(item.text);
        ASSERT_TRUE(plain.has_value()) << ascii(item.text) << ": " << plain.error().text();
        EXPECT_EQ(plain->ids, item.ids) << ascii(item.text);
        EXPECT_EQ(plain->byteBegin.size(), plain->ids.size());
        const auto parsed = tokenizer.encode(item.text, {true, false});
        ASSERT_TRUE(parsed.has_value()) << ascii(item.text) << ": " << parsed.error().text();
        EXPECT_EQ(parsed->ids, item.idsSpecial) << "special tokens parsed: " << ascii(item.text);
    }
}

std::string ascii(const std::string& text) {
    return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace lpes::text::testing
