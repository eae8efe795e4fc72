#include "widgets/panels/run_list.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>

#include "tests/widgets/panel_helpers.h"

using namespace lpes::widgets;
using lpes::test::named;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

RunLine line(std::int64_t id, const char* state = "finished") {
    RunLine run = lpes::test::runLine(id, state);
    run.hasProfile = run.state != QLatin1String("failed");
    run.resumable = run.state == QLatin1String("interrupted") || run.state == QLatin1String("paused");
    return run;
}

struct Heard {
    std::vector<qint64> selected, resumed, exported, shown;
    explicit Heard(RunList& list) {
        QObject::connect(&list, &RunList::runSelected, [this](qint64 id) { selected.push_back(id); });
        QObject::connect(&list, &RunList::resumeRequested, [this](qint64 id) { resumed.push_back(id); });
        QObject::connect(&list, &RunList::exportProfileRequested, [this](qint64 id) { exported.push_back(id); });
        QObject::connect(&list, &RunList::showProfileRequested, [this](qint64 id) { shown.push_back(id); });
    }
};

QToolButton* button(RunList& list, const char* text) {
    for (QToolButton* one : list.findChildren<QToolButton*>()) {
        if (one->defaultAction() && one->defaultAction()->text().remove(QLatin1Char('&')) == QString::fromUtf8(text)) {
            return one;
        }
    }
    ADD_FAILURE() << "no button " << text;
    return nullptr;
}

std::string message(RunList& list) {
    auto* label = named<QLabel>(list, QStringLiteral("Runs: message"));
    return label->isVisible() ? label->text().toStdString() : "";
}

}  // namespace

TEST(RunList, SaysWhyItIsEmpty) {
    RunList list;
    lpes::test::showActive(list, {260, 300});
    EXPECT_THAT(message(list), HasSubstr("No run yet"));
    list.setRuns({}, QStringLiteral("No data base is open."));
    EXPECT_EQ(message(list), "No data base is open.");
    list.setError(QStringLiteral("It cannot be read."));
    EXPECT_EQ(message(list), "It cannot be read.");
    list.setRuns({line(1)});
    EXPECT_EQ(message(list), "");
    EXPECT_TRUE(list.findChild<QTableView*>()->isVisible());
    list.setError(QStringLiteral("It cannot be read."));
    EXPECT_EQ(message(list), "It cannot be read.");
    EXPECT_TRUE(list.findChild<QTableView*>()->isVisible()) << "what is known stays in sight";
}

TEST(RunList, ClickingAndArrowsSelect) {
    RunList list;
    list.setRuns({line(1), line(2), line(3)});
    lpes::test::showActive(list, {260, 300});
    const Heard heard(list);
    EXPECT_EQ(list.selectedRun(), 0);
    auto* table = list.findChild<QTableView*>();
    QTest::mouseClick(table->viewport(), Qt::LeftButton, Qt::NoModifier,
                      table->visualRect(table->model()->index(1, 0)).center());
    EXPECT_EQ(list.selectedRun(), 2);
    QTest::keyClick(table, Qt::Key_Down);
    EXPECT_THAT(heard.selected, ElementsAre(2, 1));
    list.selectRun(3);
    list.selectRun(3);
    EXPECT_THAT(heard.selected, ElementsAre(2, 1, 3));
    list.selectRun(99);
    EXPECT_THAT(heard.selected, ElementsAre(2, 1, 3, 0)) << "no such run: none is selected";
}

TEST(RunList, TheSelectionSurvivesUpdates) {
    RunList list;
    list.setRuns({line(1), line(2), line(3)});
    lpes::test::showActive(list, {260, 300});
    list.selectRun(2);
    const Heard heard(list);
    list.setRuns({line(1), line(2, "running"), line(3), line(4), line(5)});
    EXPECT_EQ(list.selectedRun(), 2);
    EXPECT_TRUE(heard.selected.empty());
    list.setRuns({line(1), line(5)});
    EXPECT_EQ(list.selectedRun(), 0) << "not its neighbour";
    EXPECT_THAT(heard.selected, ElementsAre(0));
}

TEST(RunList, TheFilterFindsWordsInAnyColumnAndForgetsNothing) {
    RunList list;
    list.setRuns({line(1, "failed"), line(2, "interrupted"), line(3)});
    lpes::test::showActive(list, {260, 300});
    list.selectRun(3);
    const Heard heard(list);
    auto* filter = named<QLineEdit>(list, QStringLiteral("Filter the runs"));
    auto* table = list.findChild<QTableView*>();
    table->setFocus();
    QTest::keyClick(table, Qt::Key_F, Qt::ControlModifier);
    EXPECT_TRUE(filter->hasFocus());
    QTest::keyClicks(filter, QStringLiteral("INTER"));
    EXPECT_EQ(table->model()->rowCount(), 1);
    EXPECT_EQ(list.selectedRun(), 0);
    EXPECT_TRUE(heard.selected.empty()) << "hiding a run is not choosing another";
    QTest::keyClicks(filter, QStringLiteral("zzz"));
    EXPECT_THAT(message(list), HasSubstr("INTERzzz"));
    filter->clear();
    EXPECT_EQ(list.selectedRun(), 3);
    EXPECT_EQ(message(list), "");
    filter->setText(QStringLiteral("failed"));
    list.selectRun(2);
    EXPECT_EQ(list.selectedRun(), 2);
    EXPECT_TRUE(filter->text().isEmpty()) << "what the program selects has to be seen";
    EXPECT_THAT(heard.selected, ElementsAre(2));
    QTest::keyClick(filter, Qt::Key_Return);
    EXPECT_TRUE(table->hasFocus());
}

TEST(RunList, ButtonsFitTheSelectedRun) {
    RunList list;
    list.setRuns({line(1, "failed"), line(2, "interrupted"), line(3)});
    lpes::test::showActive(list, {260, 300});
    const Heard heard(list);
    const auto enabled = [&list] {
        return std::vector<bool>{button(list, "Resume")->isEnabled(), button(list, "To editor")->isEnabled(),
                                 button(list, "Export…")->isEnabled()};
    };
    EXPECT_THAT(enabled(), ElementsAre(false, false, false));
    list.selectRun(1);
    EXPECT_THAT(enabled(), ElementsAre(false, false, false));
    list.selectRun(3);
    EXPECT_THAT(enabled(), ElementsAre(false, true, true));
    list.selectRun(2);
    EXPECT_THAT(enabled(), ElementsAre(true, true, true));
    for (const char* text : {"Resume", "To editor", "Export…"}) QTest::mouseClick(button(list, text), Qt::LeftButton);
    EXPECT_THAT(heard.resumed, ElementsAre(2));
    EXPECT_THAT(heard.shown, ElementsAre(2));
    EXPECT_THAT(heard.exported, ElementsAre(2));
    auto* table = list.findChild<QTableView*>();
    EXPECT_EQ(table->actions().size(), 3) << "the context menu has the same three";
    list.setRuns({line(1, "failed"), line(2, "running"), line(3)});
    EXPECT_FALSE(button(list, "Resume")->isEnabled()) << "the run went on elsewhere";
}

TEST(RunList, ANarrowDockShowsIdStateAndOutcome) {
    RunList list;
    list.setRuns({line(1, "failed"), line(2, "interrupted"), line(3)});
    lpes::test::showActive(list, {260, 300});
    EXPECT_EQ(list.width(), 260);
    auto* table = list.findChild<QTableView*>();
    const QHeaderView* header = table->horizontalHeader();
    EXPECT_EQ(header->visualIndex(RunTableModel::Id), 0);
    EXPECT_EQ(header->visualIndex(RunTableModel::State), 1);
    EXPECT_EQ(header->visualIndex(RunTableModel::Outcome), 2);
    EXPECT_LE(header->sectionViewportPosition(RunTableModel::Outcome) + header->sectionSize(RunTableModel::Outcome),
              table->viewport()->width() + 4);
    EXPECT_GT(table->horizontalScrollBar()->maximum(), 0) << "the others can be reached";
    lpes::test::expectNames(list);
}

TEST(RunList, AHeaderSortsAndTheThirdClickComesBackToNewestFirst) {
    RunList list;
    list.setRuns({line(1, "paused"), line(2, "failed"), line(3, "stopped")});
    lpes::test::showActive(list, {400, 300});
    auto* table = list.findChild<QTableView*>();
    const auto first = [table] { return table->model()->index(0, 0).data(RunTableModel::kIdRole).toLongLong(); };
    EXPECT_EQ(first(), 3);
    QHeaderView* header = table->horizontalHeader();
    const QPoint at(header->sectionViewportPosition(RunTableModel::State) + 20, header->height() / 2);
    QTest::mouseClick(header->viewport(), Qt::LeftButton, Qt::NoModifier, at);
    EXPECT_EQ(first(), 2) << "failed";
    QTest::mouseClick(header->viewport(), Qt::LeftButton, Qt::NoModifier, at);
    EXPECT_EQ(first(), 3) << "stopped";
    QTest::mouseClick(header->viewport(), Qt::LeftButton, Qt::NoModifier, at);
    list.setRuns({line(1, "paused"), line(2, "failed"), line(3, "stopped"), line(4, "running")});
    EXPECT_EQ(first(), 4);
}
