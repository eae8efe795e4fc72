// Closing the window while its search runs on another machine.
#include <QMessageBox>
#include <QPushButton>

#include "core/remote/handle.h"
#include "tests/app/studio/other_machine.h"
#include "tests/app/studio/studio_fixture.h"

namespace lpes::test {
namespace {

using testing::HasSubstr;
using widgets::SearchState;

constexpr int kPatienceMs = 60000;

class RemoteWindow : public StudioTest {
  protected:
    /// A search there that has its run here, and does not end by itself before it is stopped.
    void startThere() {
        openReady();
        widgets::SearchForm form = window->searchPanel().form();
        form.host = QStringLiteral("somewhere");
        form.generations = 10'000;
        form.timeLimitMinutes = 3.0;  // should nobody stop it
        window->searchPanel().setForm(form);
        window->search().startAction()->trigger();
        ASSERT_TRUE(waitFor([this] { return run() != 0 || !window->search().isBusy(); }, kPatienceMs));
        ASSERT_TRUE(window->search().isBusy()) << window->messages().sentence().toStdString();
    }
    [[nodiscard]] std::int64_t run() const { return window->search().remoteRun(); }
    [[nodiscard]] QMessageBox* question() const {
        return window->findChild<QMessageBox*>(QStringLiteral("closeQuestion"));
    }
    void answer(const char* button) {
        ASSERT_NE(question(), nullptr);
        auto* answer = question()->findChild<QPushButton*>(QString::fromLatin1(button));
        ASSERT_NE(answer, nullptr) << button;
        answer->click();
    }
    [[nodiscard]] bool waitUntilClosed() {
        return waitFor([this] { return !window->isVisible(); }, kPatienceMs);
    }
    void forgetWindow() {
        window.reset();
        settle();
    }

    const OtherMachine other{folder};
};

TEST_F(RemoteWindow, ClosingAsksAndKeepsRunningUnlessToldOtherwise) {
    ASSERT_NO_FATAL_FAILURE(startThere());
    window->close();
    EXPECT_TRUE(window->isVisible());
    ASSERT_NE(question(), nullptr);
    EXPECT_THAT(question()->text().toStdString(), HasSubstr("somewhere"));
    EXPECT_NE(question()->findChild<QPushButton*>(QStringLiteral("leaveAndClose")), nullptr);
    window->close();
    EXPECT_EQ(window->findChildren<QMessageBox*>(QStringLiteral("closeQuestion")).size(), 1);
    question()->defaultButton()->click();
    ASSERT_TRUE(waitFor([this] { return question() == nullptr; }));
    EXPECT_TRUE(window->isVisible());
    EXPECT_TRUE(window->search().isBusy());
    window->search().stop();
    EXPECT_TRUE(waitFor([this] { return !window->search().isBusy(); }, kPatienceMs));
    EXPECT_TRUE(window->isVisible()) << "the question was answered with no";
}

TEST_F(RemoteWindow, StoppedAndClosedItHasEndedThereAndItsRowsAreHere) {
    ASSERT_NO_FATAL_FAILURE(startThere());
    const std::int64_t id = run();
    window->close();
    ASSERT_NO_FATAL_FAILURE(answer("stopAndClose"));
    ASSERT_TRUE(waitUntilClosed());
    forgetWindow();
    EXPECT_EQ(take(reader()->run(id)).state, store::RunState::Stopped);
    EXPECT_TRUE(remote::handleOf(folder / "lpes.db", id)) << "it can be resumed there";
}

TEST_F(RemoteWindow, LeftAndClosedItGoesOnThereAndIsResumedFromTheList) {
    ASSERT_NO_FATAL_FAILURE(startThere());
    const std::int64_t id = run();
    window->close();
    ASSERT_NO_FATAL_FAILURE(answer("leaveAndClose"));
    ASSERT_TRUE(waitUntilClosed());
    forgetWindow();
    EXPECT_TRUE(remote::handleOf(folder / "lpes.db", id));
    EXPECT_NE(take(reader()->run(id)).state, store::RunState::Stopped) << "nobody has stopped it";

    openReady();
    ASSERT_TRUE(waitFor([&] {
        const widgets::RunLine* line = window->runList().model().find(id);
        return line != nullptr && line->resumable;
    }));
    Q_EMIT window->runList().resumeRequested(id);
    ASSERT_TRUE(waitFor([this] { return state() == SearchState::Running || !window->search().isBusy(); }, kPatienceMs));
    ASSERT_EQ(state(), SearchState::Running) << window->messages().sentence().toStdString();
    EXPECT_EQ(window->search().host(), QStringLiteral("somewhere"));
    EXPECT_EQ(run(), id);
    window->search().stop();
    ASSERT_TRUE(waitFor([this] { return !window->search().isBusy(); }, kPatienceMs));
    EXPECT_EQ(take(reader()->run(id)).state, store::RunState::Stopped);
    EXPECT_EQ(take(reader()->runs()).size(), 1u) << "the same run, not a copy";
}

}  // namespace
}  // namespace lpes::test
