#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "app/jobs/search_job.h"
#include "tests/app/studio/other_machine.h"
#include "tests/app/studio/studio_fixture.h"

namespace lpes::test {
namespace {

using app::SearchJob;
using widgets::SearchState;

class RemoteSearchJob : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path database() const { return folder / "lpes.db"; }

    [[nodiscard]] app::SearchOrder order(const studies::SearchRunSettings& settings) const {
        remote::RemoteOrder there;
        there.host = {"somewhere", LPES_PROGRAM};
        there.database = database();
        there.settings = studies::toJson(settings);
        return {{}, 0, database(), nullptr, there};
    }
    [[nodiscard]] app::SearchOrder pickUp(std::int64_t run) const {
        app::SearchOrder again = order({});
        again.remote->handle = remote::handleOf(database(), run);
        EXPECT_TRUE(again.remote->handle);
        return again;
    }
    [[nodiscard]] nlohmann::json history(const std::filesystem::path& path, std::int64_t run) const {
        const auto reader = take(store::StoreReader::open(path));
        return historyOf(*reader, run);
    }

    StudyFolder folder;
    const OtherMachine other{folder};
};

/// A job and how it ended.
struct Ended {
    explicit Ended(app::SearchOrder order) : job(std::move(order), nullptr) {
        QObject::connect(&job, &SearchJob::finished,
                         [this](qint64 id, const nlohmann::json&) { note("finished", id); });
        QObject::connect(&job, &SearchJob::stopped, [this](qint64 id) { note("stopped", id); });
        QObject::connect(&job, &SearchJob::left, [this](qint64 id) { note("left", id); });
        QObject::connect(&job, &SearchJob::failed, [this](const Error& why) { note("failed: " + why.text(), 0); });
        QObject::connect(&job, &SearchJob::runBegan, &job, [this](qint64 id) { began = id; });
        job.start();
    }
    void note(const std::string& how, std::int64_t id) {
        end = how;
        run = id;
    }
    [[nodiscard]] bool waitForEnd() {
        return waitFor([this] { return !end.empty(); }, 60000);
    }
    [[nodiscard]] bool waitForRun() {
        return waitFor([this] { return began != 0 || !end.empty(); }, 60000) && end.empty();
    }

    SearchJob job;
    std::string end;
    std::int64_t run = 0, began = 0;
};

studies::SearchRunSettings endless(const StudyFolder& folder) {
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.search.population = 12;
    // Off the grid, on which the curves of a tiny model are soon all evaluated.
    settings.search.constraints.gridStep.reset();
    settings.search.maxGenerations = 10'000;
    settings.search.timeLimitSeconds = 180.0;  // should nobody stop it
    return settings;
}

TEST_F(RemoteSearchJob, EndsAsHereWithItsRowsHere) {
    Ended there(order(smallSearch(folder)));
    ASSERT_TRUE(there.waitForEnd());
    ASSERT_EQ(there.end, "finished");
    NullObserver observer;
    const auto store = openStore(folder / "whole.db");
    const auto whole = take(studies::runSearch(smallSearch(folder), *store, observer, {}));
    EXPECT_EQ(history(database(), there.run), historyOf(store->reader(), whole.runId));
}

TEST_F(RemoteSearchJob, PausedItIsStoppedThereAndGoesOnThere) {
    Ended paused(order(endless(folder)));
    ASSERT_TRUE(paused.waitForRun()) << paused.end;
    // A search that is starting cannot be paused, and its rows may be here before its first progress.
    ASSERT_TRUE(waitFor([&] { return paused.job.state() == SearchState::Running; }));
    paused.job.pause();
    ASSERT_TRUE(waitFor([&] { return paused.job.state() == SearchState::Paused || !paused.end.empty(); }, 60000));
    ASSERT_EQ(paused.end, "");
    EXPECT_EQ(take(take(store::StoreReader::open(database()))->run(paused.began)).state, store::RunState::Stopped);
    paused.job.resume();
    ASSERT_TRUE(waitFor([&] { return paused.job.state() == SearchState::Running || !paused.end.empty(); }, 60000));
    ASSERT_EQ(paused.end, "") << "it goes on";
    paused.job.stop();
    ASSERT_TRUE(paused.waitForEnd());
    EXPECT_EQ(paused.end, "stopped");
    EXPECT_EQ(paused.run, paused.began);
}

TEST_F(RemoteSearchJob, LeftItGoesOnAndIsPickedUp) {
    std::int64_t run = 0;
    {
        Ended first(order(endless(folder)));
        ASSERT_TRUE(first.waitForRun()) << first.end;
        first.job.leave();
        ASSERT_TRUE(first.waitForEnd());
        EXPECT_EQ(first.end, "left");
        run = first.run;
    }
    ASSERT_NE(run, 0);
    {
        const Ended second(pickUp(run));  // and is left when its job is forgotten, as when the window closes
    }
    Ended third(pickUp(run));
    ASSERT_TRUE(waitFor([&] { return third.job.state() == SearchState::Running || !third.end.empty(); }, 60000));
    ASSERT_EQ(third.end, "") << "it has not been stopped";
    third.job.stop();
    ASSERT_TRUE(third.waitForEnd());
    EXPECT_EQ(third.end, "stopped");
    EXPECT_EQ(third.run, run);
}

}  // namespace
}  // namespace lpes::test
