// Comparisons in the window: the job by itself, and what a user sees of it.
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <cmath>

#include "app/jobs/study_job.h"
#include "app/presenters.h"
#include "core/base/clock.h"
#include "core/base/files.h"
#include "tests/app/studio/studio_fixture.h"
#include "widgets/models/method_table_model.h"

namespace lpes::test {
namespace {

using app::MainWindow;
using app::StudyJob;
using testing::ElementsAre;
using testing::HasSubstr;
using widgets::SearchState;

studies::CompareSettings smallComparison(const StudyFolder& folder, std::int64_t items = 6) {
    const studies::SearchRunSettings search = smallSearch(folder);
    studies::CompareSettings settings;
    settings.compute = search.compute;
    settings.compute.workers = 1;
    settings.task = search.task;
    settings.task.limit = items;
    settings.methods = {"baseline", "uniform:1.05"};
    return settings;
}

/// A comparison job and what it says.
struct Watched {
    explicit Watched(const StudyFolder& folder, std::int64_t items, std::int64_t resume = 0)
        : job(app::compareOrder(smallComparison(folder, items), resume, folder / "lpes.db", nullptr), nullptr) {
        QObject::connect(&job, &StudyJob::finished, [this](qint64 id, const nlohmann::json& json) {
            end = "finished";
            run = id;
            result = json;
        });
        QObject::connect(&job, &StudyJob::stopped, [this](qint64 id) {
            end = "stopped";
            run = id;
        });
        QObject::connect(&job, &StudyJob::failed, [this](const Error& why) {
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
    StudyJob job;
    std::string end;
    std::int64_t run = 0;
    nlohmann::json result;
    Error error;
};

TEST(CompareJob, ComparesAndStores) {
    const StudyFolder folder;
    Watched watched(folder, 6);
    watched.job.start();
    EXPECT_EQ(watched.job.state(), SearchState::Starting);
    ASSERT_TRUE(watched.waitForEnd());
    ASSERT_EQ(watched.end, "finished") << watched.error.text();
    EXPECT_EQ(watched.job.state(), SearchState::Idle);
    EXPECT_EQ(watched.result["methods"].size(), 2u);
    const auto reader = take(store::StoreReader::open(folder / "lpes.db"));
    EXPECT_EQ(take(reader->run(watched.run)).kind, "compare");
}

TEST(CompareJob, StopLeavesARunThatAnotherJobGoesOnWith) {
    const StudyFolder folder;
    Watched first(folder, 600);
    first.job.start();
    ASSERT_TRUE(first.waitForState(SearchState::Running));
    const double asked = steadySeconds();
    first.job.stop();
    EXPECT_EQ(first.job.state(), SearchState::Stopping);
    ASSERT_TRUE(first.waitForEnd());
    EXPECT_LT(steadySeconds() - asked, 5.0) << "a prompt, not the rest of the items";
    ASSERT_EQ(first.end, "stopped") << first.error.text();
    ASSERT_NE(first.run, 0);
    {
        Watched second(folder, 0, first.run);
        second.job.start();
        ASSERT_TRUE(second.waitForState(SearchState::Running));
    }
    const auto reader = take(store::StoreReader::open(folder / "lpes.db"));
    EXPECT_EQ(take(reader->lastRun()).id, first.run);
    EXPECT_EQ(take(reader->lastRun()).state, store::RunState::Stopped);
}

TEST(CompareJob, CommandsThatAreNotAllowedDoNothing) {
    const StudyFolder folder;
    Watched watched(folder, 6);
    watched.job.stop();
    EXPECT_EQ(watched.job.state(), SearchState::Idle);
    watched.job.start();
    watched.job.start();
    watched.job.stop();
    watched.job.stop();
    ASSERT_TRUE(watched.waitForEnd());
    EXPECT_EQ(watched.end, "stopped");
    EXPECT_EQ(watched.run, 0) << "nothing was begun";
}

TEST(CompareJob, DestroyedInAnyStateItLeavesNoRunBehindThatSaysRunning) {
    const StudyFolder folder;
    for (const SearchState moment : {SearchState::Starting, SearchState::Running}) {
        double asked = 0.0;
        {
            Watched watched(folder, 600);
            watched.job.start();
            ASSERT_TRUE(watched.waitForState(moment));
            asked = steadySeconds();
        }
        EXPECT_LT(steadySeconds() - asked, 5.0);
    }
    const auto reader = take(store::StoreReader::open(folder / "lpes.db"));
    for (const store::RunRow& run : take(reader->runs())) EXPECT_EQ(run.state, store::RunState::Stopped);
}

class CompareWindow : public StudioTest {
  protected:
    [[nodiscard]] std::string message() const { return window->messages().sentence().toStdString(); }
    [[nodiscard]] widgets::ComparePanel& panel() { return window->comparePage().panel(); }
    void setForm(const QStringList& methods, int items) {
        widgets::CompareForm form = panel().form();
        form.methods = methods;
        form.items = items;
        panel().setForm(form);
    }
    QPushButton* button(const char* name) {
        for (QPushButton* one : panel().findChildren<QPushButton*>()) {
            if (one->accessibleName() == QLatin1String(name)) return one;
        }
        ADD_FAILURE() << name;
        return nullptr;
    }
    [[nodiscard]] bool waitForIdle() {
        return waitFor([this] { return !window->compare().isBusy(); }, 60000);
    }
    /// The selected run as the data base has it now.
    [[nodiscard]] bool waitForRun(store::RunState state) {
        return waitFor([&] {
            const auto detail = window->stores().detail();
            return detail && detail->run.kind == "compare" && detail->run.state == state;
        });
    }
};

TEST_F(CompareWindow, ComparesTwoMethodsAndShowsThemInTableAndPictures) {
    openReady();
    window->setWorkspace(MainWindow::Compare);
    EXPECT_FALSE(button("Start the comparison")->isEnabled()) << "one method is none to compare";
    panel().methods().addMethod(QStringLiteral("uniform:1.05"));
    EXPECT_THAT(panel().form().methods, ElementsAre(QStringLiteral("baseline"), QStringLiteral("uniform:1.05")));
    picture("compare-empty");
    button("Start the comparison")->click();
    EXPECT_FALSE(window->search().startAction()->isEnabled()) << "one at a time";
    ASSERT_TRUE(waitForIdle());
    EXPECT_THAT(message(), HasSubstr("too few items for a verdict"));
    EXPECT_TRUE(window->search().startAction()->isEnabled());
    ASSERT_TRUE(waitForRun(store::RunState::Finished));
    // Times come with the end; until then the table shows what is known so far.
    ASSERT_TRUE(waitFor([this] {
        const auto& known = window->comparePage().table().model().methods();
        return known.size() == 2 && std::isfinite(known[1].timeRatio.value);
    }));
    EXPECT_TRUE(waitFor([this] { return window->comparePage().methods().data().has_value(); }));
    EXPECT_TRUE(window->comparePage().accuracy().data());
    const auto& rows = window->comparePage().table().model().methods();
    EXPECT_EQ(rows[0].name, "baseline");
    EXPECT_EQ(rows[1].name, "uniform:1.05");
    EXPECT_FALSE(rows[1].verdict.empty());
    settle();
    picture("compare-finished");
    const auto run = take(reader()->lastRun());
    const auto settings = nlohmann::json::parse(run.settingsJson);
    EXPECT_EQ(settings["methods"]["value"], (nlohmann::json{"baseline", "uniform:1.05"}));
    EXPECT_EQ(settings["methods"]["origin"], "window");
    EXPECT_EQ(settings["item_seed"]["value"], study().task.seedOfItems() + 1) << "items that a search of it never saw";
}

TEST_F(CompareWindow, DataThatIsNotThereIsRefusedAtItsField) {
    openReady();
    setForm({QStringLiteral("baseline"), QStringLiteral("uniform:1.05")}, 6);
    panel().task().setData(QStringLiteral("nowhere/kv.jsonl"));
    button("Start the comparison")->click();
    EXPECT_FALSE(window->compare().isBusy());
    EXPECT_THAT(panel().task().refusal(widgets::TaskFields::Data).toStdString(), HasSubstr("nowhere/kv.jsonl"));
    EXPECT_TRUE(button("Start the comparison")->isEnabled()) << "the file may come";
    // A file that is no data set is the core's to refuse.
    ASSERT_TRUE(writeFileAtomically(folder / "kv.jsonl", "no JSON\n"));
    panel().task().setData(QString::fromStdString((folder / "kv.jsonl").string()));
    EXPECT_TRUE(panel().task().refusal(widgets::TaskFields::Data).isEmpty());
    button("Start the comparison")->click();
    ASSERT_TRUE(waitForIdle());
    EXPECT_THAT(message(), HasSubstr("kv.jsonl"));
    widgets::CompareForm form = panel().form();
    form.task.positions = QStringLiteral("somewhere");
    panel().setForm(form);
    EXPECT_FALSE(button("Start the comparison")->isEnabled());
    EXPECT_THAT(panel().problem().toStdString(), HasSubstr("Correct the positions"));
}

TEST_F(CompareWindow, ComparesOnAnotherTask) {
    openReady();
    const std::string item =
        R"({"documents": ["one two", "three four"], "gold": 0, "question": "what", "answers": ["two"]})";
    ASSERT_TRUE(writeFileAtomically(folder / "own.jsonl", item + "\n" + item + "\n" + item + "\n"));
    setForm({QStringLiteral("baseline"), QStringLiteral("uniform:1.05")}, 3);
    widgets::CompareForm form = panel().form();
    form.task.task = QStringLiteral("jsonl");
    form.task.data = QString::fromStdString((folder / "own.jsonl").string());
    form.task.positions = QStringLiteral("begin,end");
    panel().setForm(form);
    EXPECT_TRUE(panel().problem().isEmpty()) << panel().problem().toStdString();
    button("Start the comparison")->click();
    ASSERT_TRUE(waitForIdle());
    EXPECT_THAT(message(), HasSubstr("too few items for a verdict"));
    const auto settings = nlohmann::json::parse(take(reader()->lastRun()).settingsJson);
    EXPECT_EQ(settings["task"]["value"], "jsonl");
    EXPECT_EQ(settings["task"]["origin"], "window");
    EXPECT_TRUE(settings["pairs"]["value"].is_null()) << "what the task does not have";
}

TEST_F(CompareWindow, StopsAndGoesOn) {
    openReady();
    setForm({QStringLiteral("baseline"), QStringLiteral("uniform:1.05")}, 600);
    button("Start the comparison")->click();
    ASSERT_TRUE(waitForRun(store::RunState::Running));
    ASSERT_TRUE(waitFor([this] { return window->comparePage().accuracy().data().has_value(); }))
        << "what is known so far is shown";
    picture("compare-running");
    button("Stop the comparison")->click();
    ASSERT_TRUE(waitForIdle());
    ASSERT_TRUE(waitForRun(store::RunState::Stopped));
    ASSERT_TRUE(waitFor([this] { return button("Resume the comparison")->isEnabled(); }));
    const auto before = take(reader()->lastRun());
    button("Resume the comparison")->click();
    ASSERT_TRUE(waitForRun(store::RunState::Running));
    window->compare().stop();
    ASSERT_TRUE(waitForIdle());
    EXPECT_EQ(take(reader()->lastRun()).id, before.id);
}

TEST_F(CompareWindow, AsksBeforeItClosesWhileOneIsRunningAndStoresIt) {
    openReady();
    setForm({QStringLiteral("baseline"), QStringLiteral("uniform:1.05")}, 600);
    button("Start the comparison")->click();
    ASSERT_TRUE(waitForRun(store::RunState::Running));
    window->close();
    EXPECT_TRUE(window->isVisible());
    auto* question = window->findChild<QMessageBox*>(QStringLiteral("closeQuestion"));
    ASSERT_NE(question, nullptr);
    EXPECT_THAT(question->windowTitle().toStdString(), HasSubstr("comparison"));
    question->findChild<QPushButton*>(QStringLiteral("stopAndClose"))->click();
    ASSERT_TRUE(waitFor([this] { return !window->isVisible(); }));
    EXPECT_EQ(take(reader()->lastRun()).state, store::RunState::Stopped);
}

TEST_F(CompareWindow, TheCurveIsComparedAsAFileOfItsContent) {
    openReady();
    EXPECT_FALSE(window->compare().keepCurve()) << "it changes nothing yet";
    widgets::CurveDraft draft = window->document().draft();
    draft.points[0].y = 1.5;
    window->document().commit(draft, QStringLiteral("move"));
    Q_EMIT panel().methods().currentCurveRequested();
    ASSERT_EQ(panel().form().methods.size(), 2);
    const std::string first = panel().form().methods.last().toStdString();
    EXPECT_THAT(first, testing::MatchesRegex("lpes:.*/compared/drawn-curve-[0-9a-f]+\\.json"));
    EXPECT_TRUE(panel().problem().isEmpty()) << panel().problem().toStdString();
    const auto again = window->compare().keepCurve();
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, first) << "the same curve, the same file";
    draft.points[0].y = 1.6;
    window->document().commit(draft, QStringLiteral("move"));
    EXPECT_NE(*window->compare().keepCurve(), first);
    EXPECT_TRUE(exporters::readProfile(first.substr(5))) << "the older one stays as it was";
}

TEST_F(CompareWindow, ARunOfTheListIsShownWhereItBelongs) {
    {
        const auto store = openStore(folder / "lpes.db");
        NullObserver observer;
        ASSERT_TRUE(studies::runComparison(smallComparison(folder), *store, observer, {}));
        auto search = smallSearch(folder);
        search.search.maxGenerations = 1;
        ASSERT_TRUE(studies::runSearch(search, *store, observer, {}));
    }
    openReady();
    ASSERT_TRUE(waitFor([this] { return window->stores().detail() != nullptr; }));
    EXPECT_EQ(window->comparePage().table().model().rowCount(), 0) << "a search is selected";
    window->runList().selectRun(1);
    ASSERT_TRUE(waitFor([this] { return window->comparePage().table().model().rowCount() == 2; }));
    EXPECT_TRUE(window->comparePage().methods().data());
    const auto lines = app::runLines(*window->stores().snapshot());
    EXPECT_THAT(lines.back().outcome.toStdString(), testing::StartsWith("NLL "));
    window->runList().selectRun(2);
    ASSERT_TRUE(waitFor([this] { return window->comparePage().table().model().rowCount() == 0; }));
    EXPECT_FALSE(window->comparePage().methods().data());
}

TEST_F(CompareWindow, DocksThatItHasNoUseForStepAside) {
    openReady();
    const auto hidden = [this](const char* name) {
        return window->findChild<QDockWidget*>(QLatin1String(name))->isHidden();
    };
    window->setWorkspace(MainWindow::Compare);
    EXPECT_TRUE(hidden("pointDock") && hidden("searchDock"));
    EXPECT_FALSE(hidden("runsDock"));
    window->setWorkspace(MainWindow::Edit);
    EXPECT_FALSE(hidden("pointDock") || hidden("searchDock"));
    window->findChild<QDockWidget*>(QStringLiteral("pointDock"))->hide();
    window->setWorkspace(MainWindow::Compare);
    window->setWorkspace(MainWindow::Search);
    EXPECT_TRUE(hidden("pointDock")) << "the user hid it";
    EXPECT_FALSE(hidden("searchDock"));
    window->setWorkspace(MainWindow::Compare);
    window->resetLayout();
    EXPECT_TRUE(hidden("searchDock"));
    window->setWorkspace(MainWindow::Inspect);
    EXPECT_FALSE(hidden("pointDock") || hidden("searchDock"));
}

}  // namespace
}  // namespace lpes::test
