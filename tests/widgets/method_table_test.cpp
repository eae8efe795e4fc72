#include "widgets/panels/method_table.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QAction>
#include <QClipboard>
#include <QFont>
#include <QGuiApplication>
#include <QHeaderView>
#include <QIcon>
#include <QLabel>
#include <QTableView>

#include "tests/widgets/panel_helpers.h"
#include "tests/widgets/sample_plots.h"
#include "widgets/models/method_table_model.h"

using namespace lpes::widgets;
using lpes::test::methodsPlot;
using testing::HasSubstr;
using Model = MethodTableModel;

namespace {

std::string cell(const QAbstractItemModel& model, int row, int column) {
    return model.index(row, column).data().toString().toStdString();
}

}  // namespace

class MethodTableOf : public testing::Test {
  protected:
    Model model;
    QAbstractItemModelTester tester{&model, QAbstractItemModelTester::FailureReportingMode::Warning};
};

TEST_F(MethodTableOf, FiguresHaveTheirIntervalsAndUnits) {
    auto plot = methodsPlot(2);
    plot.methods[1].nllDifference = {-0.1344, -0.171, -0.096};
    plot.methods[1].pValue = 0.0001;
    plot.methods[1].pHolm = 0.0002;
    plot.methods[1].scoreDifference = {0.05, -0.025, 0.125};
    plot.methods[1].scoreHolm = 0.25;
    plot.methods[1].mcnemarHolm = {1.0, 0.0005};
    plot.methods[1].timeRatio = {1.018, 0.99, 1.04};
    plot.methods[1].verdict = "Better than the baseline: answer NLL 1.683 against 1.817 nats";
    model.setMethods(plot);
    EXPECT_EQ(cell(model, 0, Model::Name), "baseline");
    EXPECT_EQ(cell(model, 0, Model::Accuracy), "0.250 [0.180, 0.330]");
    EXPECT_EQ(cell(model, 0, Model::Gap), "0.200 [0.100, 0.350]");
    EXPECT_EQ(cell(model, 0, Model::AnswerNll), "1.800 [1.700, 1.900]");
    EXPECT_EQ(cell(model, 1, Model::NllDifference), "−0.134 [−0.171, −0.096]");
    EXPECT_EQ(cell(model, 1, Model::PValue), "0.0002") << "adjusted";
    EXPECT_EQ(cell(model, 1, Model::ScoreDifference), "0.050 [−0.025, 0.125]");
    const std::string tests = model.index(1, Model::ScoreDifference).data(Qt::ToolTipRole).toString().toStdString();
    EXPECT_THAT(tests, HasSubstr("p = 0.250, Holm"));
    EXPECT_THAT(tests, HasSubstr("McNemar's exact test by position, p, Holm: 1.000, 0.0005"));
    EXPECT_EQ(cell(model, 1, Model::TimeRatio), "1.02 [0.99, 1.04]");
    EXPECT_EQ(cell(model, 0, Model::PeakMemory), "76");
    EXPECT_EQ(cell(model, 1, Model::Verdict), "Better than the baseline") << "the sentence is its tool tip";
    EXPECT_THAT(model.index(1, Model::Verdict).data(Qt::ToolTipRole).toString().toStdString(), HasSubstr("1.683"));
    for (int column = 0; column < Model::kColumns; ++column) {
        EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
        EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
    }
    for (const int column :
         {Model::NllDifference, Model::PValue, Model::ScoreDifference, Model::TimeRatio, Model::Verdict})
        EXPECT_EQ(cell(model, 0, column), "–") << "the first is not compared with itself";
}

TEST_F(MethodTableOf, TheBestValueIsMarkedByMoreThanItsColour) {
    model.setMethods(methodsPlot(5));
    int marked = 0;
    for (int row = 0; row < model.rowCount(); ++row) {
        const QModelIndex at = model.index(row, Model::AnswerNll);
        const bool best = row == 4;  // the sample's losses fall
        EXPECT_EQ(model.isBest(row, Model::AnswerNll), best);
        EXPECT_EQ(at.data(Qt::FontRole).value<QFont>().bold() && at.data(Qt::FontRole).isValid(), best);
        EXPECT_EQ(!at.data(Qt::DecorationRole).value<QIcon>().isNull(), best);
        EXPECT_EQ(at.data(Qt::AccessibleTextRole).toString().endsWith(QStringLiteral("best")), best);
        EXPECT_EQ(at.data(Qt::ToolTipRole).toString().contains(QStringLiteral("Best value")), best);
        marked += model.isBest(row, Model::PValue) || model.isBest(row, Model::Name);
    }
    EXPECT_EQ(marked, 0) << "a small p is not better";
    auto same = methodsPlot(3);
    for (auto& method : same.methods) method.peakBytes = 5e7;
    model.setMethods(same);
    for (int row = 0; row < 3; ++row) EXPECT_FALSE(model.isBest(row, Model::PeakMemory)) << "all are the same";
}

TEST_F(MethodTableOf, TheSameMethodsChangeInPlace) {
    int resets = 0, changed = 0;
    QObject::connect(&model, &QAbstractItemModel::modelReset, [&] { ++resets; });
    QObject::connect(&model, &QAbstractItemModel::dataChanged, [&] { ++changed; });
    model.setMethods(methodsPlot(4));
    auto later = methodsPlot(4);
    later.methods[2].gap = {0.9};
    model.setMethods(later);
    EXPECT_EQ(resets, 1);
    EXPECT_EQ(changed, 1);
    EXPECT_EQ(cell(model, 2, Model::Gap), "0.900");
    model.setMethods({});
    EXPECT_EQ(model.rowCount(), 0);
    EXPECT_EQ(resets, 2);
}

TEST(MethodTable, SortsNumbersAsNumbersWithTheUnknownLastAndComesBack) {
    MethodTable table;
    lpes::test::showActive(table, {900, 240});
    auto plot = methodsPlot(12);
    plot.methods[5].peakBytes = std::nan("");
    table.setMethods(plot);
    auto* view = table.findChild<QTableView*>();
    ASSERT_NE(view, nullptr);
    view->sortByColumn(Model::PeakMemory, Qt::AscendingOrder);
    EXPECT_EQ(cell(*view->model(), 0, Model::Name), "baseline");
    EXPECT_EQ(cell(*view->model(), 11, Model::Name), "ntk:2") << "unknown";
    double before = 0.0;
    for (int row = 0; row < 11; ++row) {
        const double value = view->model()->index(row, Model::PeakMemory).data(Model::kSortRole).toDouble();
        EXPECT_GE(value, before);
        before = value;
    }
    view->sortByColumn(-1, Qt::AscendingOrder);
    EXPECT_EQ(cell(*view->model(), 1, Model::Name), plot.methods[1].name) << "as the methods were given";
}

TEST(MethodTable, IsCopiedWithItsHeadings) {
    MethodTable table;
    table.setMethods(methodsPlot(3));
    const QStringList lines = table.asText().split(QLatin1Char('\n'));
    ASSERT_EQ(lines.size(), 4);
    for (const QString& line : lines) EXPECT_EQ(line.count(QLatin1Char('\t')), Model::kColumns - 1);
    EXPECT_TRUE(lines[0].startsWith(QStringLiteral("Method\tAccuracy [95 %]\t")));
    EXPECT_TRUE(lines[2].startsWith(QStringLiteral("lpes:profiles/")));
    QAction* whole = nullptr;
    for (QAction* action : table.findChild<QTableView*>()->actions()) {
        if (action->text() == QStringLiteral("Copy the whole table")) whole = action;
    }
    ASSERT_NE(whole, nullptr);
    whole->trigger();
    EXPECT_EQ(QGuiApplication::clipboard()->text(), table.asText());
}

TEST(MethodTable, WithoutMethodsItSaysWhy) {
    MethodTable table;
    lpes::test::showActive(table, {600, 200});
    table.setMethods(methodsPlot(2));
    EXPECT_FALSE(table.findChild<QTableView*>()->isHidden());
    table.setEmpty(QStringLiteral("Select a comparison."));
    EXPECT_TRUE(table.findChild<QTableView*>()->isHidden());
    EXPECT_EQ(lpes::test::named<QLabel>(table, QStringLiteral("Methods compared: message"))->text(),
              QStringLiteral("Select a comparison."));
    lpes::test::expectNames(table);
}

TEST_F(MethodTableOf, TheGuardrailHasAWordADotAndItsFigures) {
    auto plot = methodsPlot(3);
    plot.methods[1].guardrail = "amber";
    plot.methods[1].guardrailReason = "short-context perplexity rises to 1.020 times the baseline's";
    plot.methods[1].guardrailDetail = "Perplexity of short contexts: 10.000 → 10.200 (× 1.020)";
    plot.methods[2].guardrail = "green";
    model.setMethods(plot);
    const QModelIndex amber = model.index(1, Model::Guardrail);
    EXPECT_EQ(amber.data().toString(), QStringLiteral("amber"));
    EXPECT_FALSE(amber.data(Qt::DecorationRole).value<QIcon>().isNull());
    const std::string tip = amber.data(Qt::ToolTipRole).toString().toStdString();
    EXPECT_THAT(tip, HasSubstr("1.020 times"));
    EXPECT_THAT(tip, HasSubstr("10.000 → 10.200"));
    EXPECT_EQ(cell(model, 0, Model::Guardrail), "–") << "the first is what is compared with";
    EXPECT_TRUE(model.index(0, Model::Guardrail).data(Qt::DecorationRole).value<QIcon>().isNull());
    const auto sorts = [&](int row) { return model.index(row, Model::Guardrail).data(Model::kSortRole).toInt(); };
    EXPECT_LT(sorts(2), sorts(1));
    EXPECT_LT(sorts(1), sorts(0)) << "what was not measured is last";
}

TEST(MethodTable, SaysOfTheSelectedMethodWhatFiguresDoNot) {
    MethodTable table;
    lpes::test::showActive(table, {800, 300});
    auto plot = methodsPlot(3);
    plot.methods[1].verdict = "Better than the baseline";
    plot.methods[2].bias = "no bias found";
    plot.methods[2].searchedItems = 16;
    plot.methods[2].allItems = 40;
    table.setMethods(plot);
    auto* detail = lpes::test::named<QLabel>(table, QStringLiteral("About the selected method"));
    auto* red = lpes::test::named<QLabel>(table, QStringLiteral("Not held out"));
    EXPECT_THAT(detail->text().toStdString(), HasSubstr("Better than the baseline"));
    table.findChild<QTableView*>()->selectRow(2);
    EXPECT_THAT(detail->text().toStdString(), HasSubstr("Position bias: no bias found"));
    EXPECT_TRUE(red->isVisible());
    EXPECT_THAT(red->text().toStdString(), HasSubstr("Not held out: searched on 16 of 40 items"));
    table.setMethods(methodsPlot(3));
    EXPECT_FALSE(red->isVisible());
    table.setEmpty(QStringLiteral("none"));
    EXPECT_FALSE(detail->isVisible());
}
