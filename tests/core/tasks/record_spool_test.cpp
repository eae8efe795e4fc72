#include "core/tasks/record_spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace lpes::tasks {
namespace {

using ::testing::HasSubstr;

TEST(RecordSpool, GivesRecordsBackInAnyOrder) {
    auto spool = RecordSpool::create().value();
    ASSERT_TRUE(spool.append("first"));
    ASSERT_TRUE(spool.append(""));
    ASSERT_TRUE(spool.append(std::string("a\0b\n", 4)));
    EXPECT_EQ(spool.size(), 3);
    EXPECT_EQ(spool.read(2).value(), std::string("a\0b\n", 4));
    EXPECT_EQ(spool.read(0).value(), "first");
    EXPECT_EQ(spool.read(1).value(), "");
}

TEST(RecordSpool, KeepsItsRecordsWhenItMoves) {
    auto spool = RecordSpool::create().value();
    ASSERT_TRUE(spool.append("kept"));
    RecordSpool other = std::move(spool);
    EXPECT_EQ(other.read(0).value(), "kept");
}

TEST(RecordSpool, IsReadByManyThreadsAtOnce) {
    auto spool = RecordSpool::create().value();
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(spool.append(std::string(1000, static_cast<char>('a' + i % 26))));
    std::vector<std::jthread> readers;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) {
        readers.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                const auto record = spool.read(i);
                if (!record || *record != std::string(1000, static_cast<char>('a' + i % 26))) ++wrong;
            }
        });
    }
    readers.clear();
    EXPECT_EQ(wrong, 0);
}

TEST(RecordSpool, NamesAFolderThatCannotBeWrittenAndTheRemedy) {
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before ? before : "";
    ::setenv("TMPDIR", "/no/such/folder", 1);
    const auto spool = RecordSpool::create();
    before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
    ASSERT_FALSE(spool);
    EXPECT_THAT(spool.error().message, HasSubstr("/no/such/folder"));
    EXPECT_THAT(spool.error().message, HasSubstr("TMPDIR"));
}

}  // namespace
}  // namespace lpes::tasks
