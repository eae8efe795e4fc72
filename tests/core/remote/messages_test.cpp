#include "core/remote/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lpes::remote {
namespace {

using nlohmann::json;

TEST(RemoteMessages, ErrorsArriveAsTheyWere) {
    for (const ErrorCode code : {ErrorCode::Failed, ErrorCode::Usage, ErrorCode::BadInput, ErrorCode::Unsupported,
                                 ErrorCode::OutOfMemory, ErrorCode::Database}) {
        const Error error = errorFromJson(toJson(Error{code, "no \"model\"", "line 3", "a file"}));
        EXPECT_EQ(error.code, code);
        EXPECT_EQ(error.text(), "a file: no \"model\" (line 3)");
    }
    for (const json& other : {json(), json::array(), json("text"), json{{"code", 7}, {"message", json()}}}) {
        EXPECT_EQ(errorFromJson(other).code, ErrorCode::Failed);
        EXPECT_FALSE(errorFromJson(other).message.empty());
    }
}

TEST(RemoteMessages, ProgressLinesAreRead) {
    const ProgressLine full = parseProgressLine(
        R"({"type":"progress","stage":"generation 2 of 6","done":5,"total":60,"rate_per_second":2.5,"eta_seconds":22})");
    ASSERT_TRUE(full.progress);
    EXPECT_EQ(full.progress->stage, "generation 2 of 6");
    EXPECT_EQ(full.progress->done, 5);
    EXPECT_EQ(full.progress->total, 60);
    EXPECT_EQ(full.progress->ratePerSecond, 2.5);
    EXPECT_EQ(full.progress->etaSeconds, 22.0);
    const ProgressLine unknown = parseProgressLine(
        R"({"type":"progress","stage":"loading","done":0,"total":null,"rate_per_second":null,"eta_seconds":null})");
    ASSERT_TRUE(unknown.progress);
    EXPECT_EQ(unknown.progress->total, 0);
    EXPECT_LT(unknown.progress->etaSeconds, 0.0);
    EXPECT_EQ(parseProgressLine(R"({"type":"warning","message":"slow"})").warning, "slow");
    for (const char* other : {"", "lpes: stopped", "{", "[]", "null", R"({"type":"settings"})", R"({"type":5})"}) {
        const ProgressLine none = parseProgressLine(other);
        EXPECT_FALSE(none.progress || none.warning) << other;
    }
}

TEST(RemoteMessages, AMessageIsOneLineWhateverItHolds) {
    const std::string line = jsonLine({{"text", "a\nb\xff"}, {"n", 1}});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(json::parse(line)["n"], 1);
}

}  // namespace
}  // namespace lpes::remote
