#include "widgets/panels/inspector_panel.h"

#include <gmock/gmock.h>

#include <QClipboard>
#include <QLabel>
#include <QScrollBar>
#include <QTableWidget>
#include <QTreeWidget>

#include "tests/widgets/panel_helpers.h"

using namespace lpes::widgets;
using lpes::test::named;
using testing::HasSubstr;

namespace {

std::vector<ModelFacts::Layer> layers(int count, double scale) {
    std::vector<ModelFacts::Layer> out;
    for (int i = 0; i < count; ++i) {
        out.push_back({i, scale, 8192.0 * scale, 6.2832 * scale, 543'210.9 * scale, QStringLiteral("curve")});
    }
    return out;
}

ModelFacts facts() {
    ModelFacts facts;
    facts.name = QStringLiteral("SmolLM2-135M");
    facts.path = QStringLiteral("/models/smol");
    facts.groups = {
        {QStringLiteral("Model"),
         {{QStringLiteral("layers"), QStringLiteral("30"), QStringLiteral("config.json num_hidden_layers")}}},
        {QStringLiteral("RoPE"),
         {{QStringLiteral("base"), QStringLiteral("100000"), QStringLiteral("config.json rope_theta")},
          {QStringLiteral("head_dim"), QStringLiteral("64"), QStringLiteral("computed")}}}};
    facts.layers = layers(30, 1.25);
    facts.warnings = {QStringLiteral("the pattern is not known"), QStringLiteral("the vocabulary is padded")};
    facts.applied = QStringLiteral("applied, verified (largest error 1e-7)");
    return facts;
}

std::string copied(QWidget& view) {
    QGuiApplication::clipboard()->clear();
    view.setFocus();
    QTest::keyClick(&view, Qt::Key_C, Qt::ControlModifier);
    return QGuiApplication::clipboard()->text().toStdString();
}

}  // namespace

TEST(InspectorPanel, ShowsFactsWithTheirOrigins) {
    InspectorPanel panel;
    panel.setFacts(facts());
    lpes::test::showActive(panel, {320, 620});
    auto* tree = panel.findChild<QTreeWidget*>();
    ASSERT_EQ(tree->topLevelItemCount(), 2);
    const QTreeWidgetItem* base = tree->topLevelItem(1)->child(0);
    EXPECT_EQ(base->text(0), QStringLiteral("base"));
    EXPECT_EQ(base->text(1), QStringLiteral("100000"));
    EXPECT_EQ(base->text(2), QStringLiteral("config.json rope_theta"));
    EXPECT_TRUE(tree->topLevelItem(1)->isExpanded());
    auto* warnings = named<QLabel>(panel, QStringLiteral("Warnings about the model"));
    EXPECT_TRUE(warnings->isVisible());
    EXPECT_EQ(warnings->text(), QStringLiteral("Warning: the pattern is not known\nWarning: the vocabulary is padded"));
    EXPECT_LT(warnings->mapTo(&panel, QPoint()).y(), tree->mapTo(&panel, QPoint()).y()) << "at the top";
    EXPECT_THAT(named<QLabel>(panel, QStringLiteral("Is the profile in force"))->text().toStdString(),
                HasSubstr("verified"));
    lpes::test::expectNames(panel);
}

TEST(InspectorPanel, ShowsTheEffectiveRopeOfEachLayer) {
    InspectorPanel panel;
    panel.setFacts(facts());
    auto* table = panel.findChild<QTableWidget*>();
    ASSERT_EQ(table->rowCount(), 30);
    QStringList row;
    for (int column = 0; column < table->columnCount(); ++column) row << table->item(7, column)->text();
    EXPECT_EQ(row, QStringList({QStringLiteral("7"), QStringLiteral("1.250"), QStringLiteral("0.800"),
                                QStringLiteral("10240"), QStringLiteral("7.854"), QStringLiteral("679014"),
                                QStringLiteral("curve")}));
}

TEST(InspectorPanel, CopiesTheSelectionAsTabSeparatedText) {
    InspectorPanel panel;
    panel.setFacts(facts());
    lpes::test::showActive(panel, {320, 620});
    auto* table = panel.findChild<QTableWidget*>();
    EXPECT_EQ(copied(*table), "") << "nothing is selected";
    table->setRangeSelected(QTableWidgetSelectionRange(2, 0, 3, 2), true);
    EXPECT_EQ(copied(*table), "2\t1.250\t0.800\n3\t1.250\t0.800");
    table->clearSelection();
    table->item(4, 0)->setSelected(true);
    table->item(5, 2)->setSelected(true);
    EXPECT_EQ(copied(*table), "4\t\n\t0.800") << "gaps keep the columns in line";
    auto* tree = panel.findChild<QTreeWidget*>();
    tree->topLevelItem(1)->child(1)->setSelected(true);
    tree->topLevelItem(0)->child(0)->setSelected(true);
    EXPECT_EQ(copied(*tree), "layers\t30\tconfig.json num_hidden_layers\nhead_dim\t64\tcomputed");
}

TEST(InspectorPanel, NewLayersLeaveSelectionAndScrollingAlone) {
    InspectorPanel panel;
    panel.setFacts(facts());
    lpes::test::showActive(panel, {320, 400});
    auto* table = panel.findChild<QTableWidget*>();
    auto* tree = panel.findChild<QTreeWidget*>();
    table->setRangeSelected(QTableWidgetSelectionRange(20, 0, 22, 1), true);
    table->scrollToItem(table->item(22, 0));
    const int scrolled = table->verticalScrollBar()->value();
    ASSERT_GT(scrolled, 0);
    tree->topLevelItem(0)->setExpanded(false);
    panel.setLayers(layers(30, 1.5), QStringLiteral("not applied yet"));
    EXPECT_EQ(table->verticalScrollBar()->value(), scrolled);
    EXPECT_EQ(table->selectedItems().size(), 6);
    EXPECT_FALSE(tree->topLevelItem(0)->isExpanded());
    EXPECT_EQ(table->item(21, 1)->text(), QStringLiteral("1.500"));
    EXPECT_EQ(named<QLabel>(panel, QStringLiteral("Is the profile in force"))->text(),
              QStringLiteral("not applied yet"));
    panel.setLayers({}, {});
    EXPECT_EQ(table->rowCount(), 0);
    EXPECT_FALSE(named<QLabel>(panel, QStringLiteral("Is the profile in force"))->isVisible());
}

TEST(InspectorPanel, SaysWhyThereIsNothing) {
    InspectorPanel panel;
    lpes::test::showActive(panel, {320, 400});
    auto* message = named<QLabel>(panel, QStringLiteral("Inspector: message"));
    EXPECT_TRUE(message->isVisible());
    EXPECT_THAT(message->text().toStdString(), HasSubstr("No model is open"));
    panel.setFacts(facts());
    EXPECT_FALSE(message->isVisible());
    panel.setError(QStringLiteral("The model cannot be read."));
    EXPECT_TRUE(message->isVisible());
    EXPECT_FALSE(panel.findChild<QTreeWidget*>()->isVisible());
    panel.setEmpty(QStringLiteral("Closed."));
    EXPECT_EQ(message->text(), QStringLiteral("Closed."));
}
