#include <fstream>
#include <set>

#include "core/store/run_merger.h"
#include "core/store/run_numbers.h"
#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Change = MergedRun::Change;

/// `path` is the data base of home; `away` that of another machine.
class StoreMerge : public StoreTest {
  protected:
    StoreMerge() { away = folder / "away.db"; }

    std::unique_ptr<StoreWriter> openAway() { return StoreWriter::open(away, {"lpes test"}).value(); }

    /// A search with a row in every table, not yet ended.
    static std::int64_t addWholeRun(StoreWriter& writer, int items = 2) {
        RunRow row = someRun();
        ModelRow model;
        model.fingerprint = "f";
        model.path = "there/model";
        row.modelId = writer.ensureModel(model).value();
        row.datasetId = writer.ensureDataset({0, "h", "kv", "words", "t", 96, "{}"}).value();
        const std::int64_t run = writer.addRun(row).value();
        const std::vector<double> scales{1.0 / 3.0, 1.1};
        const std::int64_t variant = writer.ensureVariant(run, "candidate", scales).value();
        EXPECT_TRUE(writer.setSplit(run, "search", std::vector<std::string>{"item-1", "item-2"}));
        for (int item = 1; item <= items; ++item) {
            EXPECT_TRUE(writer.recordOutcomes(variant, "search", threeOutcomes(item)));
        }
        EXPECT_TRUE(writer.recordSlopes(variant, "search", std::vector<SlopeRow>{{"item-1", 0, 1.5, {0.1, 0.2}}}));
        CandidateRow candidate;
        candidate.variantId = variant;
        candidate.pointsJson = "[[0,1.1],[1,0.9]]";
        candidate.fitness = -0.5;
        EXPECT_TRUE(writer.recordCandidate(run, candidate));
        EXPECT_TRUE(writer.recordGeneration(run, {0, -0.5, -1.0, -2.0, 0.1, 0.2, 1, "[[0,0]]", 3, 0.75}));
        EXPECT_TRUE(writer.recordTrainingSteps(run, std::vector<TrainingStepRow>{{1, 2.5, 2.25, 0.5, 1.5, 64}}));
        EXPECT_TRUE(writer.recordPositions(
            run, std::vector<PositionRow>{{variant, "report", 0, "begin", 0, 1.0, 4, 2, 0.5, 0.1, 0.9, 1.25}}));
        EXPECT_TRUE(writer.recordAttention(run, std::vector<AttentionRow>{{variant, 0, "begin", -1, -1, 0.5, 0.5}}));
        EXPECT_TRUE(writer.recordDeviations(run, std::vector<DeviationRow>{{variant, 0, 0.1, 0.0, 0.2, 0.9, 0.8, 4}}));
        const std::string profile = "{\n  \"provenance\": {\n    \"run_id\": " + std::to_string(run) + "\n  }\n}";
        EXPECT_TRUE(writer.saveProfile(run, profile));
        return run;
    }

    static std::string result(std::int64_t run) { return R"({"best":1,"run_id":)" + std::to_string(run) + "}"; }

    /// Rows of every table of a run at home.
    std::int64_t rows(std::int64_t run) {
        std::int64_t all = 0;
        for (const std::string& table : RunMerger::tablesOfRuns()) {
            all += std::stoll(ask("SELECT count(*) FROM " + table + " WHERE run_id = " + std::to_string(run)));
        }
        for (const std::string& table : RunMerger::tablesOfVariants()) {
            all += std::stoll(ask("SELECT count(*) FROM " + table + " t JOIN variants v ON v.id = t.variant_id " +
                                  "WHERE v.run_id = " + std::to_string(run)));
        }
        return all;
    }

    std::filesystem::path away;
};

TEST_F(StoreMerge, EveryTableOfTheSchemaIsCopied) {
    openWriter();
    std::set<std::string> known{"models", "datasets", "runs", "variants"};
    for (const std::string& table : RunMerger::tablesOfRuns()) known.insert(table);
    for (const std::string& table : RunMerger::tablesOfVariants()) known.insert(table);
    SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
    SQLite::Statement tables(database,
                             "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
    std::set<std::string> found;
    while (tables.executeStep()) found.insert(tables.getColumn(0).getString());
    EXPECT_EQ(found, known) << "a table that core/store/run_merger.cpp does not know";
}

TEST_F(StoreMerge, ARunComesWithAllItsRowsUnderANumberOfItsOwn) {
    {
        auto writer = openAway();
        const std::int64_t run = addWholeRun(*writer);
        ASSERT_TRUE(writer->endRun(run, RunState::Finished, 12.5, "done", "", result(run)));
    }
    auto writer = openWriter();
    addRun(*writer, "eval");
    addRun(*writer, "eval");
    const auto merged = writer->merge(away).value();
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_EQ(merged[0].from, 1);
    EXPECT_EQ(merged[0].to, 3);
    EXPECT_EQ(merged[0].change, Change::Added);
    EXPECT_TRUE(merged[0].ended);
    EXPECT_EQ(merged[0].kind, "search");

    const auto there = StoreReader::open(away).value();
    StoreReader& here = writer->reader();
    const RunRow from = there->run(1).value(), to = here.run(3).value();
    EXPECT_EQ(to.state, RunState::Finished);
    EXPECT_EQ(to.createdMs, from.createdMs);
    EXPECT_EQ(to.heartbeatMs, from.heartbeatMs);
    EXPECT_EQ(to.host, from.host);
    EXPECT_EQ(to.settingsJson, from.settingsJson);
    EXPECT_EQ(to.elapsedSeconds, 12.5);
    EXPECT_EQ(to.resultJson, result(3)) << "numbers in texts are those of this data base";
    EXPECT_EQ(here.model(to.modelId).value().path, "there/model");
    EXPECT_EQ(here.dataset(to.datasetId).value().name, "words");
    EXPECT_EQ(here.split(3, "search").value(), there->split(1, "search").value());
    const auto variants = here.variants(3).value();
    ASSERT_EQ(variants.size(), 1u);
    EXPECT_EQ(variants[0].scales, there->variants(1).value()[0].scales) << "to the last bit";
    const auto outcomes = here.outcomes(variants[0].id, "search").value();
    ASSERT_EQ(outcomes.size(), 6u);
    EXPECT_EQ(outcomes[4].nll, someOutcome(2, 1).nll);
    EXPECT_EQ(here.slopes(variants[0].id, "search").value().size(), 1u);
    EXPECT_EQ(here.trainingSteps(3).value().size(), 1u);
    EXPECT_EQ(here.candidates(3).value().at(0).variantId, variants[0].id);
    EXPECT_EQ(here.generations(3).value().size(), 1u);
    EXPECT_EQ(here.positions(3).value().at(0).variantId, variants[0].id);
    EXPECT_EQ(here.attention(3).value().size(), 1u);
    EXPECT_EQ(here.deviations(3).value().size(), 1u);
    EXPECT_THAT(here.profiles(3).value().at(0).json, HasSubstr("\n    \"run_id\": 3\n"));
}

TEST_F(StoreMerge, ARunThatIsHereIsNotDoubled) {
    { addWholeRun(*openAway()); }
    std::int64_t once = 0;
    {
        auto writer = openWriter();
        ASSERT_EQ(writer->merge(away).value().at(0).change, Change::Added);
    }
    once = rows(1);
    auto writer = openWriter();
    const auto again = writer->merge(away).value();
    EXPECT_EQ(again.at(0).to, 1);
    EXPECT_EQ(again.at(0).change, Change::Unchanged);
    EXPECT_EQ(writer->reader().runs().value().size(), 1u);
    writer.reset();
    EXPECT_EQ(rows(1), once);
    EXPECT_EQ(ask("SELECT count(*) FROM models"), "1");
    EXPECT_EQ(ask("SELECT count(*) FROM datasets"), "1");
    EXPECT_EQ(ask("SELECT count(*) FROM pragma_foreign_key_check"), "0");
}

TEST_F(StoreMerge, ARunIsBroughtUpToDateWhileItGoesOn) {
    auto there = openAway();
    const std::int64_t run = addWholeRun(*there, 1);
    {
        auto writer = openWriter();
        const auto first = writer->merge(away).value();  // somebody is writing to it
        EXPECT_FALSE(first.at(0).ended);
        const RunRow row = writer->reader().run(1).value();
        EXPECT_EQ(row.state, RunState::Interrupted) << "nobody works on it here";
        EXPECT_EQ(row.endedMs, row.heartbeatMs);
        EXPECT_THAT(row.endReason, HasSubstr("had not ended"));
    }
    const std::int64_t variant = there->reader().variants(run).value().at(0).id;
    ASSERT_TRUE(there->recordOutcomes(variant, "search", threeOutcomes(2)));
    auto writer = openWriter();
    EXPECT_EQ(writer->merge(away).value().at(0).change, Change::Updated);
    const std::int64_t here = writer->reader().variants(1).value().at(0).id;
    EXPECT_EQ(writer->reader().outcomes(here, "search").value().size(), 6u);
    ASSERT_TRUE(there->endRun(run, RunState::Finished, 3.0, "done", "", result(run)));
    EXPECT_EQ(writer->merge(away).value().at(0).change, Change::Updated);
    EXPECT_EQ(writer->reader().run(1).value().state, RunState::Finished);
    EXPECT_EQ(writer->reader().run(1).value().endReason, "done");
}

TEST_F(StoreMerge, WhatHomeKnowsBetterStays) {
    { addWholeRun(*openAway(), 1); }
    auto writer = openWriter();
    ASSERT_TRUE(writer->merge(away));
    ASSERT_TRUE(writer->reopenRun(1, 1));
    const std::int64_t variant = writer->reader().variants(1).value().at(0).id;
    ASSERT_TRUE(writer->recordOutcomes(variant, "search", threeOutcomes(2)));
    ASSERT_TRUE(writer->endRun(1, RunState::Finished, 3.0, "done", "", result(1)));
    EXPECT_EQ(writer->merge(away).value().at(0).change, Change::Unchanged);
    EXPECT_EQ(writer->reader().run(1).value().state, RunState::Finished);
    EXPECT_EQ(writer->reader().run(1).value().resultJson, result(1));
    EXPECT_EQ(writer->reader().outcomes(variant, "search").value().size(), 6u);
}

TEST_F(StoreMerge, RunsOfOneSettingStartedAtOtherTimesAreTwo) {
    { addWholeRun(*openAway()); }
    auto writer = openWriter();
    ASSERT_TRUE(writer->merge(away));
    writer.reset();
    sql("UPDATE runs SET created_ms = created_ms - 1");
    writer = openWriter();
    EXPECT_EQ(writer->merge(away).value().at(0).to, 2);
}

TEST_F(StoreMerge, PartsFollowTheirWhole) {
    const std::string part = R"({"part_of":{"origin":"default","value":"1/seed 3"}})";
    {
        auto there = openAway();
        addRun(*there, "study");
        RunRow row = someRun();
        row.settingsJson = part;
        ASSERT_TRUE(there->addRun(row));
        ASSERT_TRUE(there->endRun(1, RunState::Finished, 1.0, "done", "", R"({"run_id":1,"searches":[{"run_id":2}]})"));
    }
    auto writer = openWriter();
    addRun(*writer, "eval");
    ASSERT_EQ(writer->merge(away).value().size(), 2u);
    EXPECT_EQ(writer->reader().run(2).value().resultJson, R"({"run_id":2,"searches":[{"run_id":3}]})");
    EXPECT_EQ(writer->reader().run(3).value().settingsJson, R"({"part_of":{"origin":"default","value":"2/seed 3"}})");
    EXPECT_EQ(writer->merge(away).value().at(1).change, Change::Unchanged) << "part_of does not make another run of it";

    // The part alone is a run of its own where its study is not, and stays a part where it is.
    const std::filesystem::path alone = folder / "alone.db";
    ASSERT_TRUE(extractRun(path, 3, alone));
    EXPECT_EQ(writer->merge(alone).value().at(0).to, 3);
    EXPECT_EQ(writer->reader().run(3).value().settingsJson, R"({"part_of":{"origin":"default","value":"2/seed 3"}})");
    auto other = StoreWriter::open(folder / "other.db", {"lpes test"}).value();
    ASSERT_TRUE(other->merge(alone));
    EXPECT_EQ(other->reader().run(1).value().settingsJson, R"({"part_of":{"origin":"default","value":null}})");
}

TEST_F(StoreMerge, AnExtractHoldsOneRunWithItsPartsAndNothingElse) {
    auto writer = openWriter();
    addRun(*writer, "eval");
    const std::int64_t run = addWholeRun(*writer);
    const std::filesystem::path file = folder / "one.db";
    std::ofstream(folder / "one.db.part") << "the user's own";
    ASSERT_TRUE(extractRun(path, run, file)) << "the writer is at work";
    const auto partsLeft = [&] {
        std::set<std::string> parts;
        for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
            if (entry.path().string().find(".part") != std::string::npos)
                parts.insert(entry.path().filename().string());
        }
        return parts;
    };
    EXPECT_EQ(partsLeft(), std::set<std::string>{"one.db.part"});
    const auto one = StoreReader::open(file).value();
    const auto runs = one->runs().value();
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].id, run);
    EXPECT_EQ(one->outcomes(one->variants(run).value().at(0).id, "search").value().size(), 6u);
    const auto twice = extractRun(path, run, file);
    ASSERT_FALSE(twice);
    EXPECT_THAT(twice.error().message, AllOf(HasSubstr("one.db"), HasSubstr("name a new file")));
    const auto missing = extractRun(path, 99, folder / "none.db");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::Usage);
    EXPECT_THAT(missing.error().message, HasSubstr("no run 99"));
    EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
    EXPECT_EQ(partsLeft(), std::set<std::string>{"one.db.part"});
}

TEST_F(StoreMerge, WhatIsRefusedLeavesHomeAsItWas) {
    { addWholeRun(*openAway()); }
    auto writer = openWriter();
    const auto expectRefused = [&](const std::filesystem::path& file, ErrorCode code, const std::string& part) {
        const auto refused = writer->merge(file);
        ASSERT_FALSE(refused) << file;
        EXPECT_EQ(refused.error().code, code) << refused.error().text();
        EXPECT_THAT(refused.error().message, HasSubstr(part));
        EXPECT_TRUE(writer->reader().runs().value().empty());
        EXPECT_FALSE(std::filesystem::exists(path.string() + ".merge"));
    };
    expectRefused(path, ErrorCode::Usage, "to be copied into");
    expectRefused(folder / "missing.db", ErrorCode::Database, "missing.db");
    std::ofstream(folder / "text.db") << std::string(5000, 'x');
    expectRefused(folder / "text.db", ErrorCode::Database, "text.db");
    const std::filesystem::path cut = folder / "cut.db";
    ASSERT_TRUE(extractRun(away, 1, cut));
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
    expectRefused(cut, ErrorCode::Database, "damaged");
    {
        SQLite::Database newer(away.string(), SQLite::OPEN_READWRITE);
        newer.exec("PRAGMA user_version = 99");
    }
    expectRefused(away, ErrorCode::Database, "schema version 99");
}

TEST_F(StoreMerge, AnOlderSchemaIsBroughtUpToDateInTheCopyAlone) {
    {
        auto there = openAway();
        const std::int64_t run = addWholeRun(*there);
        ASSERT_TRUE(there->endRun(run, RunState::Finished, 1.0, "done", "", result(run)));
    }
    {
        SQLite::Database older(away.string(), SQLite::OPEN_READWRITE);
        older.exec(
            "ALTER TABLE outcomes DROP COLUMN unknown_tokens; DROP TABLE training_steps; DROP TABLE slopes; ALTER "
            "TABLE candidates DROP COLUMN objectives_json; "
            "ALTER TABLE generations DROP COLUMN front_size; ALTER TABLE generations DROP COLUMN hypervolume; "
            "PRAGMA user_version = 2");
    }
    auto writer = openWriter();
    EXPECT_EQ(writer->merge(away).value().at(0).change, Change::Added);
    SQLite::Database older(away.string(), SQLite::OPEN_READONLY);
    EXPECT_EQ(older.execAndGet("PRAGMA user_version").getInt(), 2);
}

TEST(RunNumbers, ChangeBehindTheKeyAlone) {
    const RunNumbers numbers{{1, 12}, {2, 3}};
    EXPECT_EQ(renumbered(R"({"run_id": 1, "n":1,"a":[{"run_id":2},{"run_id":4}]})", numbers),
              R"({"run_id": 12, "n":1,"a":[{"run_id":3},{"run_id":4}]})");
    EXPECT_EQ(renumbered(R"({"a":"run_id","b":"\"run_id\":1","run_id":null})", numbers),
              R"({"a":"run_id","b":"\"run_id\":1","run_id":null})");
    EXPECT_EQ(renumbered("", numbers), "");
    EXPECT_EQ(renumbered(R"("run_id":)", numbers), R"("run_id":)");
}

TEST(RunNumbers, SettingsNameTheirWhole) {
    EXPECT_EQ(wholeOf(R"({"part_of":{"origin":"default","value":"12/a/b"}})"), 12);
    for (const char* none : {"", "{}", "[]", R"({"part_of":null})", R"({"part_of":{"value":null}})",
                             R"({"part_of":{"value":"12"}})", R"({"part_of":{"value":"x/y"}})"}) {
        EXPECT_FALSE(wholeOf(none)) << none;
    }
    EXPECT_EQ(withWhole(R"({"settings":{"part_of":{"value":"12/a/b"}}})", 7),
              R"({"settings":{"part_of":{"value":"7/a/b"}}})");
    EXPECT_EQ(comparableSettings(R"({"a":1,"part_of":{"value":"12/a"}})"), comparableSettings(R"({"a":1})"));
}

}  // namespace lpes::store::test
