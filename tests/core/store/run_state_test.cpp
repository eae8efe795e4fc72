#include <fstream>

#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

class StoreRuns : public StoreTest {};

using ::testing::HasSubstr;

TEST_F(StoreRuns, AreNumberedFromOneAndListedNewestFirst) {
    auto writer = openWriter();
    EXPECT_EQ(addRun(*writer, "eval"), 1);
    EXPECT_EQ(addRun(*writer, "search"), 2);
    EXPECT_EQ(addRun(*writer, "eval"), 3);
    auto reader = openReader();
    const auto runs = reader->runs().value();
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0].id, 3);
    EXPECT_EQ(runs[2].id, 1);
    EXPECT_EQ(reader->lastRun().value().id, 3);
    EXPECT_EQ(reader->lastRun("search").value().id, 2);
    EXPECT_EQ(reader->lastRun("attn").error().code, ErrorCode::Usage);
    EXPECT_THAT(reader->run(12).error().message, HasSubstr("no run 12"));
    EXPECT_EQ(reader->run(12).error().code, ErrorCode::Usage);
}

TEST_F(StoreRuns, NumbersAreNeverUsedTwice) {
    {
        auto writer = openWriter();
        addRun(*writer);
        addRun(*writer);
    }
    sql("DELETE FROM runs WHERE id = 2");
    auto writer = openWriter();
    EXPECT_EQ(addRun(*writer), 3);
}

TEST_F(StoreRuns, EndStoresReasonErrorAndResult) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer);
    ASSERT_TRUE(writer->heartbeat(run, 1.5));
    EXPECT_EQ(writer->reader().run(run).value().elapsedSeconds, 1.5);
    ASSERT_TRUE(writer->endRun(run, RunState::Finished, 2.5, "patience", "", R"({"run_id":1})"));
    ASSERT_TRUE(writer->heartbeat(run, 99.0)) << "a late timer is no error";
    const RunRow row = openReader()->run(run).value();
    EXPECT_EQ(row.state, RunState::Finished);
    EXPECT_EQ(row.elapsedSeconds, 2.5) << "a late heartbeat must not touch an ended run";
    EXPECT_EQ(row.endReason, "patience");
    EXPECT_EQ(row.resultJson, R"({"run_id":1})");
    EXPECT_GE(row.endedMs, row.createdMs);
    EXPECT_EQ(writer->endRun(run, RunState::Running, 0, "", "", "").error().code, ErrorCode::Usage);
    EXPECT_EQ(writer->endRun(9, RunState::Failed, 0, "", "", "").error().code, ErrorCode::Usage);
    EXPECT_EQ(writer->heartbeat(9, 0).error().code, ErrorCode::Usage);
}

TEST_F(StoreRuns, ReopenTakesUpEverythingButRunningAndFinished) {
    auto writer = openWriter();
    for (const RunState state : {RunState::Paused, RunState::Stopped, RunState::Interrupted, RunState::Failed}) {
        const std::int64_t run = addRun(*writer);
        ASSERT_TRUE(writer->endRun(run, state, 4.0, "reason", "error", "result"));
        EXPECT_EQ(writer->reader().run(run).value().state, state);
        ASSERT_TRUE(writer->reopenRun(run, 5)) << runStateName(state);
        const RunRow row = writer->reader().run(run).value();
        EXPECT_EQ(row.state, RunState::Running);
        EXPECT_EQ(row.workers, 5);
        EXPECT_EQ(row.endedMs, 0);
        EXPECT_EQ(row.elapsedSeconds, 4.0) << "working time goes on from here";
        EXPECT_EQ(row.endReason + row.error + row.resultJson, "");
    }
    const std::int64_t run = addRun(*writer);
    EXPECT_THAT(writer->reopenRun(run, 1).error().message, HasSubstr("is running"));
    ASSERT_TRUE(writer->endRun(run, RunState::Finished, 1, "", "", ""));
    EXPECT_EQ(writer->reopenRun(run, 1).error().code, ErrorCode::Usage);
    EXPECT_EQ(writer->reopenRun(404, 1).error().code, ErrorCode::Usage);
}

TEST_F(StoreRuns, OfADeadProcessAreInterruptedForReadersAndForTheNextWriter) {
    std::int64_t running = 0, paused = 0, finished = 0;
    Child child([&](int pipe) {
        auto writer = openWriter();
        addRun(*writer);
        addRun(*writer);
        addRun(*writer);
        const bool ok =
            writer->endRun(2, RunState::Paused, 1, "", "", "") && writer->endRun(3, RunState::Finished, 1, "", "", "");
        say(pipe, ok ? "+" : "");
        ::pause();
    });
    running = 1, paused = 2, finished = 3;
    ASSERT_TRUE(child.readByte());
    auto reader = openReader();
    EXPECT_EQ(reader->run(running).value().state, RunState::Running) << "its writer holds the lock";
    EXPECT_EQ(reader->run(paused).value().state, RunState::Paused);
    child.kill();
    EXPECT_EQ(reader->run(running).value().state, RunState::Interrupted);
    EXPECT_EQ(reader->run(paused).value().state, RunState::Interrupted);
    EXPECT_EQ(reader->run(finished).value().state, RunState::Finished);
    EXPECT_EQ(reader->runs().value().back().state, RunState::Interrupted);
    EXPECT_EQ(reader->lastRun().value().id, finished);

    auto writer = openWriter();
    const RunRow row = writer->reader().run(running).value();
    EXPECT_EQ(row.state, RunState::Interrupted);
    EXPECT_EQ(row.endedMs, row.heartbeatMs) << "the last sign of life";
    EXPECT_FALSE(row.endReason.empty());
    EXPECT_EQ(writer->reader().run(finished).value().state, RunState::Finished);
    EXPECT_TRUE(writer->reopenRun(running, 1));
    EXPECT_EQ(reader->run(running).value().state, RunState::Running);
}

TEST_F(StoreRuns, ALockFileThatCannotBeExaminedIsAnErrorNotAGuess) {
    { addRun(*openWriter()); }
    std::filesystem::permissions(folder / "lpes.db.lock", std::filesystem::perms::none);
    std::filesystem::permissions(folder, std::filesystem::perms(0777));
    const std::string text = asNobody([&] {
        auto reader = StoreReader::open(path);
        return reader ? outcomeText((*reader)->runs()) : outcomeText(reader);
    });
    EXPECT_THAT(text, HasSubstr("lpes.db.lock"));
    EXPECT_THAT(text, HasSubstr("database: "));
}

TEST_F(StoreRuns, UnknownWordsAreDamage) {
    {
        auto writer = openWriter();
        addRun(*writer);
    }
    sql("UPDATE runs SET state = 'dancing'");
    EXPECT_THAT(openReader()->runs().error().message, HasSubstr("'dancing'"));
    sql("UPDATE runs SET state = 'stopped', seed = '-1'");
    EXPECT_EQ(openReader()->run(1).error().code, ErrorCode::Database);
}

TEST(RunStateName, AreTheWordsOfTheConventions) {
    EXPECT_EQ(runStateName(RunState::Running), "running");
    EXPECT_EQ(runStateName(RunState::Paused), "paused");
    EXPECT_EQ(runStateName(RunState::Stopped), "stopped");
    EXPECT_EQ(runStateName(RunState::Interrupted), "interrupted");
    EXPECT_EQ(runStateName(RunState::Failed), "failed");
    EXPECT_EQ(runStateName(RunState::Finished), "finished");
}

}  // namespace lpes::store::test
