#include "core/remote/data_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace lpes::remote {
namespace {

TEST(RemoteData, AFileIsKnownByItsNameAndContent) {
    const test::TempFolder a, b;
    a.write("items.jsonl", "one");
    b.write("items.jsonl", "one");
    b.write("other.jsonl", "one");
    const DataFiles first = listData(a.path() / "items.jsonl").value();
    EXPECT_FALSE(first.folder);
    EXPECT_EQ(first.name, "items.jsonl");
    ASSERT_EQ(first.files.size(), 1u);
    EXPECT_EQ(first.files[0].bytes, 3u);
    EXPECT_EQ(first.pathOf(first.files[0]), first.root);
    EXPECT_EQ(listData(b.path() / "items.jsonl").value().key, first.key) << "wherever it lies";
    EXPECT_NE(listData(b.path() / "other.jsonl").value().key, first.key);
    b.write("items.jsonl", "two");
    EXPECT_NE(listData(b.path() / "items.jsonl").value().key, first.key);
}

TEST(RemoteData, AFolderIsItsFilesInOrder) {
    const test::TempFolder folder;
    std::filesystem::create_directories(folder.path() / "data" / "dev");
    folder.write("data/z.csv", "z");
    folder.write("data/dev/a.csv", "");
    std::filesystem::create_symlink("nowhere", folder.path() / "data" / "dangling");
    const DataFiles data = listData(folder.path() / "data" / "").value();
    EXPECT_TRUE(data.folder);
    EXPECT_EQ(data.name, "data");
    ASSERT_EQ(data.files.size(), 2u);
    EXPECT_EQ(data.files[0].name, "dev/a.csv");
    EXPECT_EQ(data.files[1].name, "z.csv");
    EXPECT_EQ(data.pathOf(data.files[0]), data.root / "dev" / "a.csv");
}

TEST(RemoteData, WhatIsNotThereIsNamed) {
    const auto missing = listData("/nonexistent/items.jsonl");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::BadInput);
    EXPECT_THAT(missing.error().message, testing::HasSubstr("/nonexistent/items.jsonl"));
}

}  // namespace
}  // namespace lpes::remote
