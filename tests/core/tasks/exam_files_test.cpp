#include "core/tasks/exam_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/core/tasks/archive_bytes.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using test::archiveBytes;
using test::ArchiveKind;
using test::TempFolder;
using ::testing::HasSubstr;

const std::vector<std::pair<std::string, std::string>> kFiles{
    {"data/test/b_test.csv", "1"},   {"data/dev/b_dev.csv", "2"},     {"data/dev/a_c_dev.csv", "3"},
    {"data/test/a_c_test.csv", "4"}, {"data/test/._b_test.csv", "x"}, {"README.txt", "x"},
    {"data/dev/b_test.csv", "x"},    {"data/test/_test.csv", "x"},    {"aux/b_dev.csv", "x"}};

std::map<std::string, std::string> textsOf(const ExamFiles& files, const std::string& split) {
    std::map<std::string, std::string> texts;
    const auto read =
        files.read([&](const ExamFiles::File& file) { return file.split == split; },
                   [&](const ExamFiles::File& file, std::string_view text, const std::string& where) -> Result<void> {
                       EXPECT_THAT(where, HasSubstr(file.subject + "_" + file.split + ".csv"));
                       texts[file.subject] = text;
                       return {};
                   });
    EXPECT_TRUE(read) << read.error().text();
    return texts;
}

void expectTheFiles(const Result<ExamFiles>& opened) {
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ(opened->files(),
              (std::vector<ExamFiles::File>{{"a_c", "dev"}, {"a_c", "test"}, {"b", "dev"}, {"b", "test"}}));
    EXPECT_TRUE(opened->has("b", "dev"));
    EXPECT_FALSE(opened->has("b", "val"));
    EXPECT_EQ(textsOf(*opened, "test"), (std::map<std::string, std::string>{{"a_c", "4"}, {"b", "1"}}));
    EXPECT_EQ(textsOf(*opened, "dev"), (std::map<std::string, std::string>{{"a_c", "3"}, {"b", "2"}}));
}

TEST(ExamFiles, ReadsArchivesWhateverTheirNameAndOrder) {
    for (const ArchiveKind kind : {ArchiveKind::Tar, ArchiveKind::TarGz, ArchiveKind::Zip}) {
        const TempFolder folder;
        expectTheFiles(ExamFiles::open(folder.write("anything", archiveBytes(kFiles, kind))));
    }
}

TEST(ExamFiles, ReadsFoldersThereAndBelowData) {
    const TempFolder folder;
    for (const char* part : {"data", "data/dev", "data/test", "aux"})
        std::filesystem::create_directory(folder.path() / part);
    for (const auto& [name, text] : kFiles) folder.write(name, text);
    expectTheFiles(ExamFiles::open(folder.path()));
    expectTheFiles(ExamFiles::open(folder.path() / "data"));
}

TEST(ExamFiles, PathsThatClimbOutAreOnlyNames) {
    const TempFolder folder;
    const auto opened = ExamFiles::open(folder.write("a.tar.gz", archiveBytes({{"/../../dev/b_dev.csv", "1"}})));
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ(textsOf(*opened, "dev").at("b"), "1");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()),
              1);
}

TEST(ExamFiles, RefusesWhatIsDamagedMissingOrThereTwice) {
    const TempFolder folder;
    const auto errorOf = [&](const std::string& bytes) {
        const auto opened = ExamFiles::open(folder.write("a.tar.gz", bytes));
        EXPECT_FALSE(opened);
        if (opened) return std::string();
        EXPECT_EQ(opened.error().code, ErrorCode::BadInput);
        return opened.error().message;
    };
    std::string noise(300'000, ' ');
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>((i * i * 7919 + i / 3) % 251);
    const std::string whole = archiveBytes({{"dev/a_dev.csv", noise}, {"test/a_test.csv", noise}});
    EXPECT_THAT(errorOf(whole.substr(0, whole.size() / 2)), HasSubstr("damaged or incomplete"));
    const std::string plain = archiveBytes({{"dev/a_dev.csv", noise}}, ArchiveKind::Tar);
    EXPECT_THAT(errorOf(plain.substr(0, 100'000)), HasSubstr("damaged or incomplete"));
    EXPECT_THAT(errorOf("question,A,B,C,D,answer\n"), HasSubstr("no readable archive"));
    EXPECT_THAT(errorOf(""), HasSubstr("no "));
    EXPECT_THAT(errorOf(archiveBytes({{"x/dev/a_dev.csv", "1"}, {"y/dev/a_dev.csv", "2"}})),
                HasSubstr("holds 'dev/a_dev.csv' twice"));
    EXPECT_THAT(errorOf(archiveBytes({{"README", "1"}})), HasSubstr("holds no exam"));
    EXPECT_THAT(ExamFiles::open(folder.path()).error().message, HasSubstr("holds no exam"));
    EXPECT_THAT(ExamFiles::open(folder.path() / "none").error().message, HasSubstr("cannot read"));
}

TEST(ExamFiles, RefusesAMemberThatInflatesTooFar) {
    const TempFolder folder;
    const std::string text(ExamFiles::kMaxFileBytes + 1, 'x');  // a few kB in the archive
    const auto opened = ExamFiles::open(folder.write("a.tar.gz", archiveBytes({{"dev/a_dev.csv", text}})));
    ASSERT_TRUE(opened) << opened.error().text();
    const auto read = opened->read([](const auto&) { return true; },
                                   [](const auto&, std::string_view, const auto&) -> Result<void> { return {}; });
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("is larger than the 33554432 bytes"));
}

}  // namespace
}  // namespace lpes::tasks
