#include "core/remote/handle.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "tests/support/temp_folder.h"

namespace lpes::remote {
namespace {

/// A user's data folder of its own.
class RemoteHandle : public testing::Test {
  protected:
    RemoteHandle() { ::setenv("XDG_DATA_HOME", folder.path().c_str(), 1); }
    ~RemoteHandle() override { ::unsetenv("XDG_DATA_HOME"); }

    Handle handle(const std::string& job, std::int64_t run, std::int64_t created) const {
        return {job, {"me@somewhere", "~/bin/lpes"}, folder.path() / "lpes.db", run, created};
    }
    test::TempFolder folder;
};

TEST_F(RemoteHandle, IsFoundByItsDataBaseAndRun) {
    EXPECT_TRUE(handlesOf(folder.path() / "lpes.db").empty());
    ASSERT_TRUE(writeHandle(handle("a", 3, 100)));
    ASSERT_TRUE(writeHandle(handle("b", 0, 200)));
    folder.write("lpes/remote/handles/broken.json", "{");
    const auto all = handlesOf(folder.path() / "." / "lpes.db");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].job, "b") << "the newest first";
    EXPECT_EQ(all[1].host.name, "me@somewhere");
    EXPECT_EQ(all[1].host.program, "~/bin/lpes");
    EXPECT_EQ(all[1].createdMs, 100);
    EXPECT_EQ(handleOf(folder.path() / "lpes.db", 3)->job, "a");
    EXPECT_FALSE(handleOf(folder.path() / "lpes.db", 4));
    EXPECT_TRUE(handlesOf(folder.path() / "other.db").empty());
    removeHandle(all[1]);
    EXPECT_FALSE(handleOf(folder.path() / "lpes.db", 3));
}

TEST_F(RemoteHandle, JobsHaveNamesOfTheirOwn) {
    std::set<std::string> names;
    for (int i = 0; i < 100; ++i) names.insert(newJobName());
    EXPECT_EQ(names.size(), 100u);
}

}  // namespace
}  // namespace lpes::remote
