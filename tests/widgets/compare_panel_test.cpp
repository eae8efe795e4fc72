#include "widgets/panels/compare_panel.h"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>

#include "tests/support/qt_environment.h"
#include "tests/widgets/panel_helpers.h"
#include "widgets/panels/method_list.h"

using namespace lpes::widgets;
using lpes::test::named;
using testing::HasSubstr;

namespace {

QPushButton* button(ComparePanel& panel, const char* name) {
    return named<QPushButton>(panel, QString::fromLatin1(name));
}

CompareForm sample() {
    CompareForm form;
    form.methods = {QStringLiteral("baseline"), QStringLiteral("pi:1.5")};
    form.device = QStringLiteral("cuda:1");
    form.task.pairs = 40;
    form.items = 12;
    form.itemSeed = 18446744073709551615ULL;
    return form;
}

std::string words(ComparePanel& panel, const char* name) {
    QString text = named<QLabel>(panel, QString::fromLatin1(name))->text();
    return text.replace(QChar(QChar::Nbsp), QLatin1Char(' ')).toStdString();
}

}  // namespace

TEST(ComparePanel, TheFormGivesBackWhatItWasGiven) {
    ComparePanel panel;
    panel.setForm(sample());
    EXPECT_EQ(panel.form(), sample());
    CompareForm heard;
    QObject::connect(&panel, &ComparePanel::startRequested, [&](const CompareForm& form) { heard = form; });
    button(panel, "Start the comparison")->click();
    EXPECT_EQ(heard, sample());
    lpes::test::expectNames(panel);
}

TEST(ComparePanel, CannotStartWithoutASecondMethodAndSaysSo) {
    ComparePanel panel;
    lpes::test::showActive(panel, {290, 600});
    EXPECT_FALSE(button(panel, "Start the comparison")->isEnabled());
    EXPECT_THAT(words(panel, "Why the comparison cannot start"), HasSubstr("second method"));
    panel.methods().addMethod(QStringLiteral("pi:1.5"));
    EXPECT_TRUE(button(panel, "Start the comparison")->isEnabled());
    panel.methods().addMethod(QStringLiteral("pi:x"));
    EXPECT_FALSE(button(panel, "Start the comparison")->isEnabled());
    EXPECT_TRUE(named<QLabel>(panel, QStringLiteral("Why the comparison cannot start"))->isHidden())
        << "it stands at its field";
    panel.setForm(sample());
    auto* seed = named<QLineEdit>(panel, QStringLiteral("Item seed"));
    seed->setText(QStringLiteral("-1"));
    EXPECT_FALSE(button(panel, "Start the comparison")->isEnabled());
    EXPECT_THAT(words(panel, "Why the comparison cannot start"), HasSubstr("item seed"));
    EXPECT_EQ(panel.form(), sample()) << "the last value it took";
    seed->setText(QStringLiteral("7"));
    EXPECT_TRUE(panel.problem().isEmpty());
}

TEST(ComparePanel, TabGoesThroughTheFieldsAsTheyStand) {
    ComparePanel panel;
    lpes::test::showActive(panel, {290, 700});
    panel.setForm(sample());
    named<QComboBox>(panel, QStringLiteral("Score"))->setFocus();
    QStringList order;
    for (int i = 0; i < 4; ++i) {
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        order << QApplication::focusWidget()->accessibleName();
    }
    EXPECT_EQ(order.join(QLatin1Char('|')).toStdString(), "Device|Items|Item seed|Start the comparison");
}

TEST(ComparePanel, TheItemSeedCountsWhereItemsAreDrawn) {
    ComparePanel panel;
    CompareForm form = sample();
    auto* seed = named<QLineEdit>(panel, QStringLiteral("Item seed"));
    panel.setForm(form);
    EXPECT_TRUE(seed->isEnabled());
    form.task.task = QStringLiteral("mmlu");
    form.task.data = QStringLiteral("mmlu.tar");
    panel.setForm(form);
    EXPECT_FALSE(seed->isEnabled());
    EXPECT_THAT(seed->toolTip().toStdString(), HasSubstr("those of the data"));
    EXPECT_EQ(panel.form(), form);
}

TEST(ComparePanel, EveryButtonIsEnabledWhereItMakesSense) {
    ComparePanel panel;
    panel.setForm(sample());
    lpes::test::settle();  // the row that was there before is gone
    qint64 resumed = 0;
    int stops = 0;
    QObject::connect(&panel, &ComparePanel::resumeRequested, [&](qint64 run) { resumed = run; });
    QObject::connect(&panel, &ComparePanel::stopRequested, [&] { ++stops; });
    for (const SearchState state :
         {SearchState::Idle, SearchState::Starting, SearchState::Running, SearchState::Stopping}) {
        panel.setState(state);
        SCOPED_TRACE(searchStateName(state).toStdString());
        EXPECT_EQ(button(panel, "Start the comparison")->isEnabled(), state == SearchState::Idle);
        EXPECT_EQ(button(panel, "Stop the comparison")->isEnabled(), isAllowed(state, SearchCommand::Stop));
        EXPECT_FALSE(button(panel, "Resume the comparison")->isEnabled()) << "there is nothing to resume";
        EXPECT_EQ(named<QLineEdit>(panel, QStringLiteral("Method 1"))->isReadOnly(), state != SearchState::Idle);
    }
    panel.setState(SearchState::Running);
    button(panel, "Stop the comparison")->click();
    EXPECT_EQ(stops, 1);
    panel.setState(SearchState::Idle);
    panel.setResumable(7);
    EXPECT_THAT(button(panel, "Resume the comparison")->toolTip().toStdString(), HasSubstr("run 7"));
    button(panel, "Resume the comparison")->click();
    EXPECT_EQ(resumed, 7);
    panel.setObstacle(QStringLiteral("Open a model first"));
    for (const char* name : {"Start the comparison", "Resume the comparison"}) {
        EXPECT_FALSE(button(panel, name)->isEnabled());
        EXPECT_EQ(button(panel, name)->toolTip(), QStringLiteral("Open a model first"));
    }
}

TEST(ComparePanel, SaysHowFarItIsWithoutGrowingWiderThanItsPlace) {
    ComparePanel panel;
    lpes::test::showActive(panel, {290, 600});
    panel.setForm(sample());
    panel.setState(SearchState::Running);
    const int before = panel.minimumSizeHint().width();
    SearchProgress progress;
    progress.stage = QStringLiteral("comparing: attention-buckets:bases=10000/18000/25000,combine=logits");
    progress.done = 30;
    progress.total = 120;
    progress.ratePerSecond = 4.0;
    progress.etaSeconds = 22.5;
    progress.elapsedSeconds = 7.5;
    panel.setProgress(progress);
    EXPECT_THAT(words(panel, "State of the comparison"), HasSubstr("30 of 120 prompts"));
    EXPECT_THAT(words(panel, "Rate and time of the comparison"), HasSubstr("4.0 prompts/s · 23 s left · 8 s so far"));
    EXPECT_EQ(named<QProgressBar>(panel, QStringLiteral("Progress of the comparison"))->value(), 250);
    EXPECT_LE(panel.minimumSizeHint().width(), std::max(before, 290));
    panel.setError(QStringLiteral("The model file is gone; open it again."));
    EXPECT_THAT(words(panel, "Error of the comparison"), HasSubstr("gone"));
}
