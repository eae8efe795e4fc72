#include "core/base/error.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace lpes {
namespace {

TEST(Error, HasTheExitCodesThatScriptsRelyOn) {
    EXPECT_EQ(exitCode(ErrorCode::Failed), 1);
    EXPECT_EQ(exitCode(ErrorCode::Usage), 2);
    EXPECT_EQ(exitCode(ErrorCode::BadInput), 3);
    EXPECT_EQ(exitCode(ErrorCode::Unsupported), 4);
    EXPECT_EQ(exitCode(ErrorCode::OutOfMemory), 5);
    EXPECT_EQ(exitCode(ErrorCode::Database), 6);
}

TEST(Error, HasADifferentNameForEveryCode) {
    std::set<std::string_view> names;
    for (const ErrorCode code : {ErrorCode::Failed, ErrorCode::Usage, ErrorCode::BadInput, ErrorCode::Unsupported,
                                 ErrorCode::OutOfMemory, ErrorCode::Database}) {
        names.insert(errorName(code));
    }
    EXPECT_EQ(names.size(), 6u);
}

TEST(Error, LeavesOutWhatIsEmpty) {
    EXPECT_EQ((Error{ErrorCode::Failed, "message", "", ""}.text()), "message");
    EXPECT_EQ((Error{ErrorCode::Failed, "message", "detail", "context"}.text()), "context: message (detail)");
}

TEST(Result, CarriesTheErrorOn) {
    const Result<int> first = fail(ErrorCode::Database, "locked", "by 12", "lpes.db");
    const Result<void> second = fail(first.error());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Database);
    EXPECT_EQ(second.error().text(), "lpes.db: locked (by 12)");
}

TEST(Clock, WritesUtc) {
    EXPECT_EQ(formatUtc(0), "1970-01-01 00:00:00 UTC");
    EXPECT_EQ(formatUtc(951'782'400'999), "2000-02-29 00:00:00 UTC");
}

TEST(Clock, OfDurationsNeverGoesBack) {
    double last = steadySeconds();
    for (int i = 0; i < 1000; ++i) {
        const double now = steadySeconds();
        ASSERT_GE(now, last);
        last = now;
    }
}

}  // namespace
}  // namespace lpes
