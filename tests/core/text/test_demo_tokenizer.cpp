// The demo model's vocabulary, out of its GGUF file, against ids of the tokenizers library
// (tests/golden/make_tokenizer_golden.py --gguf).
#include <gtest/gtest.h>

#include "core/base/files.h"
#include "core/model/formats/weight_source.h"
#include "tests/core/text/golden.h"

namespace lpes::text {
namespace {

std::filesystem::path demoFile() {
    return userDataFolder() / "models" / "demo" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

TEST(DemoTokenizer, GivesTheIdsOfTheTokenizersLibrary) {
    if (!std::filesystem::exists(demoFile())) GTEST_SKIP() << demoFile() << " is absent; packaging/setup.sh unpacks it";
    const auto weights = model::openWeights(demoFile());
    ASSERT_TRUE(weights.has_value()) << weights.error().text();
    const auto spec = (*weights)->tokenizerSpec();
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    const auto tokenizer = makeTokenizer(*spec);
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().text();

    const auto cases = testing::casesOf(testing::loadGolden("smollm2"));
    EXPECT_GE(cases.size(), 250u);
    testing::expectGoldenIds(**tokenizer, cases);
    for (const auto& item : cases) {
        const auto encoding = (*tokenizer)->encode(item.text, {true, false});
        if (encoding->withoutToken.empty()) {
            EXPECT_EQ((*tokenizer)->decode(encoding->ids, true).value(), item.text);
        }
    }
    EXPECT_EQ((*tokenizer)->bosId(), 1);
    EXPECT_EQ((*tokenizer)->endIds(), (std::vector<TokenId>{0, 2}));
    EXPECT_EQ((*tokenizer)->vocabularySize(), 49152u);
    EXPECT_FALSE((*tokenizer)->encode("x", {false, true})->bosAdded);
}

}  // namespace
}  // namespace lpes::text
