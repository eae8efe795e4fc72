#include "core/store/migrations.h"

#include <array>
#include <fstream>

#include "core/store/open.h"
#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

/// Later versions of the schema are played by steps that only this test knows.
class StoreMigration : public StoreTest {
  protected:
    std::vector<Migration> steps{builtInMigrations().begin(), builtInMigrations().end()};
    Surroundings later(const char* sql2, const char* sql3 = nullptr) {
        steps.push_back({kSchemaVersion + 1, sql2});
        if (sql3 != nullptr) steps.push_back({kSchemaVersion + 2, sql3});
        Surroundings surroundings = realSurroundings();
        surroundings.migrations = steps;
        return surroundings;
    }
    std::int64_t fillVersion1() {
        auto writer = openWriter();
        const std::int64_t run = addRun(*writer);
        const std::int64_t variant = writer->ensureVariant(run, "baseline", {}).value();
        for (int item = 0; item < 20; ++item)
            EXPECT_TRUE(writer->recordOutcomes(variant, "search", threeOutcomes(item)));
        return run;
    }
    std::filesystem::path backup() const { return folder / ("lpes.db.v" + std::to_string(kSchemaVersion) + "-backup"); }
};

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(StoreMigration, BuiltInStepsEndAtTheSchemaVersion) {
    int version = 0;
    for (const Migration& step : builtInMigrations()) EXPECT_EQ(step.to, ++version);
    EXPECT_EQ(version, kSchemaVersion);
}

TEST_F(StoreMigration, NewFileCarriesVersionAndApplication) {
    { openWriter(); }
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kSchemaVersion));
    EXPECT_EQ(ask("PRAGMA application_id"), std::to_string(kApplicationId));
    EXPECT_FALSE(std::filesystem::exists(folder / "lpes.db.v0-backup")) << "there was nothing to back up";
    { openWriter(); }
    EXPECT_FALSE(std::filesystem::exists(backup())) << "nothing changed";
}

TEST_F(StoreMigration, OlderFileIsBackedUpAndBroughtThroughEveryStep) {
    const std::int64_t run = fillVersion1();
    const Surroundings newer = later("ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''",
                                     "UPDATE runs SET note = 'step 3'; CREATE TABLE extra (x INTEGER) STRICT");
    {
        const auto reader = store::openReader(path, newer);
        ASSERT_FALSE(reader);
        EXPECT_THAT(reader.error().message, AllOf(HasSubstr("older schema version 1"), HasSubstr("3")));
    }
    {
        auto writer = store::openWriter(path, {"x"}, newer).value();
        EXPECT_EQ(writer->reader().run(run).value().state, RunState::Interrupted);
        EXPECT_EQ(writer->reader().outcomes(1, "search").value().size(), 60u);
    }
    EXPECT_EQ(ask("PRAGMA user_version"), "3");
    EXPECT_EQ(ask("SELECT note FROM runs"), "step 3");
    EXPECT_TRUE(store::openReader(path, newer));

    // The backup is a whole data base of the old version.
    path = backup();
    EXPECT_EQ(ask("PRAGMA user_version"), "1");
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(openReader()->outcomes(1, "search").value().size(), 60u);
    EXPECT_FALSE(std::filesystem::exists(backup().string() + ".part"));
}

TEST_F(StoreMigration, FailedStepLeavesTheLastCompleteVersion) {
    fillVersion1();
    const Surroundings newer =
        later("CREATE TABLE extra (x INTEGER) STRICT", "CREATE TABLE more (x INTEGER); SELECT nonsense");
    const auto writer = store::openWriter(path, {"x"}, newer);
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().code, ErrorCode::Database);
    EXPECT_THAT(writer.error().message, AllOf(HasSubstr(path.string()), HasSubstr("from schema version 2 to 3")));
    EXPECT_EQ(ask("PRAGMA user_version"), "2");
    EXPECT_EQ(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'more'"), "0");
    EXPECT_EQ(ask("SELECT count(*) FROM outcomes"), "60");
}

TEST_F(StoreMigration, StepThatBreaksReferencesIsRolledBack) {
    fillVersion1();
    const auto writer = store::openWriter(path, {"x"}, later("DELETE FROM runs"));
    ASSERT_FALSE(writer);
    EXPECT_THAT(writer.error().detail, HasSubstr("variants"));
    EXPECT_EQ(ask("SELECT count(*) FROM runs"), "1");
}

TEST_F(StoreMigration, WithoutABackupNothingIsMigrated) {
    fillVersion1();
    std::filesystem::create_directories(backup() / "in the way");
    const auto writer = store::openWriter(path, {"x"}, later("CREATE TABLE extra (x INTEGER)"));
    ASSERT_FALSE(writer);
    EXPECT_THAT(writer.error().message, AllOf(HasSubstr(backup().string()), HasSubstr("back up")));
    EXPECT_EQ(ask("PRAGMA user_version"), "1");
    EXPECT_FALSE(std::filesystem::exists(backup().string() + ".part"));
}

TEST_F(StoreMigration, NewerFileIsRefusedByBothAndLeftAlone) {
    fillVersion1();
    { store::openWriter(path, {"x"}, later("CREATE TABLE extra (x INTEGER) STRICT")).value(); }
    std::filesystem::remove(folder / "lpes.db.lock");
    for (const std::string& text :
         {outcomeText(StoreReader::open(path)), outcomeText(StoreWriter::open(path, {"old"}))}) {
        EXPECT_THAT(text, AllOf(HasSubstr("database: "), HasSubstr(path.string()), HasSubstr("schema version 2"),
                                HasSubstr("up to 1"), HasSubstr("update")));
    }
    EXPECT_EQ(ask("PRAGMA user_version"), "2");
    EXPECT_FALSE(std::filesystem::exists(folder / "lpes.db.lock"));
}

}  // namespace lpes::store::test
