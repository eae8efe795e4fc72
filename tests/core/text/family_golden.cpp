#include "tests/core/text/family_golden.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/text/base64.h"
#include "tests/core/text/golden.h"

namespace lpes::text::testing {

using nlohmann::json;

json loadGzip(const std::string& name) {
    const std::string path = std::string(LPES_TEST_DATA) + "/golden/tokenizers/" + name + ".json.gz";
    const gzFile file = gzopen(path.c_str(), "rb");
    EXPECT_NE(file, nullptr) << path;
    if (file == nullptr) return {};
    std::string text;
    std::array<char, 1 << 16> buffer{};
    for (int size = 0; (size = gzread(file, buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    gzclose(file);
    return json::parse(text);
}

const std::vector<std::string>& familyStrings() {
    static const auto strings = loadGzip("strings").get<std::vector<std::string>>();
    return strings;
}

FamilyGolden::FamilyGolden(const std::string& name) {
    const json file = loadGzip(name);
    tokenizer = file["tokenizer"];
    plain = file["plain"].get<std::vector<std::vector<TokenId>>>();
    const auto read = [&](const char* key, auto& target) {
        if (!file.contains(key)) return;
        for (const auto& [index, value] : file[key].items()) value.get_to(target[std::stoul(index)]);
    };
    read("special", special);
    read("pieces", pieces);
    read("decoded", decoded);
    if (file.contains("model")) model = bytesFromBase64(file["model"].get<std::string>()).value_or("");
}

const std::vector<TokenId>& FamilyGolden::ids(std::size_t k, bool parseSpecial) const {
    const auto at = special.find(k);
    return parseSpecial && at != special.end() ? at->second : plain[k];
}

const std::vector<TokenId>& FamilyGolden::piecesOf(std::size_t k) const {
    const auto at = pieces.find(k);
    return at != pieces.end() ? at->second : plain[k];
}

void expectIds(const Tokenizer& tokenizer, const FamilyGolden& golden, bool parseSpecial) {
    const auto& strings = familyStrings();
    ASSERT_GE(strings.size(), 2000u);
    ASSERT_EQ(golden.plain.size(), strings.size());
    int wrong = 0;
    for (std::size_t k = 0; k < strings.size() && wrong < 10; ++k) {
        const auto encoding = tokenizer.encode(strings[k], {parseSpecial, false});
        ASSERT_TRUE(encoding.has_value()) << ascii(strings[k]) << ": " << encoding.error().text();
        EXPECT_EQ(encoding->ids, golden.ids(k, parseSpecial)) << k << ": " << ascii(strings[k]);
        wrong += encoding->ids != golden.ids(k, parseSpecial) ? 1 : 0;
        EXPECT_TRUE(std::is_sorted(encoding->byteBegin.begin(), encoding->byteBegin.end())) << ascii(strings[k]);
        if (!encoding->ids.empty()) {
            EXPECT_LT(encoding->byteBegin.back(), strings[k].size());
        }
    }
}

}  // namespace lpes::text::testing
