#include "widgets/panels/search_panel.h"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>
#include <QToolButton>
#include <QWheelEvent>
#include <array>

#include "tests/support/qt_environment.h"
#include "tests/widgets/panel_helpers.h"

using namespace lpes::widgets;
using lpes::test::named;
using testing::HasSubstr;

namespace {

constexpr std::array kStates{SearchState::Idle,    SearchState::Starting, SearchState::Running,
                             SearchState::Pausing, SearchState::Paused,   SearchState::Stopping};
constexpr std::array kCommands{SearchCommand::Start, SearchCommand::Pause, SearchCommand::Resume, SearchCommand::Stop};

QPushButton* button(SearchPanel& panel, SearchCommand command) {
    const QString names[] = {QStringLiteral("Start the search"), QStringLiteral("Pause the search"),
                             QStringLiteral("Resume the search"), QStringLiteral("Stop the search")};
    return named<QPushButton>(panel, names[static_cast<int>(command)]);
}

struct Heard {
    std::vector<SearchCommand> commands;
    SearchForm form;
    explicit Heard(SearchPanel& panel) {
        QObject::connect(&panel, &SearchPanel::startRequested, [this](const SearchForm& given) {
            commands.push_back(SearchCommand::Start);
            form = given;
        });
        QObject::connect(&panel, &SearchPanel::pauseRequested, [this] { commands.push_back(SearchCommand::Pause); });
        QObject::connect(&panel, &SearchPanel::resumeRequested, [this] { commands.push_back(SearchCommand::Resume); });
        QObject::connect(&panel, &SearchPanel::stopRequested, [this] { commands.push_back(SearchCommand::Stop); });
    }
};

QToolButton* more(SearchPanel& panel) {
    return named<QToolButton>(panel, QStringLiteral("More settings"));
}

QLineEdit* racing(SearchPanel& panel) {
    return named<QLineEdit>(panel, QStringLiteral("Racing"));
}

/// Nothing of it is scrolled or cut away.
bool isWhollySeen(const QWidget& widget) {
    return widget.visibleRegion().boundingRect() == widget.rect();
}

std::string words(SearchPanel& panel, const char* name) {
    QString text = named<QLabel>(panel, QString::fromLatin1(name))->text();
    return text.replace(QChar(QChar::Nbsp), QLatin1Char(' ')).toStdString();
}

}  // namespace

TEST(SearchPanel, EveryButtonIsEnabledExactlyWhereItsCommandIsAllowed) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 640});
    const Heard heard(panel);
    for (const SearchState state : kStates) {
        panel.setState(state);
        EXPECT_EQ(panel.state(), state);
        for (const SearchCommand command : kCommands) {
            SCOPED_TRACE(searchStateName(state).toStdString() + " × " + std::to_string(static_cast<int>(command)));
            QPushButton* one = button(panel, command);
            ASSERT_NE(one, nullptr);
            EXPECT_EQ(one->isEnabled(), isAllowed(state, command));
            EXPECT_FALSE(one->toolTip().isEmpty());
            const std::size_t before = heard.commands.size();
            QTest::mouseClick(one, Qt::LeftButton);
            if (isAllowed(state, command)) {
                ASSERT_EQ(heard.commands.size(), before + 1);
                EXPECT_EQ(heard.commands.back(), command);
            } else {
                EXPECT_EQ(heard.commands.size(), before);
            }
        }
    }
}

TEST(SearchPanel, TheTableOfCommandsIsTheAgreedOne) {
    int allowed = 0;
    for (const SearchState state : kStates) {
        for (const SearchCommand command : kCommands) allowed += isAllowed(state, command);
    }
    EXPECT_EQ(allowed, 7);
    EXPECT_FALSE(isAllowed(SearchState::Stopping, SearchCommand::Stop)) << "it was asked for already";
    EXPECT_FALSE(isAllowed(SearchState::Pausing, SearchCommand::Resume));
}

TEST(SearchPanel, TheFormGivesBackWhatItWasGiven) {
    SearchPanel panel;
    EXPECT_EQ(panel.form(), SearchForm{});
    SearchForm form;
    form.host = QStringLiteral("me@machine");
    form.device = QStringLiteral("cuda:1");
    form.seed = 18446744073709551615ULL;
    form.task.pairs = 40;
    form.population = 30;
    form.optimizer = QStringLiteral("gradient");
    form.refined = 2;
    form.generations = 0;
    form.searchItems = 8;
    form.selectItems = 9;
    form.reportItems = 200;
    form.timeLimitMinutes = 12.5;
    form.guardrailLimit = QStringLiteral("5");
    form.objectives = QStringLiteral("middle,ends");
    form.racing = QStringLiteral("0.05");
    panel.setForm(form);
    EXPECT_EQ(panel.form(), form);
    form.timeLimitMinutes.reset();
    panel.setForm(form);
    EXPECT_EQ(panel.form(), form);
}

TEST(SearchPanel, StartCarriesWhatWasTyped) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 640});
    const Heard heard(panel);
    panel.setDevices({QStringLiteral("cpu"), QStringLiteral("cuda:0")});
    named<QComboBox>(panel, QStringLiteral("Device"))->setCurrentIndex(1);
    QTest::keyClicks(named<QLineEdit>(panel, QStringLiteral("Run on")), QStringLiteral(" me@machine "));
    auto* population = named<QSpinBox>(panel, QStringLiteral("Population"));
    population->setFocus();
    population->selectAll();
    QTest::keyClicks(population, QStringLiteral("24"));
    auto* seed = named<QLineEdit>(panel, QStringLiteral("Seed"));
    seed->clear();
    QTest::keyClicks(seed, QStringLiteral("77"));
    auto* time = named<QLineEdit>(panel, QStringLiteral("Time limit in minutes"));
    QTest::keyClicks(time, QStringLiteral("1,5"));
    QTest::keyClick(button(panel, SearchCommand::Start), Qt::Key_Space);
    ASSERT_EQ(heard.commands.size(), 1u);
    EXPECT_EQ(heard.form.host, QStringLiteral("me@machine"));
    EXPECT_EQ(heard.form.device, QStringLiteral("cuda:0"));
    EXPECT_EQ(heard.form.population, 24);
    EXPECT_EQ(heard.form.seed, 77u);
    EXPECT_EQ(heard.form.timeLimitMinutes, 1.5);
}

TEST(SearchPanel, RefusesAtItsFieldWhatIsNoNumber) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 640});
    auto* start = button(panel, SearchCommand::Start);
    for (const auto& [name, bad, good] : {std::tuple{"Seed", "abc", "5"},
                                          {"Seed", "-1", "5"},
                                          {"Seed", "99999999999999999999", "5"},
                                          {"Time limit in minutes", "soon", "5"},
                                          {"Time limit in minutes", "0", ""},
                                          {"Time limit in minutes", "-3", "0.5"},
                                          {"Time limit in minutes", "nan", "2,5"}}) {
        SCOPED_TRACE(std::string(name) + " " + bad);
        auto* field = named<QLineEdit>(panel, QString::fromLatin1(name));
        field->clear();
        QTest::keyClicks(field, QString::fromLatin1(bad));
        EXPECT_FALSE(start->isEnabled());
        EXPECT_THAT(start->toolTip().toStdString(), HasSubstr("Correct the"));
        EXPECT_THAT(field->toolTip().toStdString(), HasSubstr("Correct the"));
        const auto* why = named<QLabel>(panel, QStringLiteral("Why the search cannot start"));
        EXPECT_TRUE(why->isVisible()) << "wherever the field was scrolled to";
        EXPECT_EQ(why->text(), field->toolTip());
        field->clear();
        QTest::keyClicks(field, QString::fromLatin1(good));
        EXPECT_TRUE(start->isEnabled());
    }
}

TEST(SearchPanel, WhatTheCheckRefusesIsRefusedAtItsFieldWithItsSentence) {
    SearchPanel panel;
    panel.setOptimizers({QStringLiteral("genetic"), QStringLiteral("gradient")});
    panel.setCheck([](SearchText text, const SearchForm& form) -> QString {
        const bool genetic = form.optimizer == QStringLiteral("genetic");
        if (text == SearchText::Objectives && !genetic) return QStringLiteral("only the genetic search has several");
        if (text == SearchText::Racing && form.racing == QStringLiteral("2")) return QStringLiteral("2 is too much");
        return {};
    });
    lpes::test::showActive(panel, {280, 640});
    auto* start = button(panel, SearchCommand::Start);
    const auto* why = named<QLabel>(panel, QStringLiteral("Why the search cannot start"));
    racing(panel)->setText(QStringLiteral("2"));
    EXPECT_TRUE(racing(panel)->isVisibleTo(&panel)) << "what stands in the way is not hidden";
    EXPECT_EQ(racing(panel)->toolTip(), QStringLiteral("Correct the racing: 2 is too much."));
    EXPECT_EQ(panel.problem(), racing(panel)->toolTip());
    EXPECT_EQ(why->text(), racing(panel)->toolTip());
    EXPECT_FALSE(start->isEnabled());
    racing(panel)->setText(QStringLiteral("0.05"));
    EXPECT_TRUE(start->isEnabled());
    EXPECT_THAT(racing(panel)->toolTip().toStdString(), HasSubstr("with this probability")) << "its own words again";

    auto* objectives = named<QComboBox>(panel, QStringLiteral("Objectives"));
    objectives->setCurrentText(QStringLiteral("middle,ends"));
    EXPECT_TRUE(start->isEnabled());
    auto* optimizer = named<QComboBox>(panel, QStringLiteral("Optimizer"));
    optimizer->setCurrentText(QStringLiteral("gradient"));
    EXPECT_FALSE(start->isEnabled()) << "another field changed, and the two no longer go together";
    EXPECT_EQ(objectives->toolTip(), QStringLiteral("Correct the objectives: only the genetic search has several."));
    optimizer->setCurrentText(QStringLiteral("genetic"));
    EXPECT_TRUE(start->isEnabled());
}

TEST(SearchPanel, WhatFewSearchesNeedIsFoldedAwayUnlessItIsInUse) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 640});
    EXPECT_FALSE(racing(panel)->isVisibleTo(&panel));
    EXPECT_EQ(more(panel)->text(), QStringLiteral("More settings"));
    more(panel)->click();
    EXPECT_TRUE(racing(panel)->isVisibleTo(&panel));
    racing(panel)->setText(QStringLiteral("0.05"));
    named<QComboBox>(panel, QStringLiteral("Objectives"))->setCurrentText(QStringLiteral("middle,ends"));
    more(panel)->click();
    EXPECT_FALSE(racing(panel)->isVisibleTo(&panel));
    EXPECT_THAT(more(panel)->text().toStdString(), HasSubstr("2 in use"));
    EXPECT_EQ(panel.form().racing, QStringLiteral("0.05"));
    SearchForm form;
    panel.setForm(form);
    EXPECT_FALSE(racing(panel)->isVisibleTo(&panel));
    form.guardrailLimit = QStringLiteral("5");
    panel.setForm(form);
    EXPECT_TRUE(racing(panel)->isVisibleTo(&panel));
    EXPECT_THAT(more(panel)->text().toStdString(), HasSubstr("1 in use"));
}

TEST(SearchPanel, ObjectivesAreChosenOrTyped) {
    SearchPanel panel;
    const QStringList lists{QString(), QStringLiteral("middle,ends"), QStringLiteral("ends,short")};
    auto* field = named<QComboBox>(panel, QStringLiteral("Objectives"));
    field->setCurrentText(QStringLiteral("short,middle"));
    panel.setObjectives(lists);
    EXPECT_EQ(panel.form().objectives, QStringLiteral("short,middle")) << "what was typed stays";
    EXPECT_EQ(field->count(), lists.size());
    field->setCurrentIndex(1);
    EXPECT_EQ(panel.form().objectives, QStringLiteral("middle,ends"));
    field->setCurrentIndex(0);
    EXPECT_EQ(panel.form().objectives, QString());
}

TEST(SearchPanel, AnObstacleIsTheReasonForTheDisabledStart) {
    SearchPanel panel;
    panel.setObstacle(QStringLiteral("open a model first"));
    EXPECT_FALSE(button(panel, SearchCommand::Start)->isEnabled());
    EXPECT_EQ(button(panel, SearchCommand::Start)->toolTip(), QStringLiteral("open a model first"));
    panel.setState(SearchState::Running);
    EXPECT_TRUE(button(panel, SearchCommand::Stop)->isEnabled()) << "it stands in the way of starting only";
    panel.setState(SearchState::Idle);
    panel.setObstacle({});
    EXPECT_TRUE(button(panel, SearchCommand::Start)->isEnabled());
}

TEST(SearchPanel, SettingsCannotBeEditedWhileASearchIsUnderWay) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 640});
    more(panel)->click();
    const SearchForm before = panel.form();
    for (const SearchState state : kStates) {
        if (state == SearchState::Idle) continue;
        panel.setState(state);
        const auto boxes = panel.findChildren<QSpinBox*>();
        EXPECT_EQ(boxes.size(), 7);
        for (QSpinBox* box : boxes) {
            box->setFocus();
            QTest::keyClick(box, Qt::Key_Up);
            QTest::keyClicks(box, QStringLiteral("9"));
        }
        for (const char* name :
             {"Run on", "Seed", "Time limit in minutes", "Guardrail limit in percent", "Racing", "Target fitness"}) {
            QTest::keyClicks(named<QLineEdit>(panel, QString::fromLatin1(name)), QStringLiteral("9"));
        }
        for (const char* name : {"Device", "Optimizer", "Objectives"}) {
            EXPECT_FALSE(named<QComboBox>(panel, QString::fromLatin1(name))->isEnabled()) << name;
        }
        EXPECT_EQ(panel.form(), before) << searchStateName(state).toStdString();
    }
    panel.setState(SearchState::Idle);
    QTest::keyClick(named<QSpinBox>(panel, QStringLiteral("Pairs")), Qt::Key_Up);
    EXPECT_EQ(panel.form().task.pairs, before.task.pairs + 1);
}

TEST(SearchPanel, ScrollingPastAFieldDoesNotChangeIt) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 640});
    named<QLineEdit>(panel, QStringLiteral("Seed"))->setFocus();
    auto* pairs = named<QSpinBox>(panel, QStringLiteral("Pairs"));
    const auto turn = [pairs] {
        const QPointF at = pairs->rect().center();
        QWheelEvent wheel(at, pairs->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                          false);
        QCoreApplication::sendEvent(pairs, &wheel);
    };
    turn();
    EXPECT_EQ(pairs->value(), 20);
    pairs->setFocus();
    turn();
    EXPECT_EQ(pairs->value(), 21);
}

TEST(SearchPanel, ProgressIsSaidInWords) {
    SearchPanel panel;
    panel.setState(SearchState::Running);
    panel.setProgress({QStringLiteral("generation 3 of 6"), 96, 192, 12.34, 130.0, 185.0, -1.6564, -1.7});
    EXPECT_EQ(words(panel, "State of the search"), "Running · generation 3 of 6 · 96 of 192 prompts");
    EXPECT_EQ(words(panel, "Rate and time of the search"), "12.3 prompts/s · 2 min 10 s left · 3 min 05 s so far");
    EXPECT_EQ(words(panel, "Best fitness against the baseline"), "best −1.656 · baseline −1.700 · gain +0.044");
    EXPECT_EQ(panel.findChild<QProgressBar*>()->value() * 2, panel.findChild<QProgressBar*>()->maximum());
    panel.setProgress({});
    EXPECT_EQ(words(panel, "State of the search"), "Running");
    EXPECT_EQ(words(panel, "Rate and time of the search"), "");
    EXPECT_EQ(panel.findChild<QProgressBar*>()->value(), 0);
}

TEST(SearchPanel, AnErrorComesAndGoes) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 640});
    auto* error = named<QLabel>(panel, QStringLiteral("Error of the search"));
    EXPECT_FALSE(error->isVisible());
    panel.setError(QStringLiteral("The model cannot be read. Open another."));
    EXPECT_TRUE(error->isVisible());
    panel.setError({});
    EXPECT_FALSE(error->isVisible());
}

TEST(SearchPanel, FitsANarrowDock) {
    SearchPanel panel;
    panel.setDevices({QStringLiteral("cuda:0 (a graphics card with quite a long name)")});
    panel.setState(SearchState::Running);
    panel.setProgress({QStringLiteral("generation 3 of 6"), 96, 192, 12.34, 130.0, 185.0, -1.6564, -1.7});
    panel.setError(QStringLiteral("A rather long sentence about what went wrong, and what can be done about it."));
    lpes::test::showActive(panel, {280, 500});
    EXPECT_EQ(panel.width(), 280);
    const auto areas = panel.findChildren<QScrollArea*>();
    for (const QScrollArea* area : areas) EXPECT_EQ(area->horizontalScrollBar()->maximum(), 0);
    lpes::test::expectNames(panel);
}

TEST(SearchPanel, InALowDockTheFormScrollsAndTheButtonsStay) {
    for (const int height : {900, 480, 340}) {
        SCOPED_TRACE(height);
        SearchPanel panel;
        lpes::test::showActive(panel, {280, height});
        const auto* area = panel.findChild<QScrollArea*>();
        auto* last = named<QLineEdit>(panel, QStringLiteral("Target fitness"));
        more(panel)->click();
        EXPECT_TRUE(lpes::test::waitFor([&] { return isWhollySeen(*last); })) << "asked for and shown";
        for (const SearchCommand command : kCommands) EXPECT_TRUE(isWhollySeen(*button(panel, command)));
        area->verticalScrollBar()->setValue(0);
        EXPECT_TRUE(isWhollySeen(*named<QComboBox>(panel, QStringLiteral("Task"))));
        if (height < 500) {
            EXPECT_GT(area->verticalScrollBar()->maximum(), 0);
        }
        EXPECT_EQ(area->horizontalScrollBar()->maximum(), 0);
    }
}

TEST(SearchPanel, TabGoesThroughTheFormToTheButtons) {
    SearchPanel panel;
    lpes::test::showActive(panel, {280, 700});
    named<QComboBox>(panel, QStringLiteral("Task"))->setFocus();
    QStringList order;
    for (int i = 0; i < 19; ++i) {
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        order << QApplication::focusWidget()->accessibleName();
    }
    EXPECT_EQ(order.first(), QStringLiteral("Data"));
    EXPECT_EQ(order.indexOf(QStringLiteral("Score")) + 1, order.indexOf(QStringLiteral("Run on")))
        << order.join(QLatin1Char('|')).toStdString();
    EXPECT_EQ(order.indexOf(QStringLiteral("Run on")) + 1, order.indexOf(QStringLiteral("Device")));
    EXPECT_EQ(order.indexOf(QStringLiteral("Device")) + 1, order.indexOf(QStringLiteral("Optimizer")));
    EXPECT_EQ(order.indexOf(QStringLiteral("Optimizer")) + 1, order.indexOf(QStringLiteral("Population")));
    EXPECT_EQ(order.indexOf(QStringLiteral("Time limit in minutes")) + 1,
              order.indexOf(QStringLiteral("More settings")));
    EXPECT_EQ(order.indexOf(QStringLiteral("More settings")) + 1, order.indexOf(QStringLiteral("Start the search")))
        << order.join(QLatin1Char('|')).toStdString();
}

TEST(DurationText, NamesTwoUnits) {
    EXPECT_EQ(durationText(0.4), QStringLiteral("0 s"));
    EXPECT_EQ(durationText(12.0), QStringLiteral("12 s"));
    EXPECT_EQ(durationText(59.6), QStringLiteral("1 min 00 s"));
    EXPECT_EQ(durationText(200.0), QStringLiteral("3 min 20 s"));
    EXPECT_EQ(durationText(185.0), QStringLiteral("3 min 05 s"));
    EXPECT_EQ(durationText(3725.0), QStringLiteral("1 h 02 min"));
    EXPECT_EQ(durationText(-1.0), QStringLiteral("unknown"));
    EXPECT_EQ(durationText(std::nan("")), QStringLiteral("unknown"));
}
