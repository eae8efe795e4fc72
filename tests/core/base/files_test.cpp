#include "core/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "tests/support/temp_folder.h"

namespace lpes {
namespace {

using test::TempFolder;
using ::testing::HasSubstr;

std::size_t filesIn(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// While it lives, no file can grow beyond `bytes`: to a writer that is a full disk.
class SmallDisk {
  public:
    explicit SmallDisk(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        m_handler = ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~SmallDisk() {
        ::setrlimit(RLIMIT_FSIZE, &m_before);
        ::signal(SIGXFSZ, m_handler);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

  private:
    rlimit m_before{};
    sighandler_t m_handler = nullptr;
};

TEST(ReadTextFile, GivesEveryByteBack) {
    const TempFolder folder;
    std::string bytes(200'000, 'x');
    bytes[0] = '\0';
    bytes[70'000] = '\r';
    bytes.back() = '\xff';
    const auto text = readTextFile(folder.write("a", bytes));
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, bytes);
    EXPECT_EQ(readTextFile(folder.write("empty", "")).value(), "");
}

TEST(ReadTextFile, NamesTheFileThatIsMissing) {
    const TempFolder folder;
    const auto text = readTextFile(folder.path() / "no-such-file");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::BadInput);
    EXPECT_THAT(text.error().message, HasSubstr("no-such-file"));
}

TEST(ReadTextFile, RefusesAFolder) {
    const TempFolder folder;
    const auto text = readTextFile(folder.path());
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::BadInput);
}

TEST(ReadTextFile, TakesTheLimitAndRefusesOneByteMore) {
    const TempFolder folder;
    const auto path = folder.write("limit", "0123456789");
    EXPECT_EQ(readTextFile(path, 10).value(), "0123456789");
    const auto text = readTextFile(path, 9);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::BadInput);
    EXPECT_THAT(text.error().message, HasSubstr("9 bytes"));
    EXPECT_THAT(text.error().message, HasSubstr("10"));  // the file's own size
}

TEST(ReadTextFile, StopsAtTheLimitOfAnEndlessFile) {
    const auto text = readTextFile("/dev/zero", 1 << 20);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::BadInput);
}

TEST(WriteFileAtomically, MakesAndReplacesAFile) {
    const TempFolder folder;
    const auto path = folder.path() / "profile.json";
    ASSERT_TRUE(writeFileAtomically(path, "old"));
    const std::string bytes(300'000, 'n');
    ASSERT_TRUE(writeFileAtomically(path, bytes));
    EXPECT_EQ(readTextFile(path).value(), bytes);
    EXPECT_EQ(filesIn(folder.path()), 1u);
    ASSERT_TRUE(writeFileAtomically(path, ""));
    EXPECT_EQ(readTextFile(path).value(), "");
}

TEST(WriteFileAtomically, RefusesAFolderThatIsMissing) {
    const TempFolder folder;
    const auto written = writeFileAtomically(folder.path() / "missing" / "a", "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::Failed);
    EXPECT_THAT(written.error().message, HasSubstr("missing"));
    EXPECT_EQ(filesIn(folder.path()), 0u);
}

TEST(WriteFileAtomically, LeavesNothingBehindWhenTheTargetIsAFolder) {
    const TempFolder folder;
    std::filesystem::create_directory(folder.path() / "taken");
    const auto written = writeFileAtomically(folder.path() / "taken", "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::Failed);
    EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "taken"));
    EXPECT_EQ(filesIn(folder.path()), 1u);
}

TEST(WriteFileAtomically, RefusesAFolderWithoutWritePermission) {
    if (::geteuid() == 0) GTEST_SKIP() << "permissions do not bind the superuser";
    const TempFolder folder;
    std::filesystem::permissions(folder.path(),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    const auto written = writeFileAtomically(folder.path() / "a", "x");
    const std::size_t left = filesIn(folder.path());
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::Failed);
    EXPECT_EQ(left, 0u);
}

TEST(WriteFileAtomically, KeepsTheOldFileAndNothingElseWhenTheDiskIsFull) {
    const TempFolder folder;
    const auto path = folder.path() / "run.json";
    ASSERT_TRUE(writeFileAtomically(path, "old"));
    {
        const SmallDisk full(100'000);
        const auto written = writeFileAtomically(path, std::string(1'000'000, 'x'));
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().code, ErrorCode::Failed);
        EXPECT_THAT(written.error().message, HasSubstr("run.json"));
    }
    EXPECT_EQ(readTextFile(path).value(), "old");
    EXPECT_EQ(filesIn(folder.path()), 1u);
}

TEST(WriteFileAtomically, NeverMixesTwoWritersOfOneProcess) {
    const TempFolder folder;
    const auto path = folder.path() / "shared";
    const std::string a(100'000, 'a'), b(150'000, 'b');
    const auto writeOften = [&](const std::string& bytes) {
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(writeFileAtomically(path, bytes));
    };
    std::thread other([&] { writeOften(b); });
    writeOften(a);
    other.join();
    const std::string text = readTextFile(path).value();
    EXPECT_TRUE(text == a || text == b);
    EXPECT_EQ(filesIn(folder.path()), 1u);
}

TEST(MappedFile, ShowsTheBytesAndOutlivesItsMove) {
    const TempFolder folder;
    auto opened = MappedFile::open(folder.write("a", "abc"));
    ASSERT_TRUE(opened);
    MappedFile moved = std::move(*opened);
    ASSERT_EQ(moved.bytes().size(), 3u);
    EXPECT_EQ(moved.bytes()[2], std::byte{'c'});
    EXPECT_EQ(moved.path().filename(), "a");

    auto other = MappedFile::open(folder.write("b", "xyzw"));
    ASSERT_TRUE(other);
    moved = std::move(*other);
    EXPECT_EQ(moved.bytes().size(), 4u);
}

TEST(MappedFile, RefusesWhatCannotBeMapped) {
    const TempFolder folder;
    for (const auto& path :
         {folder.path() / "missing", folder.path(), folder.write("empty", ""), std::filesystem::path("/dev/null")}) {
        const auto mapped = MappedFile::open(path);
        ASSERT_FALSE(mapped) << path;
        EXPECT_EQ(mapped.error().code, ErrorCode::BadInput);
        EXPECT_THAT(mapped.error().message, HasSubstr(path.string()));
    }
}

TEST(UserDataFolder, FollowsXdgAndIgnoresARelativePath) {
    ::setenv("HOME", "/home/someone", 1);
    ::setenv("XDG_DATA_HOME", "/data", 1);
    EXPECT_EQ(userDataFolder(), "/data/lpes");
    ::setenv("XDG_DATA_HOME", "relative", 1);
    EXPECT_EQ(userDataFolder(), "/home/someone/.local/share/lpes");
    ::unsetenv("XDG_DATA_HOME");
    EXPECT_EQ(userDataFolder(), "/home/someone/.local/share/lpes");
}

TEST(RefuseFile, NamesTheFileAndWhy) {
    const Result<void> damaged = refuseFile("a b.bin", "it is empty"), later = refuseFile("c", "no", ErrorCode::Failed);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().code, ErrorCode::BadInput);
    EXPECT_EQ(damaged.error().message, "'a b.bin': it is empty");
    EXPECT_EQ(later.error().code, ErrorCode::Failed);
}

}  // namespace
}  // namespace lpes
