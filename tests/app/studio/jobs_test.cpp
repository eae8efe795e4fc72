#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>

#include "app/jobs/figure_job.h"
#include "app/jobs/live_job.h"
#include "app/jobs/mailbox.h"
#include "app/jobs/model_job.h"
#include "app/jobs/search_job.h"
#include "app/jobs/store_follower.h"
#include "core/analysis/plot_json.h"
#include "core/base/clock.h"
#include "tests/app/studio/studio_fixture.h"

namespace lpes::test {
namespace {

using app::LiveJob;
using app::LivePictures;
using app::ModelJob;
using app::ReadyModel;
using app::SearchJob;
using app::SnapshotPtr;
using app::StoreFollower;
using widgets::SearchState;

std::shared_ptr<const ReadyModel> loadedModel(const StudyFolder& folder) {
    ModelJob job({folder.model(), "auto", "cpu", true}, nullptr);
    std::shared_ptr<const ReadyModel> model;
    QObject::connect(&job, &ModelJob::loaded, [&](const auto& ready) { model = ready; });
    job.start();
    EXPECT_TRUE(waitFor([&] { return job.threadDone(); }));
    return model;
}

TEST(Mailbox, KeepsTheNewestAndTellsWhenItWasEmpty) {
    app::Mailbox<int> box;
    EXPECT_FALSE(box.take());
    EXPECT_TRUE(box.put(1));
    EXPECT_FALSE(box.put(2));
    EXPECT_EQ(box.take(), 2);
    EXPECT_FALSE(box.take());
    EXPECT_TRUE(box.put(3));
}

TEST(ModelJob, EndsWithExactlyOneSignal) {
    const StudyFolder folder;
    const auto endings = [](const studies::ModelOptions& options, bool cancel) {
        ModelJob job(options, nullptr);
        QStringList seen;
        QObject::connect(&job, &ModelJob::loaded, [&] { seen << QStringLiteral("loaded"); });
        QObject::connect(&job, &ModelJob::failed, [&] { seen << QStringLiteral("failed"); });
        QObject::connect(&job, &ModelJob::cancelled, [&] { seen << QStringLiteral("cancelled"); });
        QObject::connect(&job, &ModelJob::threadFinished, [&] { seen << QStringLiteral("over"); });
        job.start();
        if (cancel) job.cancel();
        EXPECT_TRUE(waitFor([&] { return job.threadDone(); }));
        return seen.join(QLatin1Char(' ')).toStdString();
    };
    EXPECT_EQ(endings({folder.model(), "auto", "cpu", true}, false), "loaded over");
    EXPECT_EQ(endings({(folder / "nothing").string(), "auto", "cpu", true}, false), "failed over");
    EXPECT_EQ(endings({folder.model(), "auto", "cpu", true}, true), "cancelled over");
}

TEST(LiveJob, TheNewestRequestWinsAndOlderOnesAreAbandoned) {
    const StudyFolder folder(studioModel());
    LiveJob job;
    std::vector<std::uint64_t> complete;
    QObject::connect(&job, &LiveJob::picturesReady, [&](const LivePictures& pictures) {
        if (pictures.complete) complete.push_back(pictures.ticket);
    });
    job.setSubject(loadedModel(folder), smallSearch(folder).task);
    std::uint64_t last = 0;
    for (int i = 0; i < 50; ++i) last = job.request({1.0 + 0.01 * i, 1.0, 1.0, 0.5});
    ASSERT_TRUE(waitFor([&] { return !complete.empty() && complete.back() == last; }));
    EXPECT_LT(complete.size(), 50u) << "most were abandoned";
    EXPECT_EQ(job.newestTicket(), last);
}

TEST(LiveJob, VerifiesWhatItAppliedAndReportsWhatItCannotDo) {
    const StudyFolder folder(studioModel());
    LiveJob job;
    std::optional<LivePictures> seen;
    std::optional<Error> error;
    QObject::connect(&job, &LiveJob::picturesReady, [&](const LivePictures& pictures) { seen = pictures; });
    QObject::connect(&job, &LiveJob::failed, [&](std::uint64_t, const Error& why) { error = why; });
    job.setSubject(loadedModel(folder), smallSearch(folder).task);
    job.request({1.5, 1.2, 0.9, 0.7});
    ASSERT_TRUE(waitFor([&] { return seen && seen->complete; }));
    ASSERT_TRUE(seen->applied);
    EXPECT_TRUE(seen->applied->verified);
    EXPECT_EQ(seen->pictures.prompts, 3);
    job.request({1.5, 1.2});
    ASSERT_TRUE(waitFor([&] { return error.has_value(); }));
    EXPECT_EQ(error->code, ErrorCode::BadInput);
    studies::TaskSpec long_ = smallSearch(folder).task;
    long_.pairs = 500;
    error.reset();
    job.setSubject(loadedModel(folder), long_);
    job.request({});
    ASSERT_TRUE(waitFor([&] { return error.has_value(); }));
    EXPECT_THAT(error->message, testing::HasSubstr("longer than the model's context"));
}

TEST(LiveJob, NothingOfAModelBeforeIsShown) {
    const StudyFolder folder(studioModel());
    LiveJob job;
    int shown = 0;
    QObject::connect(&job, &LiveJob::picturesReady, [&](const LivePictures&) { ++shown; });
    job.setSubject(loadedModel(folder), smallSearch(folder).task);
    job.request({1.5, 1.2, 0.9, 0.7});
    job.setSubject(nullptr, {});
    const std::uint64_t unanswered = job.request({});
    EXPECT_EQ(job.newestTicket(), unanswered);
    // A second model whose pictures come proves that the first one's would have come by now.
    job.setSubject(loadedModel(folder), smallSearch(folder).task);
    job.request({});
    ASSERT_TRUE(waitFor([&] { return shown > 0; }));
}

/// A search job and what it says.
struct Watched {
    explicit Watched(const StudyFolder& folder, const std::string& database, std::int64_t resume = 0)
        : job({smallSearch(folder), resume, folder / database, nullptr}, nullptr) {
        QObject::connect(&job, &SearchJob::stateChanged, [this](SearchState state) { states.push_back(state); });
        QObject::connect(&job, &SearchJob::finished, [this](qint64 id, const nlohmann::json& json) {
            end = "finished";
            run = id;
            result = json;
        });
        QObject::connect(&job, &SearchJob::stopped, [this](qint64 id) {
            end = "stopped";
            run = id;
        });
        QObject::connect(&job, &SearchJob::failed, [this](const Error& why) {
            end = "failed";
            error = why;
        });
    }
    [[nodiscard]] bool waitForEnd() {
        return waitFor([this] { return !end.empty(); }, 60000);
    }
    [[nodiscard]] bool waitForState(SearchState state) {
        return waitFor([&] { return job.state() == state || !end.empty(); }) && job.state() == state;
    }
    SearchJob job;
    std::vector<SearchState> states;
    std::string end;
    std::int64_t run = 0;
    nlohmann::json result;
    Error error;
};

nlohmann::json historyIn(const StudyFolder& folder, const std::string& database, std::int64_t run) {
    const auto reader = take(store::StoreReader::open(folder / database));
    return historyOf(*reader, run);
}

TEST(SearchJob, PausedAnywhereItEndsInTheSameHistory) {
    const StudyFolder folder;
    Watched whole(folder, "whole.db");
    whole.job.start();
    ASSERT_TRUE(whole.waitForEnd());
    ASSERT_EQ(whole.end, "finished") << whole.error.text();
    const nlohmann::json expected = historyIn(folder, "whole.db", whole.run);

    Watched paused(folder, "paused.db");
    paused.job.start();
    int pauses = 0;
    while (pauses < 4 && paused.waitForState(SearchState::Running)) {
        paused.job.pause();
        if (!waitFor([&] { return paused.job.state() == SearchState::Paused || !paused.end.empty(); })) break;
        if (!paused.end.empty()) break;
        ++pauses;
        const auto reader = take(store::StoreReader::open(folder / "paused.db"));
        EXPECT_EQ(take(reader->lastRun()).state, store::RunState::Paused);
        paused.job.resume();
    }
    EXPECT_GT(pauses, 0);
    ASSERT_TRUE(paused.waitForEnd());
    ASSERT_EQ(paused.end, "finished") << paused.error.text();
    EXPECT_EQ(historyIn(folder, "paused.db", paused.run), expected);
}

TEST(SearchJob, StopLeavesARunThatCanBeResumed) {
    const StudyFolder folder;
    Watched first(folder, "lpes.db");
    first.job.start();
    ASSERT_TRUE(first.waitForState(SearchState::Running));
    first.job.stop();
    ASSERT_TRUE(first.waitForEnd());
    ASSERT_EQ(first.end, "stopped");
    ASSERT_NE(first.run, 0);
    Watched second(folder, "lpes.db", first.run);
    second.job.start();
    ASSERT_TRUE(second.waitForEnd());
    EXPECT_EQ(second.end, "finished") << second.error.text();
    EXPECT_EQ(second.run, first.run);
}

TEST(SearchJob, StoppedWhilePausedItIsStoppedAndNotInterrupted) {
    const StudyFolder folder;
    Watched watched(folder, "lpes.db");
    watched.job.start();
    ASSERT_TRUE(watched.waitForState(SearchState::Running));
    watched.job.pause();
    ASSERT_TRUE(watched.waitForState(SearchState::Paused));
    watched.job.stop();
    ASSERT_TRUE(watched.waitForEnd());
    EXPECT_EQ(watched.end, "stopped");
    const auto reader = take(store::StoreReader::open(folder / "lpes.db"));
    EXPECT_EQ(take(reader->lastRun()).state, store::RunState::Stopped);
}

TEST(SearchJob, StopPressedDuringAPauseThatIsOnItsWayWins) {
    const StudyFolder folder;
    Watched watched(folder, "lpes.db");
    watched.job.start();
    ASSERT_TRUE(watched.waitForState(SearchState::Running));
    watched.job.pause();
    watched.job.stop();
    ASSERT_TRUE(watched.waitForEnd());
    EXPECT_THAT(watched.states, testing::Not(testing::Contains(SearchState::Paused)));
    EXPECT_NE(watched.end, "failed") << watched.error.text();
}

TEST(SearchJob, CommandsThatAreNotAllowedDoNothing) {
    const StudyFolder folder;
    Watched watched(folder, "lpes.db");
    watched.job.pause();
    watched.job.resume();
    watched.job.stop();
    EXPECT_EQ(watched.job.state(), SearchState::Idle);
    watched.job.start();
    watched.job.start();
    watched.job.pause();
    watched.job.resume();
    EXPECT_EQ(watched.job.state(), SearchState::Starting);
    watched.job.stop();
    ASSERT_TRUE(watched.waitForEnd());
    EXPECT_EQ(watched.end, "stopped");
    EXPECT_EQ(watched.run, 0) << "nothing was begun";
}

TEST(SearchJob, DestroyedInAnyStateItLeavesNoRunBehindThatSaysRunning) {
    const StudyFolder folder;
    for (const SearchState moment : {SearchState::Starting, SearchState::Running, SearchState::Paused}) {
        const double before = steadySeconds();
        double asked = before;
        {
            Watched watched(folder, "lpes.db");
            watched.job.start();
            if (moment == SearchState::Paused) {
                ASSERT_TRUE(watched.waitForState(SearchState::Running));
                watched.job.pause();
            }
            ASSERT_TRUE(watched.waitForState(moment));
            asked = steadySeconds();
        }
        EXPECT_LT(steadySeconds() - asked, 2.0);
    }
    const auto reader = take(store::StoreReader::open(folder / "lpes.db"));
    for (const store::RunRow& run : take(reader->runs())) EXPECT_EQ(run.state, store::RunState::Stopped);
}

TEST(SearchJob, ALockedDataBaseIsNamedWithItsHolder) {
    const StudyFolder folder;
    const auto holder = openStore(folder / "lpes.db");
    Watched watched(folder, "lpes.db");
    watched.job.start();
    ASSERT_TRUE(watched.waitForEnd());
    EXPECT_EQ(watched.end, "failed");
    EXPECT_EQ(watched.error.code, ErrorCode::Database);
    EXPECT_THAT(watched.error.message, testing::HasSubstr("test"));
}

/// Follows a data base and keeps the newest snapshot.
struct Followed {
    explicit Followed(const std::filesystem::path& path) {
        QObject::connect(&follower, &StoreFollower::snapshotReady, [this](const SnapshotPtr& now) { newest = now; });
        follower.setDatabase(path);
    }
    [[nodiscard]] bool see(const std::function<bool(const app::StoreSnapshot&)>& wanted) {
        return waitFor([&] { return newest && wanted(*newest); });
    }
    SnapshotPtr newest;
    StoreFollower follower;
};

TEST(StoreFollower, WaitsForADataBaseAndSeesEveryRun) {
    const StudyFolder folder;
    Followed followed(folder / "later.db");
    ASSERT_TRUE(followed.see([](const auto& now) { return !now.exists; }));
    const auto store = openStore(folder / "later.db");
    NullObserver observer;
    auto settings = smallSearch(folder);
    settings.search.maxGenerations = 1;
    const auto outcome = take(studies::runSearch(settings, *store, observer, {}));
    ASSERT_TRUE(followed.see([](const auto& now) { return now.runs.size() == 1; }));
    followed.follower.selectRun(outcome.runId);
    ASSERT_TRUE(followed.see([](const auto& now) { return now.detail != nullptr; }));
    const app::RunDetail& detail = *followed.newest->detail;
    for (std::size_t kind = 0; kind < detail.plots.size(); ++kind) {
        const app::StoredPlot& plot = detail.plots[kind];
        EXPECT_EQ(plot.data != nullptr, kind < app::kParetoPlot) << plot.why;
    }
    EXPECT_EQ(detail.population.best->scales, outcome.result["best"]["scales"].get<std::vector<double>>());
    EXPECT_FALSE(detail.profileJson.empty());
    EXPECT_EQ(followed.newest->hasProfile, std::vector<bool>{true});
}

TEST(StoreFollower, ARunWhoseProcessDiedIsInterrupted) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    store::RunRow run;
    run.kind = "search";
    store::ModelRow model;
    model.fingerprint = "m";
    store::DatasetRow dataset;
    dataset.hash = "d";
    run.modelId = take(store->ensureModel(model));
    run.datasetId = take(store->ensureDataset(dataset));
    ASSERT_TRUE(store->addRun(run));
    Followed followed(folder / "lpes.db");
    ASSERT_TRUE(followed.see(
        [](const auto& now) { return now.runs.size() == 1 && now.runs[0].state == store::RunState::Running; }));
    store.reset();  // the lock goes without a commit, as when the process is killed
    EXPECT_TRUE(followed.see(
        [](const auto& now) { return now.runs.size() == 1 && now.runs[0].state == store::RunState::Interrupted; }));
}

TEST(StoreFollower, SaysWhatIsWrongAndRecovers) {
    const StudyFolder folder;
    {
        std::ofstream(folder / "lpes.db")
            << "this is no data base, though it is long enough to be one: " << std::string(4096, 'x');
    }
    Followed followed(folder / "lpes.db");
    ASSERT_TRUE(followed.see([](const auto& now) { return now.error.has_value(); }));
    EXPECT_EQ(followed.newest->error->code, ErrorCode::Database);
    std::filesystem::remove(folder / "lpes.db");
    ASSERT_TRUE(followed.see([](const auto& now) { return !now.error && !now.exists; }));
    const auto store = openStore(folder / "lpes.db");
    EXPECT_TRUE(followed.see([](const auto& now) { return !now.error && now.exists; }));
}

TEST(FigureJob, WritesEveryFormatInOneGoAndNamesWhatItCannotWrite) {
    const TemporaryFolder folder;
    analysis::DeviationPlot plot{"Deviation", "test", {}};
    plot.series.push_back({"smooth", analysis::SeriesRole::Best, {0.1, 0.2}, {0.05, 0.1}, {0.2, 0.3}});
    const auto run = [&](const QStringList& files) {
        app::FigureJob job(analysis::toJson(plot), {files, 120.0, 150.0, false}, nullptr);
        QString end;
        QObject::connect(&job, &app::FigureJob::written, [&](const QStringList& done) {
            end = QStringLiteral("written ") + QString::number(done.size());
        });
        QObject::connect(&job, &app::FigureJob::failed, [&](const QString& why) { end = why; });
        job.start();
        EXPECT_TRUE(waitFor([&] { return !end.isEmpty(); }));
        return end;
    };
    const QString base = QString::fromStdString((folder / "figure").string());
    EXPECT_EQ(run({base + QStringLiteral(".pdf"), base + QStringLiteral(".svg"), base + QStringLiteral(".png"),
                   base + QStringLiteral(".csv")}),
              QStringLiteral("written 4"));
    for (const char* ending : {".pdf", ".svg", ".png", ".csv"}) {
        EXPECT_GT(std::filesystem::file_size(folder / (std::string("figure") + ending)), 50u);
    }
    EXPECT_THAT(run({QStringLiteral("/nowhere/figure.pdf")}).toStdString(), testing::HasSubstr("/nowhere/figure.pdf"));
}

}  // namespace
}  // namespace lpes::test
