#include "core/store/file_system.h"

#include "core/store/open.h"
#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

class StoreFileSystem : public StoreTest {
  protected:
    Surroundings on(const std::string& network) {
        Surroundings surroundings = realSurroundings();
        surroundings.networkFileSystem = [network](const std::filesystem::path&) {
            return Result<std::string>(network);
        };
        return surroundings;
    }
};

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NetworkFileSystem, IsKnownByItsMagicNumber) {
    EXPECT_EQ(networkFileSystemName(0x6969), "NFS");
    EXPECT_EQ(networkFileSystemName(0x517B), "SMB");
    EXPECT_EQ(networkFileSystemName(0xFF534D42), "CIFS");
    EXPECT_EQ(networkFileSystemName(0xFE534D42), "SMB2");
    EXPECT_EQ(networkFileSystemName(0x5346414F), "AFS");
    EXPECT_EQ(networkFileSystemName(0x73757245), "Coda");
    EXPECT_EQ(networkFileSystemName(0x01021997), "9p");
    EXPECT_EQ(networkFileSystemName(0x65735546), "FUSE");
    EXPECT_EQ(networkFileSystemName(0xEF53), "") << "ext4";
    EXPECT_EQ(networkFileSystemName(0x01021994), "") << "tmpfs";
    EXPECT_EQ(networkFileSystemName(0x9123683E), "") << "btrfs";
}

TEST(NetworkFileSystem, OfAMissingFolderIsAnError) {
    EXPECT_EQ(networkFileSystemOf("/does/not/exist").error().code, ErrorCode::Database);
}

TEST_F(StoreFileSystem, LocalDiskGetsWal) {
    auto writer = store::openWriter(path, {"x"}, on("")).value();
    EXPECT_THAT(writer->warnings(), IsEmpty());
    addRun(*writer);
    EXPECT_TRUE(std::filesystem::exists(folder / "lpes.db-wal"));
    EXPECT_EQ(ask("PRAGMA journal_mode"), "wal");
}

TEST_F(StoreFileSystem, NetworkGetsARollbackJournalAndAWarning) {
    auto writer = store::openWriter(path, {"x"}, on("NFS")).value();
    ASSERT_EQ(writer->warnings().size(), 1u);
    EXPECT_THAT(writer->warnings()[0], AllOf(HasSubstr(path.string()), HasSubstr("NFS"), HasSubstr("--db")));
    const std::int64_t run = addRun(*writer);
    EXPECT_FALSE(std::filesystem::exists(folder / "lpes.db-wal"));
    EXPECT_EQ(ask("PRAGMA journal_mode"), "delete");
    EXPECT_EQ(openReader()->run(run).value().state, RunState::Running);
}

TEST_F(StoreFileSystem, MovingBetweenDisksChangesTheJournal) {
    { store::openWriter(path, {"x"}, on("")).value(); }
    { store::openWriter(path, {"x"}, on("FUSE")).value(); }
    EXPECT_EQ(ask("PRAGMA journal_mode"), "delete");
    { store::openWriter(path, {"x"}, on("")).value(); }
    EXPECT_EQ(ask("PRAGMA journal_mode"), "wal");
}

TEST_F(StoreFileSystem, FailureToFindOutIsAnErrorThatWritesNothing) {
    Surroundings surroundings = realSurroundings();
    surroundings.networkFileSystem = [](const std::filesystem::path&) -> Result<std::string> {
        return fail(ErrorCode::Database, "cannot find out");
    };
    EXPECT_EQ(store::openWriter(path, {"x"}, surroundings).error().message, "cannot find out");
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace lpes::store::test
