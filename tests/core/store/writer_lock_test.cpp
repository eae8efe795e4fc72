#include "core/store/writer_lock.h"

#include <fcntl.h>

#include <fstream>
#include <sstream>

#include "core/base/host.h"
#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

class StoreLock : public StoreTest {
  protected:
    std::string lockText() {
        std::ifstream file(lockPath(path));
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }
};

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(StoreLock, SecondWriterInTheSameProcessIsToldWhoHoldsIt) {
    auto writer = openWriter("lpes search");
    const auto second = StoreWriter::open(path, {"lpes eval"});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Database);
    EXPECT_THAT(second.error().message, AllOf(HasSubstr(path.string()), HasSubstr("lpes search"),
                                              HasSubstr(std::to_string(::getpid())), HasSubstr(hostName())));
    EXPECT_THAT(lockText(), HasSubstr("lpes search")) << "the refused one must not touch the holder's text";
    addRun(*writer);
    writer.reset();
    EXPECT_EQ(lockText(), "");
    openWriter("lpes eval");
}

TEST_F(StoreLock, SecondWriterInAnotherProcessIsToldWhoHoldsIt) {
    auto writer = openWriter("lpes \"search\"\nline");
    Child child([&](int pipe) { say(pipe, outcomeText(StoreWriter::open(path, {"lpes eval"}))); });
    EXPECT_THAT(child.readAll(),
                AllOf(HasSubstr("database: "), HasSubstr("lpes \"search\""), HasSubstr(std::to_string(::getpid()))));
}

TEST_F(StoreLock, IsFreeAfterKillOfTheHolder) {
    Child child([&](int pipe) {
        auto writer = openWriter("lpes search");
        say(pipe, "+");
        ::pause();
    });
    ASSERT_TRUE(child.readByte());
    EXPECT_TRUE(WriterLock::held(path).value());
    const auto refused = StoreWriter::open(path, {"lpes eval"});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(child.pid())));
    child.kill();
    EXPECT_FALSE(WriterLock::held(path).value());
    openWriter("lpes eval");
}

TEST_F(StoreLock, AskingNeverTakesIt) {
    EXPECT_FALSE(WriterLock::held(path).value());
    EXPECT_FALSE(std::filesystem::exists(lockPath(path)));
    const auto lock = WriterLock::acquire(path, "a");
    ASSERT_TRUE(lock);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(WriterLock::held(path).value());
    EXPECT_FALSE(WriterLock::acquire(path, "b"))
        << "the questions closed descriptors of the file: the lock must survive";
}

TEST_F(StoreLock, IsGivenUpEvenWhileAChildKeepsTheDescriptor) {
    auto writer = openWriter();
    Child child([](int) { ::pause(); });
    writer.reset();
    openWriter();
}

TEST_F(StoreLock, IsSharedByEverySpellingOfThePath) {
    std::filesystem::create_directory_symlink(folder, folder / "link");
    auto writer = openWriter();
    EXPECT_FALSE(StoreWriter::open(folder / "link" / "lpes.db", {"x"}));
    std::filesystem::create_symlink(path, folder / "alias.db");
    EXPECT_FALSE(StoreWriter::open(folder / "alias.db", {"x"}));
}

TEST_F(StoreLock, SurvivesAForeignText) {
    std::ofstream(lockPath(path)) << "not json at all";
    const int fd = ::open(lockPath(path).c_str(), O_RDWR);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    ASSERT_EQ(::fcntl(fd, F_OFD_SETLK, &whole), 0);
    const auto refused = StoreWriter::open(path, {"x"});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("another process"));
    ::close(fd);
}

}  // namespace lpes::store::test
