// The window as a user meets it: every button in every state, what must not be lost, what is said when things go wrong.
#include <sys/resource.h>

#include <QCloseEvent>
#include <QDockWidget>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTest>
#include <QToolButton>
#include <QUndoStack>
#include <csignal>
#include <fstream>

#include "app/presenters.h"
#include "core/base/clock.h"
#include "tests/app/studio/studio_fixture.h"

namespace lpes::test {
namespace {

using app::MainWindow;
using testing::HasSubstr;
using widgets::MessageBar;
using widgets::SearchCommand;
using widgets::SearchState;

class Window : public StudioTest {
  protected:
    [[nodiscard]] std::string message() const { return window->messages().sentence().toStdString(); }
    void drag(int point, const QPoint& by, int moves = 60) {
        widgets::CurveEditor& editor = window->editPage().editor();
        const QPoint from = editor.pixelOfPoint(point).toPoint();
        QTest::mousePress(&editor, Qt::LeftButton, {}, from);
        for (int i = 1; i <= moves; ++i) {
            const QPoint at = from + by * i / moves;
            QMouseEvent move(QEvent::MouseMove, QPointF(at), QPointF(editor.mapToGlobal(at)), Qt::NoButton,
                             Qt::LeftButton, {});
            QApplication::sendEvent(&editor, &move);
        }
        QTest::mouseRelease(&editor, Qt::LeftButton, {}, from + by);
    }
};

TEST_F(Window, OpensTheModelItsPicturesAndTheDataBase) {
    openReady();
    EXPECT_TRUE(window->windowTitle().contains(QString::fromStdString(window->models().model()->model.config().name)));
    EXPECT_TRUE(window->editPage().attention().data());
    EXPECT_TRUE(window->editPage().deviation().data());
    EXPECT_THAT(window->editPage().attention().stateText().toStdString(), HasSubstr("from 3 prompts"));
    EXPECT_THAT(window->editPage().deviation().stateText().toStdString(), HasSubstr("from 1 prompt"));
    EXPECT_TRUE(window->search().startAction()->isEnabled());
    EXPECT_FALSE(window->search().stopAction()->isEnabled());
}

TEST_F(Window, DraggingMovesBothPicturesAndReleasingMakesOneStep) {
    openReady();
    const auto before = std::get<analysis::DeviationPlot>(*window->editPage().deviation().data());
    drag(0, {0, -60});
    EXPECT_EQ(window->document().undoStack().count(), 1);
    EXPECT_GT(window->document().draft().points[0].y, 1.0);
    ASSERT_TRUE(waitFor([this] { return window->live().isUpToDate(); }));
    const auto after = std::get<analysis::DeviationPlot>(*window->editPage().deviation().data());
    EXPECT_NE(before.series[0].deviation, after.series[0].deviation);
    window->document().undoStack().undo();
    ASSERT_TRUE(waitFor([this] { return window->live().isUpToDate(); }));
    EXPECT_EQ(std::get<analysis::DeviationPlot>(*window->editPage().deviation().data()).series[0].deviation,
              before.series[0].deviation);
}

// T29: one gesture is one undo step; a click is none; undo with an open context menu hangs nothing.
TEST(FieldReports, T29_OneGestureIsOneUndoStep) {
    class Case : public Window {
      public:
        void TestBody() override {
            openReady();
            QUndoStack& stack = window->document().undoStack();
            const widgets::CurveDraft start = window->document().draft();
            drag(1, {0, -50}, 60);
            EXPECT_EQ(stack.count(), 1);
            const widgets::CurveDraft moved = window->document().draft();
            QTest::keyClick(window.get(), Qt::Key_Z, Qt::ControlModifier);
            EXPECT_EQ(window->document().draft(), start);
            EXPECT_EQ(window->editPage().editor().draft(), start);
            QTest::keyClick(window.get(), Qt::Key_Y, Qt::ControlModifier);
            EXPECT_EQ(window->document().draft(), moved);
            widgets::CurveEditor& editor = window->editPage().editor();
            QTest::mouseClick(&editor, Qt::LeftButton, {}, editor.pixelOfPoint(1).toPoint());
            EXPECT_EQ(stack.count(), 1);
            EXPECT_EQ(editor.selectedPoint(), 1);
            QContextMenuEvent menu(QContextMenuEvent::Mouse, {20, 40},
                                   window->editPage().attention().mapToGlobal(QPoint(20, 40)));
            QApplication::sendEvent(&window->editPage().attention(), &menu);
            stack.undo();
            EXPECT_EQ(window->document().draft(), start);
            if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
        }
        void end() { TearDown(); }
    } test;
    test.TestBody();
    test.end();
}

TEST_F(Window, EveryCommandInEveryStateDoesWhatTheTableSays) {
    openReady();
    const auto check = [this](SearchState expected) {
        EXPECT_EQ(state(), expected);
        EXPECT_EQ(window->search().startAction()->isEnabled(), isAllowed(expected, SearchCommand::Start));
        EXPECT_EQ(window->search().pauseAction()->isEnabled(), isAllowed(expected, SearchCommand::Pause));
        EXPECT_EQ(window->search().resumeAction()->isEnabled(), isAllowed(expected, SearchCommand::Resume));
        EXPECT_EQ(window->search().stopAction()->isEnabled(), isAllowed(expected, SearchCommand::Stop));
        EXPECT_EQ(window->searchPanel().state(), expected);
    };
    check(SearchState::Idle);
    window->search().startAction()->trigger();
    check(SearchState::Starting);
    ASSERT_TRUE(waitForState(SearchState::Running));
    check(SearchState::Running);
    window->search().pauseAction()->trigger();
    check(SearchState::Pausing);
    ASSERT_TRUE(waitForState(SearchState::Paused));
    check(SearchState::Paused);
    window->search().resumeAction()->trigger();
    ASSERT_TRUE(waitForState(SearchState::Running));
    window->search().stopAction()->trigger();
    check(SearchState::Stopping);
    waitForEnd();
    check(SearchState::Idle);
    EXPECT_THAT(message(), HasSubstr("is stopped"));
}

TEST_F(Window, AFinishedSearchIsReportedAndItsProfileTakenIntoTheEditor) {
    openReady();
    startSearch();
    waitForEnd();
    EXPECT_THAT(message(), HasSubstr("held-out items"));
    ASSERT_TRUE(waitFor([this] {
        const auto detail = window->stores().detail();
        return detail && detail->run.state == store::RunState::Finished && !detail->profileJson.empty();
    }));
    for (const app::PlotKind kind :
         {app::kConvergencePlot, app::kAccuracyPlot, app::kAttentionPlot, app::kDeviationPlot, app::kCurvePlot}) {
        EXPECT_TRUE(waitFor([&] { return window->searchPage().pane(kind).data().has_value(); })) << kind;
    }
    QPushButton* take = nullptr;
    for (QPushButton* button : window->messages().findChildren<QPushButton*>()) {
        if (button->text() == QStringLiteral("Open in the editor")) take = button;
    }
    ASSERT_NE(take, nullptr);
    take->click();
    const auto detail = window->stores().detail();
    EXPECT_EQ(window->document().scales(),
              detail->population.best->scales.size() == 4
                  ? nlohmann::json::parse(detail->profileJson)["scales"].get<std::vector<double>>()
                  : std::vector<double>());
    window->document().undoStack().undo();
    EXPECT_EQ(window->document().draft(), app::Document::freshDraft());
}

TEST_F(Window, TheSearchHasItsOwnCopyOfTheDocument) {
    openReady();
    startSearch();
    widgets::CurveDraft narrow = window->document().draft();
    narrow.constraints.scaleMax = 1.1;
    window->document().commit(narrow, QStringLiteral("bounds"));
    waitForEnd();
    const auto reader = StudioTest::reader();
    const auto run = take(reader->lastRun());
    EXPECT_EQ(nlohmann::json::parse(run.settingsJson)["scale_max"]["value"], 2.5);
    EXPECT_EQ(run.state, store::RunState::Finished);
}

TEST_F(Window, ClosedAndOpenedAgainItShowsTheSameRuns) {
    openReady();
    startSearch();
    waitForEnd();
    ASSERT_TRUE(waitFor([this] {
        const auto& runs = window->stores().snapshot()->runs;
        return runs.size() == 1 && runs[0].state == store::RunState::Finished;
    }));
    const auto before = app::runLines(*window->stores().snapshot());
    window->close();
    window.reset();
    settle();
    openReady();
    ASSERT_TRUE(waitFor([this] { return window->stores().detail() != nullptr; }));
    EXPECT_EQ(app::runLines(*window->stores().snapshot()), before);
    EXPECT_TRUE(waitFor([this] { return window->searchPage().pane(app::kAccuracyPlot).data().has_value(); }));
}

TEST_F(Window, FollowsARunThatAnotherProgramWrites) {
    openReady();
    std::jthread other([this] {
        const auto store = openStore(folder / "lpes.db");
        NullObserver observer;
        EXPECT_TRUE(studies::runSearch(study(), *store, observer, {}));
    });
    EXPECT_TRUE(waitFor([this] {
        const auto& now = window->stores().snapshot();
        return now && !now->runs.empty() && now->runs[0].state == store::RunState::Running;
    }));
    EXPECT_TRUE(waitFor([this] {
        const auto& now = window->stores().snapshot();
        return now && !now->runs.empty() && now->runs[0].state == store::RunState::Finished;
    }));
}

// T26, the window's side: open on the data base while rows arrive; nobody is locked out, nothing is lost.
TEST(FieldReports, T26_WindowOpenWhileASearchWrites) {
    class Case : public Window {
      public:
        void TestBody() override {
            auto store = openStore(folder / "lpes.db");
            std::string problem;
            std::atomic<bool> done = false;
            std::jthread writer([&] {
                NullObserver observer;
                for (int i = 0; i < 3 && problem.empty(); ++i) {
                    const auto outcome = studies::runSearch(smallSearch(folder), *store, observer, {});
                    if (!outcome) problem = outcome.error().text();
                }
                done = true;
            });
            while (!done) {
                open();
                EXPECT_TRUE(waitFor([&] { return window->stores().snapshot() != nullptr; }));
                EXPECT_FALSE(window->stores().snapshot()->error);
                window.reset();
                settle();
            }
            writer.join();
            EXPECT_EQ(problem, "");
            EXPECT_EQ(store->reader().runs()->size(), 3u);
        }
        void end() { TearDown(); }
    } test;
    test.TestBody();
    test.end();
}

// T28: Load, then at once cancel, load another one, close; and the same while a search runs.
TEST(FieldReports, T28_EachAnsweredWithinASecond) {
    class Case : public Window {
      public:
        void TestBody() override {
            const auto within = [](const char* what, double limit, const std::function<void()>& act) {
                const double before = steadySeconds();
                act();
                EXPECT_LT(steadySeconds() - before, limit) << what;
            };
            // The tiny model loads in milliseconds; what is tested is that no order of events hangs or leaks.
            for (int i = 0; i < 5; ++i) {
                open();
                within("cancel", 1.0, [&] { window->models().cancel(); });
                within("another model", 1.0, [&] { window->openModel(folder.model()); });
                within("and another", 1.0, [&] { window->openModel(folder.model()); });
                if (i % 2 == 0) {
                    EXPECT_TRUE(waitFor([&] { return window->models().model() != nullptr; }));
                }
                within("close", 1.0, [&] {
                    window->close();
                    window.reset();
                });
                settle();
            }
            openReady();
            startSearch();
            within("load while a search runs", 1.0, [&] { window->openModel(folder.model()); });
            EXPECT_TRUE(waitFor([&] { return !window->models().isLoading(); }));
            EXPECT_EQ(window->models().retiring(), 0u);
            within("destroy while a search runs", 2.0, [&] { window.reset(); });
            settle();
            EXPECT_THAT(take(take(store::StoreReader::open(folder / "lpes.db"))->lastRun()).state,
                        testing::AnyOf(store::RunState::Stopped, store::RunState::Finished));
        }
        void end() { TearDown(); }
    } test;
    test.TestBody();
    test.end();
}

TEST_F(Window, ClosingWhileASearchRunsAsksAndLosesNothing) {
    openReady();
    startSearch();
    window->close();
    EXPECT_TRUE(window->isVisible());
    auto* question = window->findChild<QMessageBox*>(QStringLiteral("closeQuestion"));
    ASSERT_NE(question, nullptr);
    window->close();
    EXPECT_EQ(window->findChildren<QMessageBox*>(QStringLiteral("closeQuestion")).size(), 1);
    question->findChild<QPushButton*>(QStringLiteral("stopAndClose"))->click();
    EXPECT_TRUE(waitFor([this] { return !window->isVisible(); }));
    window.reset();
    EXPECT_THAT(take(reader()->lastRun()).state, testing::AnyOf(store::RunState::Stopped, store::RunState::Finished));
}

TEST_F(Window, AnInterruptedRunIsMarkedAndCanBeResumed) {
    std::int64_t run = 0;
    {
        const auto store = openStore(folder / "lpes.db");
        StopAfter observer(24);
        auto settings = smallSearch(folder);
        const auto outcome = take(studies::runSearch(settings, *store, observer, observer.token()));
        run = outcome.runId;
        // As the kill of its process would have left it.
        ASSERT_TRUE(store->reopenRun(run, 1));
    }
    openReady();
    ASSERT_TRUE(waitFor([this] { return window->stores().detail() != nullptr; }));
    EXPECT_EQ(window->runList().model().runs().front().state, QStringLiteral("interrupted"));
    EXPECT_TRUE(window->runList().model().runs().front().resumable);
    Q_EMIT window->runList().resumeRequested(run);
    EXPECT_TRUE(window->search().isBusy());
    waitForEnd();
    EXPECT_EQ(take(reader()->run(run)).state, store::RunState::Finished);
}

TEST_F(Window, ACurveThatBreaksARuleMarksThePicturesAsOld) {
    openReady();
    const std::string fresh = window->editPage().attention().stateText().toStdString();
    widgets::CurveDraft narrow = window->document().draft();
    narrow.constraints.scaleMin = 1.2;
    window->document().commit(narrow, QStringLiteral("bounds"));
    EXPECT_FALSE(window->live().isUpToDate());
    EXPECT_THAT(window->editPage().attention().stateText().toStdString(), HasSubstr("kept the rules"));
    window->document().undoStack().undo();
    EXPECT_TRUE(waitFor([this] { return window->live().isUpToDate(); }));
    EXPECT_THAT(window->editPage().attention().stateText().toStdString(), HasSubstr("from 3 prompts"));
}

TEST_F(Window, AnEntryThatIsNoNumberStartsNoSearch) {
    openReady();
    QLineEdit* seed = nullptr;
    for (QLineEdit* field : window->searchPanel().findChildren<QLineEdit*>()) {
        if (field->accessibleName() == QStringLiteral("Seed")) seed = field;
    }
    ASSERT_NE(seed, nullptr);
    seed->setText(QStringLiteral("12a"));
    window->search().startAction()->trigger();
    EXPECT_FALSE(window->search().isBusy());
    seed->setText(QStringLiteral("12"));
    window->search().startAction()->trigger();
    EXPECT_TRUE(window->search().isBusy());
    window->search().stop();
    waitForEnd();
}

TEST_F(Window, ARunIsResumedInItsOwnDataBaseOnly) {
    openReady();
    startSearch();
    window->search().stop();
    waitForEnd();
    QPushButton* resume = nullptr;
    for (QPushButton* button : window->messages().findChildren<QPushButton*>()) {
        if (button->text() == QStringLiteral("Resume")) resume = button;
    }
    if (resume == nullptr) GTEST_SKIP() << "the tiny search was through before it was stopped";
    window->openDatabase(folder / "other.db");
    resume->click();
    EXPECT_FALSE(window->search().isBusy());
    EXPECT_THAT(message(), HasSubstr("open that data base"));
}

TEST(Presenters, ADamagedResultIsNoReasonToFail) {
    for (const char* text : {"{}", "[]", "null", R"({"heldout":3})", R"({"heldout":{"best":7,"better":"yes"}})",
                             R"({"heldout":{"baseline":{},"best":{"items":"many"},"nll_difference":null}})"}) {
        EXPECT_TRUE(app::verdictOf(nlohmann::json::parse(text)).isEmpty()) << text;
        store::RunRow run;
        run.kind = "search";
        run.resultJson = text;
        EXPECT_EQ(app::outcomeOf(run), "");
    }
    EXPECT_FALSE(app::factsOf(nlohmann::json::object()).groups.empty());
}

TEST(Presenters, AVerdictCountsTheItemsThatTheSearchSaw) {
    auto result = nlohmann::json::parse(R"({"heldout": {"better": true, "nll_difference": -0.5, "p_value": 0.01,
        "baseline": {"mean_accuracy": 0.25}, "best": {"mean_accuracy": 0.5, "items": 6, "searched_on": null}}})");
    EXPECT_THAT(app::verdictOf(result).toStdString(), HasSubstr("better on 6 held-out items: answer NLL"));
    result["heldout"]["best"]["searched_on"] = {{"profile", nullptr}, {"searched_items", 2}, {"items", 6}};
    EXPECT_THAT(app::verdictOf(result).toStdString(),
                HasSubstr("better on 6 held-out items, 2 of them seen by the search: answer NLL"));
}

TEST(Presenters, OnTooFewItemsThereIsNoVerdict) {
    const auto verdict = [](nlohmann::json p) {
        return app::verdictOf({{"heldout",
                                {{"baseline", {{"mean_accuracy", 0.25}}},
                                 {"best", {{"mean_accuracy", 0.5}, {"items", 6}}},
                                 {"nll_difference", -0.125},
                                 {"p_value", std::move(p)},
                                 {"better", false}}}})
            .toStdString();
    };
    EXPECT_THAT(verdict(nullptr), HasSubstr("no verdict on 6 held-out items"));
    EXPECT_THAT(verdict(nullptr), HasSubstr("too few for a test"));
    EXPECT_THAT(verdict(0.31), HasSubstr("no clear gain on 6 held-out items"));
}

TEST(Presenters, AVerdictShowsThePValueThatDecided) {
    const auto result = nlohmann::json::parse(R"({"heldout": {"better": false, "nll_difference": -0.5, "p_value": 0.02,
        "p_holm": 0.06, "baseline": {"mean_accuracy": 0.25}, "best": {"mean_accuracy": 0.5, "items": 40}}})");
    EXPECT_THAT(app::verdictOf(result).toStdString(), HasSubstr("no clear gain on 40 held-out items"));
    EXPECT_THAT(app::verdictOf(result).toStdString(), HasSubstr("(p = 0.06"));
    EXPECT_THAT(app::verdictOf(result).toStdString(), HasSubstr(" by Holm)"));
}

TEST_F(Window, SaysWhatIsWrongAndStaysUsable) {
    openReady();
    window->openModel((folder / "no-such-model.gguf").string());
    ASSERT_TRUE(waitFor([this] { return !window->models().isLoading(); }));
    EXPECT_THAT(message(), HasSubstr("no-such-model.gguf"));
    EXPECT_EQ(window->messages().kind(), MessageBar::Kind::Error);
    EXPECT_NE(window->models().model(), nullptr) << "the model before is still open";
    EXPECT_TRUE(window->search().startAction()->isEnabled());

    std::ofstream(folder / "other.json") << R"({"format":"lpes-profile","version":1,"model":{"architecture":"llama",)"
                                            R"("layers":2,"head_dim":16,"rope_theta":10000.0,"rope":null,)"
                                            R"("fingerprint":"x"},"scales":[1.0,1.5]})";
    window->openProfile(folder / "other.json");
    EXPECT_THAT(message(), HasSubstr("other.json"));
    EXPECT_EQ(window->document().undoStack().count(), 0);
    window->openProfile(folder / "missing.json");
    EXPECT_THAT(message(), HasSubstr("missing.json"));

    const auto holder = openStore(folder / "lpes.db");
    window->search().startAction()->trigger();
    waitForEnd();
    EXPECT_THAT(message(), HasSubstr("lpes.db"));
    EXPECT_EQ(state(), SearchState::Idle);

    std::ofstream(folder / "damaged.db") << std::string(8192, 'x');
    window->openDatabase(folder / "damaged.db");
    ASSERT_TRUE(waitFor([this] { return message().find("damaged.db") != std::string::npos; }));
    {
        openStore(folder / "newer.db").reset();
        std::fstream newer(folder / "newer.db", std::ios::in | std::ios::out | std::ios::binary);
        newer.seekp(60);  // user_version, big-endian, in SQLite's header
        newer.write("\0\0\0\x63", 4);
    }
    window->openDatabase(folder / "newer.db");
    ASSERT_TRUE(waitFor([this] { return message().find("newer.db") != std::string::npos; }));
    EXPECT_THAT(message(), HasSubstr("99"));
    window->search().startAction()->trigger();
    waitForEnd();
    EXPECT_THAT(message(), HasSubstr("99")) << "nor is it written to";
    window->openDatabase(folder / "lpes.db");
    ASSERT_TRUE(waitFor([this] { return window->stores().snapshot() && !window->stores().snapshot()->error; }));
}

/// No file of this process may grow beyond so many bytes: what a full disk does to a data base.
class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        m_handler = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit now{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, m_handler);
    }

  private:
    rlimit m_before{};
    void (*m_handler)(int) = nullptr;
};

TEST_F(Window, AFullDiskEndsTheSearchWithAWordAndTheRunCanBeResumed) {
    openReady();
    std::int64_t run = 0;
    {
        startSearch();
        run = window->stores().detail()->run.id;
        const FullDisk full(static_cast<rlim_t>(std::filesystem::file_size(folder / "lpes.db-wal")) + 4096);
        waitForEnd();
    }
    EXPECT_THAT(message(), HasSubstr("lpes.db"));
    EXPECT_EQ(window->messages().kind(), MessageBar::Kind::Error);
    EXPECT_EQ(state(), SearchState::Idle);
    ASSERT_TRUE(waitFor([&] {
        const auto& runs = window->runList().model().runs();
        return !runs.empty() && runs.front().resumable;
    }));
    Q_EMIT window->runList().resumeRequested(run);
    waitForEnd();
    EXPECT_EQ(take(reader()->run(run)).state, store::RunState::Finished) << message();
}

TEST_F(Window, KeepsTheCurveOfTheLastSession) {
    openReady();
    drag(0, {0, -40});
    const widgets::CurveDraft drawn = window->document().draft();
    window->close();
    window.reset();
    settle();
    openReady();
    EXPECT_EQ(window->document().draft(), drawn);
}

TEST_F(Window, RemembersDocksAndWorkspaceAndPutsThemBack) {
    auto remembered = options();
    remembered.restoreLayout = true;
    open(remembered);
    auto* runs = window->findChild<QDockWidget*>(QStringLiteral("runsDock"));
    runs->hide();
    window->setWorkspace(MainWindow::Inspect);
    window->close();
    window.reset();
    settle();
    open(remembered);
    runs = window->findChild<QDockWidget*>(QStringLiteral("runsDock"));
    EXPECT_TRUE(runs->isHidden());
    window->resetLayout();
    EXPECT_FALSE(runs->isHidden());
    for (QDockWidget* dock : window->findChildren<QDockWidget*>()) {
        dock->setFloating(true);
        settle();
        dock->setFloating(false);
        settle();
    }
}

TEST_F(Window, ThemesCanBeForced) {
    openReady();
    window->messages().show(MessageBar::Kind::Warning, QStringLiteral("a message that stands through the change"));
    window->setThemeChoice(app::ThemeChoice::Dark);
    EXPECT_LT(QApplication::palette().color(QPalette::Window).lightness(), 100);
    window->setThemeChoice(app::ThemeChoice::Light);
    EXPECT_GT(QApplication::palette().color(QPalette::Window).lightness(), 150);
}

TEST_F(Window, EveryWidgetThatTakesKeysHasAName) {
    openReady();
    for (QWidget* widget : window->findChildren<QWidget*>()) {
        if (widget->focusPolicy() == Qt::NoFocus || !widget->isVisibleTo(window.get())) continue;
        if (widget->inherits("QScrollBar") || widget->inherits("QTabBar") || widget->inherits("QDockWidget")) continue;
        if (widget->objectName().startsWith(QStringLiteral("qt_"))) continue;
        QString name = widget->accessibleName();
        if (name.isEmpty()) name = widget->property("text").toString();
        if (name.isEmpty()) name = widget->toolTip();
        EXPECT_FALSE(name.isEmpty()) << widget->metaObject()->className() << " in "
                                     << (widget->parentWidget() ? widget->parentWidget()->metaObject()->className()
                                                                : "");
    }
}

TEST_F(Window, AHundredCyclesOfStartStopAndClose) {
    for (int i = 0; i < 100; ++i) {
        open();
        ASSERT_TRUE(waitFor([this] { return window->models().model() != nullptr; })) << i;
        window->search().startAction()->trigger();
        if (i % 3 != 0) {
            ASSERT_TRUE(waitForState(SearchState::Running));
            if (i % 3 == 2) window->search().pauseAction()->trigger();
        }
        if (i % 2 == 0) {
            window->search().stopAction()->trigger();
            waitForEnd();
        }
        window.reset();
        settle();
    }
    for (const store::RunRow& run : take(reader()->runs())) EXPECT_NE(run.state, store::RunState::Running);
}

}  // namespace
}  // namespace lpes::test
