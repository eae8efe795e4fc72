// Trainings in the window: what it shows of one, and that it takes one up again.
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>

#include "app/controllers/train_controller.h"
#include "core/studies/moice_study.h"
#include "tests/app/studio/studio_fixture.h"

namespace lpes::test {
namespace {

using app::MainWindow;
using testing::HasSubstr;

constexpr std::int64_t kRun = 1;

class TrainWindow : public StudioTest {
  protected:
    TrainWindow() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "the same words come again and again, " + std::to_string(i % 7) + "\n";
        writeBytes(folder / "t.txt", text);
    }
    [[nodiscard]] studies::TrainMoiceSettings settings(int steps) const {
        studies::TrainMoiceSettings settings;
        settings.model = {folder.model(), "float32", "cpu", true};
        settings.threads = 1;
        settings.text = folder / "t.txt";
        settings.out = folder / "router";
        settings.steps = steps;
        settings.sequencesPerStep = 2;
        settings.maxLength = 24;
        settings.topK = 2;
        settings.learningRate = 0.01;
        return settings;
    }
    /// Run kRun of the data base, to its end.
    void trainBefore(int steps) const {
        const auto store = openStore(folder / "lpes.db");
        NullObserver nobody;
        ASSERT_TRUE(studies::trainMoice(settings(steps), *store, nobody, {}));
    }
    /// …stopped in its second step.
    void leaveBefore(int steps) const {
        const auto store = openStore(folder / "lpes.db");
        StopAfter observer(3);
        ASSERT_TRUE(take(studies::trainMoice(settings(steps), *store, observer, observer.token())).stoppedEarly);
    }
    [[nodiscard]] bool waitForLine(const char* state) {
        return waitFor([&] {
            const widgets::RunLine* line = window->runList().model().find(kRun);
            return line && line->state == QLatin1String(state) && window->runList().selectedRun() == kRun;
        });
    }
    [[nodiscard]] bool waitForIdle() {
        return waitFor([this] { return !window->training().isBusy(); }, 60000);
    }
    /// Steps of the curve that the Loss tab draws.
    [[nodiscard]] std::size_t stepsShown() {
        const auto& data = window->searchPage().pane(app::kLossPlot).data();
        return data ? std::get<analysis::LossPlot>(*data).steps.size() : 0;
    }
    [[nodiscard]] std::string message() const { return window->messages().sentence().toStdString(); }
};

TEST_F(TrainWindow, TheLossTabOpensOnATrainingAndHasItsCurve) {
    trainBefore(3);
    openReady();
    window->setWorkspace(MainWindow::Search);
    ASSERT_TRUE(waitForLine("finished"));
    ASSERT_TRUE(waitFor([this] { return stepsShown() == 3; }));
    EXPECT_TRUE(window->searchPage().pane(app::kLossPlot).isVisible()) << "in front of the other tabs";
    EXPECT_FALSE(window->searchPage().pane(app::kAttentionPlot).isVisible());
    EXPECT_FALSE(window->searchPage().pane(app::kConvergencePlot).isVisible()) << "nothing that it does not have";
    EXPECT_GT(2 * window->searchPage().pane(app::kLossPlot).height(), window->searchPage().height());
    EXPECT_GT(2 * window->searchPage().pane(app::kLossPlot).width(), window->searchPage().width());
    settle();
    picture("loss");
    EXPECT_FALSE(window->runList().model().find(kRun)->resumable);
    EXPECT_THAT(window->runList().model().find(kRun)->outcome.toStdString(), testing::StartsWith("loss "));
    window->openDatabase(folder / "another.db");
    EXPECT_TRUE(window->searchPage().pane(app::kConvergencePlot).isVisible());
    EXPECT_TRUE(window->searchPage().pane(app::kAccuracyPlot).isVisible());
}

TEST_F(TrainWindow, ATrainingThatWasLeftGoesOnToItsEnd) {
    leaveBefore(4);
    openReady();
    ASSERT_TRUE(waitForLine("stopped"));
    ASSERT_TRUE(window->runList().model().find(kRun)->resumable);
    EXPECT_FALSE(window->training().stopAction()->isEnabled());
    Q_EMIT window->runList().resumeRequested(kRun);
    EXPECT_TRUE(window->training().isBusy());
    EXPECT_TRUE(window->training().stopAction()->isEnabled());
    EXPECT_FALSE(window->search().startAction()->isEnabled()) << "one at a time";
    EXPECT_TRUE(window->findChild<QProgressBar*>(QStringLiteral("trainingBar"))->isVisible());
    Q_EMIT window->runList().resumeRequested(kRun);
    EXPECT_THAT(message(), HasSubstr("A run is under way"));
    ASSERT_TRUE(waitForIdle());
    EXPECT_THAT(message(), HasSubstr("after 4 step(s)"));
    EXPECT_THAT(message(), HasSubstr((folder / "router").string()));
    EXPECT_TRUE(std::filesystem::exists(folder / "router"));
    EXPECT_TRUE(window->search().startAction()->isEnabled());
    EXPECT_FALSE(window->findChild<QProgressBar*>(QStringLiteral("trainingBar"))->isVisible());
    ASSERT_TRUE(waitForLine("finished"));
    EXPECT_TRUE(waitFor([this] { return stepsShown() == 4; }));
    EXPECT_EQ(take(reader()->runs()).size(), 1u) << "the same run";
}

TEST_F(TrainWindow, StopsAndOffersToGoOn) {
    leaveBefore(5000);
    openReady();
    ASSERT_TRUE(waitForLine("stopped"));
    Q_EMIT window->runList().resumeRequested(kRun);
    ASSERT_TRUE(waitFor([this] { return stepsShown() > 2; })) << "the curve follows";
    picture("training");
    window->training().stopAction()->trigger();
    ASSERT_TRUE(waitForIdle());
    ASSERT_TRUE(waitForLine("stopped"));
    EXPECT_THAT(message(), HasSubstr("is stopped"));
    QPushButton* resume = nullptr;
    for (QPushButton* button : window->messages().findChildren<QPushButton*>()) {
        if (button->text() == QStringLiteral("Resume")) resume = button;
    }
    ASSERT_NE(resume, nullptr);
    resume->click();
    EXPECT_TRUE(window->training().isBusy());
    ASSERT_TRUE(waitForLine("running"));
    window->close();
    EXPECT_TRUE(window->isVisible());
    auto* question = window->findChild<QMessageBox*>(QStringLiteral("closeQuestion"));
    ASSERT_NE(question, nullptr);
    EXPECT_THAT(question->windowTitle().toStdString(), HasSubstr("training"));
    question->findChild<QPushButton*>(QStringLiteral("stopAndClose"))->click();
    ASSERT_TRUE(waitFor([this] { return !window->isVisible(); }));
    EXPECT_EQ(take(reader()->lastRun()).state, store::RunState::Stopped);
}

TEST_F(TrainWindow, ACheckpointThatIsGoneIsNamed) {
    leaveBefore(4);
    std::filesystem::remove(studies::moiceCheckpointPath(folder / "router"));
    openReady();
    ASSERT_TRUE(waitForLine("stopped"));
    Q_EMIT window->runList().resumeRequested(kRun);
    ASSERT_TRUE(waitForIdle());
    EXPECT_THAT(message(), HasSubstr("The training ended: "));
    EXPECT_THAT(message(), HasSubstr("router.training"));
    EXPECT_TRUE(window->search().startAction()->isEnabled());
}

}  // namespace
}  // namespace lpes::test
