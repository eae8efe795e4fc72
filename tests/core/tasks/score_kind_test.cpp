#include "core/tasks/score_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lpes::tasks {
namespace {

TEST(ScoreKind, CountsWhatItsNameSays) {
    EXPECT_EQ(parseScoreKind("strict").value().score(0.4, 1.5), 0.4);
    EXPECT_EQ(parseScoreKind("generate").value().score(0.4, 1.5), 0.4);
    EXPECT_EQ(parseScoreKind("nll").value().score(0.4, 1.5), -1.5);
    EXPECT_DOUBLE_EQ(parseScoreKind("blend:0.2").value().score(0.4, 1.5), 0.4 - 0.3);
    EXPECT_EQ(parseScoreKind("blend:0").value().score(0.4, 1.5), 0.4);
}

TEST(ScoreKind, KeepsTheUsersWords) {
    const auto kind = parseScoreKind("blend:0.25").value();
    EXPECT_EQ(kind.kind, ScoreKind::Kind::Blend);
    EXPECT_EQ(kind.blendWeight, 0.25);
    EXPECT_EQ(kind.text, "blend:0.25");
    EXPECT_EQ(parseScoreKind("nll").value().kind, ScoreKind::Kind::Nll);
}

TEST(ScoreKind, RefusesWhatItDoesNotKnow) {
    for (const std::string text : {"", "Strict", "accuracy", "blend", "blend:", "blend:x", "blend:-1", "blend:-0",
                                   "blend:nan", "blend:inf", "blend:0,5", "blend:1 ", "nll:1"}) {
        const auto kind = parseScoreKind(text);
        ASSERT_FALSE(kind) << text;
        EXPECT_EQ(kind.error().code, ErrorCode::Usage);
        EXPECT_THAT(kind.error().message, ::testing::HasSubstr("'" + text + "'"));
    }
}

}  // namespace
}  // namespace lpes::tasks
