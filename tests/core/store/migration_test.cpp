#include "core/store/migrations.h"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "core/store/open.h"
#include "core/store/upgrade.h"
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
    std::int64_t fillCurrent() {
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

/// A file as version 1 of the schema left it.
class StoreVersion1 : public StoreTest {
  protected:
    StoreVersion1() {
        sql("PRAGMA journal_mode = WAL;" + std::string(builtInMigrations().front().sql) + R"(;
            PRAGMA user_version = 1;
            INSERT INTO models VALUES (1, 'f', 'tiny', '/m', 'llama', 'hf', 2, 16, 512, 1, '{}', 't', 'w');
            INSERT INTO datasets VALUES (1, 'd', 'kv', 'h', 'kv', 2, '{}');
            INSERT INTO runs VALUES (1, 'eval', 'finished', 1, 1, 'old', '{}', '7', '0.5', '2', 'cpu', 'cpu', 'float32',
                                     1, 1, 3, 'here', 1, 1000, 2000, 2000, 1.0, 'complete', '', '{}');
            INSERT INTO split_items VALUES (1, 'eval', 0, 'a'), (1, 'eval', 1, 'b');
            INSERT INTO variants VALUES (1, 1, 'baseline', '[]', 'name:baseline');
            INSERT INTO outcomes VALUES (1, 'eval', 'a', 0, 0, 5, 40, 0, 1, 0.25, ''),
                                        (1, 'eval', 'b', 0, 0, 5, 40, 0, 0, 1.5, 'no idea'),
                                        (1, 'eval', 'c', 0, 0, 5, 9000, 1, 0, NULL, '');
        )");
    }
};

TEST_F(StoreVersion1, IsRefusedByAReaderAndLeftAsItIs) {
    const auto reader = StoreReader::open(path);
    ASSERT_FALSE(reader);
    EXPECT_THAT(reader.error().message, HasSubstr("version 1"));
    EXPECT_EQ(ask("PRAGMA user_version"), "1");
}

TEST_F(StoreVersion1, GetsScoresFromWhatWasRightAndNothingThatWasNotMeasured) {
    { openWriter(); }
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kSchemaVersion));
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    const auto reader = openReader();
    EXPECT_EQ(reader->run(1).value().label, "old");
    EXPECT_EQ(reader->run(1).value().seed, 7u);
    const auto rows = reader->outcomes(1, "eval").value();
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].score, 1.0);
    EXPECT_EQ(rows[1].score, 0.0);
    EXPECT_EQ(rows[1].generated, "no idea");
    EXPECT_TRUE(rows[2].skippedTooLong);
    for (const OutcomeRow& row : rows) {
        EXPECT_FALSE(row.strict.has_value());
        EXPECT_FALSE(row.generatedScore.has_value());
        EXPECT_EQ(row.unknownTokens, 0);
    }
    EXPECT_TRUE(std::filesystem::exists(folder / "lpes.db.v1-backup"));
}

TEST_F(StoreVersion1, TakesNewRowsBesideTheOldOnes) {
    {
        auto writer = openWriter();
        OutcomeRow row = someOutcome(7, 0);
        row.score = 0.4;
        row.correct = false;
        row.strict = true;
        row.generatedScore = 0.4;
        row.unknownTokens = 3;
        ASSERT_TRUE(writer->recordOutcomes(1, "eval", std::span(&row, 1)));
    }
    bool found = false;
    const auto rows = openReader()->outcomes(1, "eval").value();
    for (const OutcomeRow& row : rows) {
        if (row.itemId != "item-7") continue;
        found = true;
        EXPECT_EQ(row.score, 0.4);
        EXPECT_EQ(row.strict, true);
        EXPECT_EQ(row.generatedScore, 0.4);
        EXPECT_EQ(row.unknownTokens, 3);
    }
    EXPECT_TRUE(found);
}

TEST_F(StoreVersion1, TakesTheStepsOfATraining) {
    auto writer = openWriter();
    const TrainingStepRow step{1, 2.5, 2.25, 0.5, 1.0, 64};
    const std::int64_t run = addRun(*writer, "train");
    ASSERT_TRUE(writer->recordTrainingSteps(run, std::span(&step, 1)));
    EXPECT_EQ(openReader()->trainingSteps(run).value().size(), 1u);
    EXPECT_TRUE(openReader()->trainingSteps(1).value().empty()) << "the old run has none";
}

TEST_F(StoreVersion1, IsUpgradedOnce) {
    const auto change = store::upgrade(path);
    ASSERT_TRUE(change) << change.error().text();
    ASSERT_TRUE(change->has_value());
    EXPECT_EQ((*change)->from, 1);
    EXPECT_EQ((*change)->to, kSchemaVersion);
    EXPECT_EQ((*change)->backup, folder / "lpes.db.v1-backup");
    EXPECT_TRUE(std::filesystem::exists((*change)->backup));
    EXPECT_EQ(openReader()->runs().value().size(), 1u);
    EXPECT_FALSE(store::upgrade(path).value().has_value());
    EXPECT_FALSE(store::upgrade(folder / "none.db"));
    EXPECT_FALSE(std::filesystem::exists(folder / "none.db")) << "a misspelt name must not make a data base";
}

TEST_F(StoreMigration, OlderFileIsBackedUpAndBroughtThroughEveryStep) {
    const std::int64_t run = fillCurrent();
    const Surroundings newer = later("ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''",
                                     "UPDATE runs SET note = 'last step'; CREATE TABLE extra (x INTEGER) STRICT");
    {
        const auto reader = store::openReader(path, newer);
        ASSERT_FALSE(reader);
        EXPECT_THAT(reader.error().message, AllOf(HasSubstr("older schema version " + std::to_string(kSchemaVersion)),
                                                  HasSubstr(std::to_string(kSchemaVersion + 2))));
    }
    {
        auto writer = store::openWriter(path, {"x"}, newer).value();
        EXPECT_EQ(writer->reader().run(run).value().state, RunState::Interrupted);
        EXPECT_EQ(writer->reader().outcomes(1, "search").value().size(), 60u);
    }
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kSchemaVersion + 2));
    EXPECT_EQ(ask("SELECT note FROM runs"), "last step");
    EXPECT_TRUE(store::openReader(path, newer));

    // The backup is a whole data base of the old version.
    path = backup();
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kSchemaVersion));
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(openReader()->outcomes(1, "search").value().size(), 60u);
    EXPECT_FALSE(std::filesystem::exists(backup().string() + ".part"));
}

TEST_F(StoreMigration, FailedStepLeavesTheLastCompleteVersion) {
    fillCurrent();
    const Surroundings newer =
        later("CREATE TABLE extra (x INTEGER) STRICT", "CREATE TABLE more (x INTEGER); SELECT nonsense");
    const auto writer = store::openWriter(path, {"x"}, newer);
    ASSERT_FALSE(writer);
    EXPECT_EQ(writer.error().code, ErrorCode::Database);
    EXPECT_THAT(writer.error().message,
                AllOf(HasSubstr(path.string()),
                      HasSubstr(fmt::format("from schema version {} to {}", kSchemaVersion + 1, kSchemaVersion + 2))));
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kSchemaVersion + 1));
    EXPECT_EQ(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'more'"), "0");
    EXPECT_EQ(ask("SELECT count(*) FROM outcomes"), "60");
}

TEST_F(StoreMigration, StepThatBreaksReferencesIsRolledBack) {
    fillCurrent();
    const auto writer = store::openWriter(path, {"x"}, later("DELETE FROM runs"));
    ASSERT_FALSE(writer);
    EXPECT_THAT(writer.error().detail, HasSubstr("variants"));
    EXPECT_EQ(ask("SELECT count(*) FROM runs"), "1");
}

TEST_F(StoreMigration, WithoutABackupNothingIsMigrated) {
    fillCurrent();
    std::filesystem::create_directories(backup() / "in the way");
    const auto writer = store::openWriter(path, {"x"}, later("CREATE TABLE extra (x INTEGER)"));
    ASSERT_FALSE(writer);
    EXPECT_THAT(writer.error().message, AllOf(HasSubstr(backup().string()), HasSubstr("back up")));
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kSchemaVersion));
    EXPECT_FALSE(std::filesystem::exists(backup().string() + ".part"));
}

TEST_F(StoreMigration, NewerFileIsRefusedByBothAndLeftAlone) {
    fillCurrent();
    { store::openWriter(path, {"x"}, later("CREATE TABLE extra (x INTEGER) STRICT")).value(); }
    std::filesystem::remove(folder / "lpes.db.lock");
    for (const std::string& text :
         {outcomeText(StoreReader::open(path)), outcomeText(StoreWriter::open(path, {"old"}))}) {
        EXPECT_THAT(text, AllOf(HasSubstr("database: "), HasSubstr(path.string()),
                                HasSubstr(fmt::format("schema version {}", kSchemaVersion + 1)),
                                HasSubstr(fmt::format("up to {}", kSchemaVersion)), HasSubstr("update")));
    }
    EXPECT_EQ(ask("PRAGMA user_version"), std::to_string(kSchemaVersion + 1));
    EXPECT_FALSE(std::filesystem::exists(folder / "lpes.db.lock"));
}

}  // namespace lpes::store::test
