#include "widgets/curve_editor/point_panel.h"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "widgets/common/number_field.h"

using namespace lpes::widgets;
using lpes::curve::ControlPoint;
using lpes::curve::CurveKind;

namespace {

struct PointPanelTest : testing::Test {
    PointPanelTest() {
        panel.setModel(31, 8192);
        panel.setDraft(draft);
    }
    NumberField& field(const char* name) { return *panel.findChild<NumberField*>(QString::fromUtf8(name)); }
    QPushButton& button(const char* name) { return *panel.findChild<QPushButton*>(QString::fromUtf8(name)); }
    std::string label(const char* name) {
        return panel.findChild<QLabel*>(QString::fromUtf8(name))->text().toStdString();
    }
    void enter(const char* name, const char* words) {
        field(name).selectAll();
        QTest::keyClicks(&field(name), QString::fromUtf8(words));
        QTest::keyClick(&field(name), Qt::Key_Return);
    }
    void choose(CurveKind kind) {
        auto& box = *panel.findChild<QComboBox*>();
        const int index = box.findData(static_cast<int>(kind));
        box.setCurrentIndex(index);
        Q_EMIT box.activated(index);
    }
    CurveDraft after() { return committed.back().at(1).value<CurveDraft>(); }

    CurveDraft draft{CurveKind::Bezier, {{0, 1.0}, {0.3, 1.6}, {0.7, 2.0}, {1, 1.25}}, {0.5, 2.5, 0.05}};
    PointPanel panel;
    QSignalSpy committed{&panel, &PointPanel::draftCommitted};
};

}  // namespace

TEST_F(PointPanelTest, ShowsTheSelectedPointAndWhatItMeans) {
    EXPECT_FALSE(field("scale").isEnabled());
    EXPECT_THAT(label("title"), testing::HasSubstr("None"));
    panel.setSelected(1);
    EXPECT_EQ(field("layer").text(), QStringLiteral("9"));
    EXPECT_EQ(field("depth").text(), QStringLiteral("0.3"));
    EXPECT_EQ(field("scale").text(), QStringLiteral("1.6"));
    EXPECT_THAT(label("meaning"), testing::AllOf(testing::HasSubstr("1/s = 0.625"), testing::HasSubstr("13107")));
    EXPECT_EQ(committed.count(), 0);
}

TEST_F(PointPanelTest, APointAtZeroShowsItsZerosAfterNoneWasSelected) {
    panel.setSelected(-1);
    EXPECT_TRUE(field("depth").text().isEmpty());
    panel.setSelected(0);
    EXPECT_EQ(field("depth").text(), QStringLiteral("0"));
    EXPECT_EQ(field("layer").text(), QStringLiteral("0"));
}

TEST_F(PointPanelTest, EveryChangeIsOneCommit) {
    panel.setSelected(1);
    enter("scale", "1,75");
    ASSERT_EQ(committed.count(), 1);
    EXPECT_EQ(committed.back().at(0).value<CurveDraft>(), draft);
    EXPECT_EQ(after().points[1], (ControlPoint{0.3, 1.75}));
    EXPECT_EQ(committed.back().at(2).toString(), QStringLiteral("move point 1"));
    enter("layer", "12");
    ASSERT_EQ(committed.count(), 2);
    EXPECT_EQ(after().points[1], (ControlPoint{12.0 / 30.0, 1.75}));
    enter("depth", "0.5");
    ASSERT_EQ(committed.count(), 3);
    EXPECT_EQ(after().points[1], (ControlPoint{0.5, 1.75}));
    enter("depth", "0.5");
    EXPECT_EQ(committed.count(), 3);
}

TEST_F(PointPanelTest, ClampsAndSaysSoInRed) {
    panel.setSelected(1);
    enter("scale", "9");
    EXPECT_EQ(after().points[1].y, 2.5);
    EXPECT_THAT(label("problem"), testing::HasSubstr("9 is above"));
    enter("depth", "0.9");
    EXPECT_EQ(after().points[1].x, 0.7);
    enter("scale", "x");
    EXPECT_THAT(label("problem"), testing::HasSubstr("not a number"));
}

TEST_F(PointPanelTest, EndPointsAndFreeCurvesKeepTheirX) {
    panel.setSelected(0);
    EXPECT_FALSE(field("layer").isEnabled());
    EXPECT_FALSE(field("depth").isEnabled());
    EXPECT_TRUE(field("scale").isEnabled());
    EXPECT_FALSE(button("remove").isEnabled());
    panel.setSelected(1);
    EXPECT_TRUE(field("layer").isEnabled());
    EXPECT_TRUE(button("remove").isEnabled());
    choose(CurveKind::Free);
    EXPECT_FALSE(field("depth").isEnabled());
    EXPECT_FALSE(button("add").isEnabled());
}

TEST_F(PointPanelTest, RulesAreEditedToo) {
    enter("high", "3");
    EXPECT_EQ(after().constraints.scaleMax, 3.0);
    enter("low", "0.8");
    EXPECT_EQ(after().constraints.scaleMin, 0.8);
    enter("grid", "0.1");
    EXPECT_EQ(after().constraints.gridStep, 0.1);
    enter("grid", "0");
    EXPECT_EQ(after().constraints.gridStep, std::nullopt);
    EXPECT_EQ(committed.count(), 4);
    enter("low", "5");
    EXPECT_EQ(after().constraints.scaleMin, 3.0) << "not above the highest";
}

TEST_F(PointPanelTest, ABrokenRuleStandsInWords) {
    EXPECT_EQ(label("problem"), "");
    enter("high", "1.5");
    EXPECT_THAT(label("problem"), testing::HasSubstr("control point 1 has scale 1.6"));
    panel.setDraft(draft);
    EXPECT_EQ(label("problem"), "");
}

TEST_F(PointPanelTest, OffersEveryKindOfCurve) {
    const auto& box = *panel.findChild<QComboBox*>();
    EXPECT_EQ(box.count(), static_cast<int>(lpes::curve::kCurveKinds.size()));
    for (const CurveKind kind : lpes::curve::kCurveKinds) {
        SCOPED_TRACE(lpes::curve::curveKindName(kind));
        EXPECT_GE(box.findData(static_cast<int>(kind)), 0);
        panel.setDraft(draft);
        choose(kind);
        EXPECT_EQ(kind == draft.kind ? kind : after().kind, kind);
    }
}

TEST_F(PointPanelTest, AnotherKindIsOneCommitAndAnImpossibleOneNone) {
    choose(CurveKind::Free);
    ASSERT_EQ(committed.count(), 1);
    EXPECT_EQ(after().points.size(), 31u);
    EXPECT_EQ(decodedScales(after(), 31), decodedScales(draft, 31));
    panel.setModel(1, 0);
    panel.setDraft(draft);
    choose(CurveKind::Free);
    EXPECT_EQ(committed.count(), 1);
    EXPECT_EQ(panel.findChild<QComboBox*>()->currentData().toInt(), static_cast<int>(CurveKind::Bezier));
}

TEST_F(PointPanelTest, ButtonsStepThroughThePoints) {
    QSignalSpy selected(&panel, &PointPanel::pointSelected);
    button("next").click();
    button("next").click();
    button("previous").click();
    ASSERT_EQ(selected.count(), 3);
    EXPECT_EQ(selected.at(0).front().toInt(), 0);
    EXPECT_EQ(selected.at(1).front().toInt(), 1);
    EXPECT_EQ(selected.at(2).front().toInt(), 0);
    EXPECT_FALSE(button("previous").isEnabled());
    panel.setSelected(3);
    EXPECT_FALSE(button("next").isEnabled());
    EXPECT_EQ(selected.count(), 3) << "set from outside: nothing is said";
}

TEST_F(PointPanelTest, AsksForPointsToBeAddedAndRemoved) {
    QSignalSpy add(&panel, &PointPanel::addPointRequested), remove(&panel, &PointPanel::removePointRequested);
    button("add").click();
    panel.setSelected(2);
    button("remove").click();
    EXPECT_EQ(add.count(), 1);
    EXPECT_EQ(remove.count(), 1);
    EXPECT_EQ(committed.count(), 0);
}

TEST_F(PointPanelTest, SurvivesNoDraftOneLayerAndASelectionThatIsGone) {
    panel.setSelected(3);
    panel.setDraft({CurveKind::Linear, {{0, 1}, {1, 2}}, {0.5, 2.5, {}}});
    EXPECT_FALSE(field("scale").isEnabled());
    panel.setModel(1, 0);
    panel.setSelected(1);
    EXPECT_EQ(field("layer").text(), QStringLiteral("0"));
    panel.setDraft({});
    EXPECT_EQ(label("problem"), "");
    EXPECT_FALSE(panel.grab().isNull());
}
