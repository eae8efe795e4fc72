// The prompt of an item in the window.
#include <QPlainTextEdit>
#include <QSpinBox>
#include <QTest>

#include "app/controllers/prompt_controller.h"
#include "tests/app/studio/studio_fixture.h"
#include "tests/widgets/panel_helpers.h"
#include "widgets/panels/prompt_view.h"

namespace lpes::test {
namespace {

using app::MainWindow;
using testing::HasSubstr;

class PromptWindow : public StudioTest {
  protected:
    [[nodiscard]] widgets::PromptView& view() { return window->promptView(); }
    [[nodiscard]] bool waitForPrompt() {
        return waitFor([this] { return window->prompts().isUpToDate() && !view().facts().text.isEmpty(); });
    }
    void show() { window->findChild<QAction*>(QStringLiteral("showPromptAction"))->trigger(); }
};

TEST_F(PromptWindow, ShowsWhatTheSearchWouldAsk) {
    openReady();
    show();
    EXPECT_TRUE(view().isVisible());
    ASSERT_TRUE(waitForPrompt());
    const widgets::PromptFacts facts = view().facts();
    EXPECT_EQ(facts.number, 0);
    EXPECT_EQ(facts.items, study().searchItems + study().selectItems + study().reportItems.value());
    ASSERT_EQ(facts.spans.size(), 1u);
    const auto [begin, end] = facts.spans.front();
    EXPECT_THAT(facts.text.mid(begin, end - begin).toStdString(), HasSubstr(facts.references.front().toStdString()));
    EXPECT_GT(facts.promptTokens, 0);
    EXPECT_TRUE(facts.fits);
    EXPECT_FALSE(facts.templateHash.isEmpty());
}

TEST_F(PromptWindow, FollowsItemPositionAndForm) {
    openReady();
    show();
    ASSERT_TRUE(waitForPrompt());
    const QString first = view().facts().text;
    named<QSpinBox>(view(), QStringLiteral("Item"))->setValue(2);
    ASSERT_TRUE(waitFor([&] { return view().facts().number == 2; }));
    EXPECT_NE(view().facts().text, first);
    Q_EMIT view().positionChosen(view().facts().positions.last());
    ASSERT_TRUE(waitFor([&] { return view().facts().position == view().facts().positions.last(); }));
    EXPECT_EQ(view().facts().number, 2);
    widgets::SearchForm form = window->searchPanel().form();
    form.task.pairs = 500;
    window->searchPanel().setForm(form);
    ASSERT_TRUE(waitFor([&] { return !view().facts().fits; })) << "the view follows the form";
    EXPECT_THAT(view().message().toStdString(), HasSubstr("Does not fit into the context"));
    Q_EMIT view().idChosen(QStringLiteral("nobody"));
    ASSERT_TRUE(waitFor([&] { return view().message().contains(QStringLiteral("nobody")); }));
}

TEST_F(PromptWindow, FromAComparisonItShowsTheComparisonsItems) {
    openReady();
    window->setWorkspace(MainWindow::Compare);
    show();
    ASSERT_TRUE(waitForPrompt());
    EXPECT_EQ(view().source(), 1);
    EXPECT_EQ(view().facts().items, window->comparePage().panel().form().items);
}

TEST_F(PromptWindow, WithoutAModelItSaysWhatIsMissing) {
    app::StudioOptions none = options();
    none.model.clear();
    open(none);
    show();
    EXPECT_THAT(view().message().toStdString(), HasSubstr("Open a model first"));
}

TEST_F(PromptWindow, AFormThatIsNoneIsSaidInItsWords) {
    openReady();
    widgets::SearchForm form = window->searchPanel().form();
    form.task.positions = QStringLiteral("somewhere");
    window->searchPanel().setForm(form);
    show();
    EXPECT_THAT(view().message().toStdString(), HasSubstr("Correct the positions"));
}

TEST_F(PromptWindow, IsMadeWhileASearchIsRunning) {
    openReady();
    startSearch();
    show();
    EXPECT_TRUE(waitForPrompt());
    window->search().stop();
    waitForEnd();
}

}  // namespace
}  // namespace lpes::test
