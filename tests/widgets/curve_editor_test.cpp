#include "widgets/curve_editor/curve_editor.h"

#include <gmock/gmock.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace lpes::widgets;
using lpes::analysis::SeriesRole;
using lpes::curve::ControlPoint;
using lpes::curve::CurveKind;

namespace {

CurveDraft bezier() {
    return {CurveKind::Bezier, {{0, 1.0}, {0.3, 1.6}, {0.7, 2.0}, {1, 1.25}}, {0.5, 2.5, 0.05}};
}

CurveDraft freeCurve(int layers) {
    CurveDraft draft{CurveKind::Free, {}, {0.5, 2.5, 0.05}};
    for (int layer = 0; layer < layers; ++layer) {
        draft.points.push_back({static_cast<double>(layer) / (layers - 1), 1.0 + 0.5 * std::sin(layer * 0.2)});
    }
    return draft;
}

// Processes events until the predicate holds or the deadline passes.
template <class Predicate>
bool waitFor(Predicate predicate, int deadlineMs = 5000) {
    QElapsedTimer timer;
    timer.start();
    while (!predicate() && timer.elapsed() < deadlineMs) QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    return predicate();
}

std::size_t coloursIn(const QImage& image) {
    std::set<QRgb> colours;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) colours.insert(image.pixel(x, y));
    }
    return colours.size();
}

bool contains(const QImage& image, const QColor& color) {
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            if (image.pixelColor(x, y).rgb() == color.rgb()) return true;
        }
    }
    return false;
}

/// An editor on the screen with ears on all its signals, and hands.
struct Desk {
    Desk() {
        editor.setModel(31, 8192);
        editor.setDraft(bezier());
        editor.resize(780, 380);
        editor.show();
        editor.grab();
    }

    QImage picture() {
        editor.replot();
        return editor.grab().toImage();
    }
    void mouse(QEvent::Type type, const QPointF& at, Qt::KeyboardModifiers modifiers = Qt::NoModifier,
               Qt::MouseButton button = Qt::LeftButton) {
        const bool move = type == QEvent::MouseMove;
        const Qt::MouseButtons held = type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::MouseButtons(button);
        QMouseEvent event(type, at, editor.mapToGlobal(at), move ? Qt::NoButton : button, held, modifiers);
        QCoreApplication::sendEvent(&editor, &event);
    }
    void hover(const QPointF& at) {
        QMouseEvent event(QEvent::MouseMove, at, editor.mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&editor, &event);
    }
    // Presses on a point and moves in small steps; no release.
    void drag(int point, const QPointF& delta, Qt::KeyboardModifiers modifiers = Qt::NoModifier, int moves = 10) {
        const QPointF from = editor.pixelOfPoint(point);
        mouse(QEvent::MouseButtonPress, from, modifiers);
        for (int i = 1; i <= moves; ++i) mouse(QEvent::MouseMove, from + delta * i / moves, modifiers);
        pointer = from + delta;
    }
    void release() { mouse(QEvent::MouseButtonRelease, pointer); }
    // A place on the plot with nothing near.
    QPointF background() const { return editor.pixelOfPoint(0) + QPointF(60, 35); }
    QCPRange xRange() { return editor.axisRect(0)->axis(QCPAxis::atBottom)->range(); }
    QCPRange yRange() { return editor.axisRect(0)->axis(QCPAxis::atLeft)->range(); }
    CurveDraft after() { return committed.back().at(1).value<CurveDraft>(); }
    double y(int point) { return editor.draft().points[static_cast<std::size_t>(point)].y; }
    double x(int point) { return editor.draft().points[static_cast<std::size_t>(point)].x; }

    CurveEditor editor{Theme::light()};
    QPointF pointer;
    QSignalSpy previewed{&editor, &CurveEditor::draftPreviewed};
    QSignalSpy committed{&editor, &CurveEditor::draftCommitted};
    QSignalSpy abandoned{&editor, &CurveEditor::draftAbandoned};
    QSignalSpy selected{&editor, &CurveEditor::pointSelected};
    QSignalSpy readouts{&editor, &CurveEditor::readoutChanged};
};

struct CurveEditorMouse : testing::Test, Desk {};
struct CurveEditorKeys : testing::Test, Desk {};
struct CurveEditorPicture : testing::Test, Desk {};

}  // namespace

TEST_F(CurveEditorMouse, PressSelectsWithinEighteenPixels) {
    mouse(QEvent::MouseButtonPress, editor.pixelOfPoint(2) + QPointF(8, -8));
    mouse(QEvent::MouseButtonRelease, editor.pixelOfPoint(2) + QPointF(8, -8));
    EXPECT_EQ(editor.selectedPoint(), 2);
    ASSERT_EQ(selected.count(), 1);
    EXPECT_EQ(selected.front().front().toInt(), 2);
    mouse(QEvent::MouseButtonPress, editor.pixelOfPoint(1) + QPointF(11, 0));
    mouse(QEvent::MouseButtonRelease, editor.pixelOfPoint(1) + QPointF(11, 0));
    EXPECT_EQ(editor.selectedPoint(), 2) << "outside the hit area";
    EXPECT_EQ(committed.count(), 0);
}

TEST_F(CurveEditorMouse, ADragBelowTheThresholdMovesNothing) {
    drag(1, {3, 2});
    EXPECT_FALSE(editor.inGesture());
    release();
    EXPECT_EQ(previewed.count(), 0);
    EXPECT_EQ(editor.draft(), bezier());
}

TEST_F(CurveEditorMouse, ADragMovesThePointWithThePointer) {
    const QPointF from = editor.pixelOfPoint(1);
    drag(1, {35, -40});
    EXPECT_TRUE(editor.inGesture());
    EXPECT_NEAR(editor.pixelOfPoint(1).x(), from.x() + 35, 1e-6);
    EXPECT_NEAR(editor.pixelOfPoint(1).y(), from.y() - 40, 1e-6);
    EXPECT_GT(previewed.count(), 3);
    EXPECT_EQ(previewed.back().front().value<CurveDraft>(), editor.draft());
    EXPECT_EQ(committed.count(), 0);
    release();
    EXPECT_FALSE(editor.inGesture());
    ASSERT_EQ(committed.count(), 1);
    EXPECT_EQ(committed.front().at(0).value<CurveDraft>(), bezier());
    EXPECT_EQ(after(), editor.draft());
    EXPECT_EQ(committed.front().at(2).toString(), QStringLiteral("move point 1"));
    EXPECT_EQ(editor.scales(), decodedScales(editor.draft(), 31));
}

TEST_F(CurveEditorMouse, ADragBackToTheStartCommitsNothing) {
    drag(1, {40, 40});
    mouse(QEvent::MouseMove, editor.pixelOfPoint(1) - QPointF(40, 40));
    release();
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(committed.count(), 0);
}

TEST_F(CurveEditorMouse, PointsNeverFoldBackAndStayInsideTheBounds) {
    drag(1, {2000, -2000});
    release();
    EXPECT_EQ(editor.draft().points[1], (ControlPoint{0.7, 2.5}));
    drag(0, {300, 2000});
    release();
    EXPECT_EQ(editor.draft().points[0], (ControlPoint{0.0, 0.5}));
    drag(3, {-300, 30});
    release();
    EXPECT_EQ(x(3), 1.0);
}

TEST_F(CurveEditorMouse, ShiftLocksToTheAxisOfTheLargerMovement) {
    drag(1, {50, -20}, Qt::ShiftModifier);
    release();
    EXPECT_EQ(y(1), 1.6);
    EXPECT_GT(x(1), 0.3);
    editor.setDraft(bezier());
    drag(1, {20, -50}, Qt::ShiftModifier);
    release();
    EXPECT_EQ(x(1), 0.3);
    EXPECT_GT(y(1), 1.6);
}

TEST_F(CurveEditorMouse, EscapeDuringADragPutsThePointBack) {
    drag(1, {40, -30});
    QTest::keyClick(&editor, Qt::Key_Escape);
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(abandoned.count(), 1);
    EXPECT_FALSE(editor.inGesture());
    mouse(QEvent::MouseMove, pointer + QPointF(20, 20));
    release();
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(committed.count(), 0);
}

TEST_F(CurveEditorMouse, SettingADraftEndsTheGestureWithoutASignal) {
    drag(1, {40, -30});
    const auto told = previewed.count();
    CurveDraft other = bezier();
    other.points[2].y = 0.75;
    editor.setDraft(other);
    EXPECT_FALSE(editor.inGesture());
    mouse(QEvent::MouseMove, pointer + QPointF(30, 30));
    release();
    EXPECT_EQ(editor.draft(), other);
    EXPECT_EQ(previewed.count(), told);
    EXPECT_EQ(committed.count() + abandoned.count(), 0);
}

TEST_F(CurveEditorMouse, AReceiverMaySetTheDraftWhileItIsTold) {
    QObject::connect(&editor, &CurveEditor::draftCommitted, &editor,
                     [this](const CurveDraft& before, const CurveDraft&) { editor.setDraft(before); });
    QSignalSpy last(&editor, &CurveEditor::draftCommitted);
    drag(1, {40, -30});
    const CurveDraft moved = editor.draft();
    release();
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(last.front().at(1).value<CurveDraft>(), moved);
}

TEST_F(CurveEditorMouse, ADragReplotsItsOwnLayerOnlyAndKeepsTheRange) {
    editor.replot();
    QCoreApplication::processEvents();
    const QCPRange before = yRange();
    QSignalSpy replots(&editor, &QCustomPlot::afterReplot);
    drag(1, {30, -500}, Qt::NoModifier, 60);
    // Old candidates leave and a ghost beyond the bounds arrives: the view waits for the end.
    editor.setGhosts({{QStringLiteral("wide"), SeriesRole::Best, std::vector<double>(31, 4.0)}});
    mouse(QEvent::MouseMove, pointer - QPointF(5, 5));
    EXPECT_EQ(replots.count(), 0);
    EXPECT_EQ(yRange(), before);
    EXPECT_GT(editor.lastReplotMs(), 0.0);
    release();
    EXPECT_GT(yRange().upper, 4.0);
    EXPECT_TRUE(waitFor([&] { return replots.count() > 0; }));
}

TEST_F(CurveEditorMouse, WheelZoomsAtThePointerAndDoubleClickResets) {
    const QCPRange x = xRange(), y = yRange();
    const QPointF at = background();
    const double under = editor.axisRect(0)->axis(QCPAxis::atBottom)->pixelToCoord(at.x());
    QWheelEvent wheel(at, editor.mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&editor, &wheel);
    EXPECT_LT(xRange().size(), x.size());
    EXPECT_LT(yRange().size(), y.size());
    EXPECT_NEAR(editor.axisRect(0)->axis(QCPAxis::atBottom)->pixelToCoord(at.x()), under, 1e-6);
    mouse(QEvent::MouseButtonDblClick, at);
    mouse(QEvent::MouseButtonRelease, at);
    EXPECT_EQ(xRange(), x);
    EXPECT_EQ(yRange(), y);
}

TEST_F(CurveEditorMouse, ZoomHasLimits) {
    const QCPRange home = yRange();
    const QPointF at = background();
    for (const int turn : {120, -120}) {
        for (int i = 0; i < 100; ++i) {
            QWheelEvent wheel(at, editor.mapToGlobal(at), {}, {0, turn}, Qt::NoButton, Qt::NoModifier,
                              Qt::NoScrollPhase, false);
            QCoreApplication::sendEvent(&editor, &wheel);
        }
        EXPECT_GT(yRange().size(), home.size() / 200);
        EXPECT_LT(yRange().size(), home.size() * 4);
    }
    editor.resetView();
    EXPECT_EQ(yRange(), home);
}

TEST_F(CurveEditorMouse, DraggingTheBackgroundPans) {
    const QCPRange before = xRange();
    const QPointF at = background();
    mouse(QEvent::MouseButtonPress, at);
    mouse(QEvent::MouseMove, at + QPointF(30, 10));
    mouse(QEvent::MouseMove, at + QPointF(60, 10));
    mouse(QEvent::MouseButtonRelease, at + QPointF(60, 10));
    EXPECT_LT(xRange().lower, before.lower);
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(selected.count(), 0);
}

TEST_F(CurveEditorMouse, OtherButtonsMoveNothing) {
    const QPointF from = editor.pixelOfPoint(1);
    mouse(QEvent::MouseButtonPress, from, Qt::NoModifier, Qt::RightButton);
    mouse(QEvent::MouseMove, from + QPointF(40, 40), Qt::NoModifier, Qt::RightButton);
    mouse(QEvent::MouseButtonRelease, from + QPointF(40, 40), Qt::NoModifier, Qt::RightButton);
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(previewed.count(), 0);
}

TEST_F(CurveEditorMouse, ReadOnlySelectsButChangesNothing) {
    editor.setReadOnly(true);
    drag(1, {40, -40});
    release();
    EXPECT_EQ(editor.selectedPoint(), 1);
    QTest::keyClick(&editor, Qt::Key_Up);
    QTest::keyClick(&editor, Qt::Key_Delete);
    QTest::keyClick(&editor, Qt::Key_Insert);
    editor.addPoint();
    editor.removeSelectedPoint();
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(previewed.count() + committed.count(), 0);
}

TEST_F(CurveEditorMouse, ReadsTheDotUnderThePointer) {
    const std::vector<double> scales = editor.scales();
    const QCPAxisRect* panel = editor.axisRect(0);
    const QPointF dot(panel->axis(QCPAxis::atBottom)->coordToPixel(12),
                      panel->axis(QCPAxis::atLeft)->coordToPixel(scales[12]));
    const std::string s = QString::number(scales[12], 'g', 4).toStdString();
    const std::string words = "layer 12 · s = " + s + " · positions ÷ " + s;
    EXPECT_EQ(editor.readoutAt(dot + QPointF(2, 3)).toStdString(), words);
    EXPECT_TRUE(editor.readoutAt(background()).isEmpty());
    hover(dot);
    ASSERT_EQ(readouts.count(), 1);
    EXPECT_EQ(readouts.back().front().toString().toStdString(), words);
    hover(editor.pixelOfPoint(2));
    EXPECT_THAT(readouts.back().front().toString().toStdString(), testing::HasSubstr("control point 2 · layer 21"));
    hover(background());
    EXPECT_THAT(readouts.back().front().toString().toStdString(),
                testing::AllOf(testing::HasSubstr("layer "), testing::HasSubstr("1/s"), testing::HasSubstr("tokens")));
    QEvent leave(QEvent::Leave);
    QCoreApplication::sendEvent(&editor, &leave);
    EXPECT_EQ(readouts.back().front().toString(), QString());
}

TEST_F(CurveEditorMouse, AFreeCurveMovesInYOnly) {
    editor.setDraft(freeCurve(31));
    editor.grab();
    drag(10, {60, -30});
    release();
    EXPECT_EQ(x(10), freeCurve(31).points[10].x);
    EXPECT_GT(y(10), freeCurve(31).points[10].y);
    editor.addPoint();
    editor.removeSelectedPoint();
    EXPECT_EQ(committed.count(), 1);
}

TEST_F(CurveEditorKeys, TabChoosesTheNextPointAndShiftTabThePrevious) {
    QTest::keyClick(&editor, Qt::Key_Tab);
    EXPECT_EQ(editor.selectedPoint(), 0);
    QTest::keyClick(&editor, Qt::Key_Tab);
    QTest::keyClick(&editor, Qt::Key_Tab);
    EXPECT_EQ(editor.selectedPoint(), 2);
    QTest::keyClick(&editor, Qt::Key_Backtab, Qt::ShiftModifier);
    EXPECT_EQ(editor.selectedPoint(), 1);
    EXPECT_EQ(selected.count(), 4);
    editor.selectPoint(3);
    QTest::keyClick(&editor, Qt::Key_Tab);
    EXPECT_EQ(editor.selectedPoint(), 3) << "beyond the last point the focus goes on";
    editor.selectPoint(-1);
    QTest::keyClick(&editor, Qt::Key_Backtab, Qt::ShiftModifier);
    EXPECT_EQ(editor.selectedPoint(), 3);
}

TEST_F(CurveEditorKeys, LeftAndRightMoveOneLayer) {
    editor.selectPoint(1);
    QTest::keyClick(&editor, Qt::Key_Right);
    EXPECT_EQ(x(1), 10.0 / 30.0);
    QTest::keyClick(&editor, Qt::Key_Left);
    QTest::keyClick(&editor, Qt::Key_Left);
    EXPECT_EQ(x(1), 8.0 / 30.0);
    EXPECT_EQ(y(1), 1.6);
}

TEST_F(CurveEditorKeys, ARunOfArrowsIsOneGestureThatEndsWhenTheKeysRest) {
    editor.selectPoint(1);
    for (int i = 0; i < 5; ++i) QTest::keyClick(&editor, Qt::Key_Up);
    EXPECT_TRUE(editor.inGesture());
    EXPECT_EQ(previewed.count(), 5);
    EXPECT_EQ(committed.count(), 0);
    ASSERT_TRUE(waitFor([&] { return committed.count() > 0; }));
    EXPECT_FALSE(editor.inGesture());
    EXPECT_EQ(committed.front().at(0).value<CurveDraft>(), bezier());
    EXPECT_EQ(after().points[1].y, 1.65);
    EXPECT_EQ(committed.front().at(2).toString(), QStringLiteral("move point 1"));
}

TEST_F(CurveEditorKeys, ARunEndsWithAnotherPointAndWithTheFocus) {
    editor.selectPoint(1);
    QTest::keyClick(&editor, Qt::Key_Up);
    editor.selectPoint(2);
    EXPECT_EQ(committed.count(), 1);
    QTest::keyClick(&editor, Qt::Key_Down);
    QFocusEvent leave(QEvent::FocusOut, Qt::OtherFocusReason);
    QCoreApplication::sendEvent(&editor, &leave);
    EXPECT_EQ(committed.count(), 2);
    EXPECT_EQ(committed.back().at(2).toString(), QStringLiteral("move point 2"));
}

TEST_F(CurveEditorKeys, ARunThatComesBackCommitsNothing) {
    editor.selectPoint(1);
    QTest::keyClick(&editor, Qt::Key_Up);
    QTest::keyClick(&editor, Qt::Key_Down);
    editor.selectPoint(2);
    EXPECT_EQ(committed.count(), 0);
    EXPECT_EQ(editor.draft(), bezier());
}

TEST_F(CurveEditorKeys, EscapeGivesARunUp) {
    editor.selectPoint(1);
    QTest::keyClick(&editor, Qt::Key_Up);
    QTest::keyClick(&editor, Qt::Key_Escape);
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(abandoned.count(), 1);
    EXPECT_EQ(committed.count(), 0);
}

TEST_F(CurveEditorKeys, UndoFindsTheRunCommitted) {
    editor.selectPoint(1);
    QTest::keyClick(&editor, Qt::Key_Up);
    QKeyEvent undo(QEvent::ShortcutOverride, Qt::Key_Z, Qt::ControlModifier);
    QCoreApplication::sendEvent(&editor, &undo);
    EXPECT_EQ(committed.count(), 1);
    QKeyEvent letter(QEvent::ShortcutOverride, Qt::Key_X, Qt::NoModifier);
    letter.ignore();
    QCoreApplication::sendEvent(&editor, &letter);
    EXPECT_TRUE(letter.isAccepted()) << "no shortcut of the window takes the editor's own keys";
}

TEST_F(CurveEditorKeys, DeleteAndXRemoveInnerPointsOnly) {
    editor.selectPoint(0);
    QTest::keyClick(&editor, Qt::Key_Delete);
    EXPECT_EQ(committed.count(), 0);
    editor.selectPoint(1);
    QTest::keyClick(&editor, Qt::Key_Delete);
    ASSERT_EQ(committed.count(), 1);
    EXPECT_EQ(editor.draft().points.size(), 3u);
    EXPECT_EQ(committed.back().at(2).toString(), QStringLiteral("remove point 1"));
    QTest::keyClick(&editor, Qt::Key_X);
    EXPECT_EQ(committed.count(), 2);
    EXPECT_EQ(editor.draft().points.size(), 2u);
    QTest::keyClick(&editor, Qt::Key_X);
    EXPECT_EQ(committed.count(), 2);
}

TEST_F(CurveEditorKeys, InsertAndAAddAPointWithoutChangingTheScales) {
    const std::vector<double> before = editor.scales();
    editor.selectPoint(3);
    QTest::keyClick(&editor, Qt::Key_Insert);
    EXPECT_EQ(editor.draft().points.size(), 5u);
    EXPECT_EQ(editor.selectedPoint(), 4) << "the end stays selected";
    QTest::keyClick(&editor, Qt::Key_A);
    EXPECT_EQ(editor.draft().points.size(), 6u);
    EXPECT_EQ(editor.scales(), before);
    EXPECT_EQ(committed.count(), 2);
    EXPECT_EQ(committed.back().at(2).toString(), QStringLiteral("add a control point"));
}

TEST_F(CurveEditorKeys, KeysDoNothingWithoutASelection) {
    for (const int key : {Qt::Key_Up, Qt::Key_Left, Qt::Key_Delete, Qt::Key_Escape}) {
        QTest::keyClick(&editor, static_cast<Qt::Key>(key));
    }
    EXPECT_EQ(previewed.count() + committed.count() + abandoned.count(), 0);
}

TEST_F(CurveEditorPicture, SelectPointChecksItsIndex) {
    editor.selectPoint(2);
    editor.selectPoint(2);
    EXPECT_EQ(selected.count(), 1);
    editor.selectPoint(17);
    EXPECT_EQ(editor.selectedPoint(), -1);
    EXPECT_EQ(editor.pixelOfPoint(17), QPointF());
    editor.selectPoint(3);
    editor.setDraft({CurveKind::Linear, {{0, 1}, {1, 2}}, {0.5, 2.5, {}}});
    EXPECT_EQ(editor.selectedPoint(), -1);
}

TEST_F(CurveEditorPicture, DrawsGhostsAndPopulationAndTakesThemAway) {
    const QImage alone = picture();
    editor.setGhosts({{QStringLiteral("committed"), SeriesRole::Baseline, std::vector<double>(31, 1.2)},
                      {QStringLiteral("best"), SeriesRole::Best, std::vector<double>(31, 1.8)}});
    const QImage ghosts = picture();
    EXPECT_FALSE(contains(alone, QColor(0xd5, 0x5e, 0x00)));
    EXPECT_TRUE(contains(ghosts, QColor(0xd5, 0x5e, 0x00)));
    std::vector<PopulationCurve> population;
    for (int i = 0; i < 300; ++i) population.push_back({std::vector<double>(31, 0.6 + 0.006 * i), i * 0.1});
    editor.setPopulation(population);
    EXPECT_GT(coloursIn(picture()), coloursIn(ghosts) + 50);
    editor.setPopulation({});
    editor.setGhosts({});
    EXPECT_EQ(picture(), alone);
}

TEST_F(CurveEditorPicture, LeavesOutGhostsAndCandidatesThatCannotBeDrawn) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    std::vector<double> broken(31, 1.0);
    broken[3] = inf;
    editor.setGhosts({{QStringLiteral("infinite"), SeriesRole::Best, broken},
                      {QStringLiteral("short"), SeriesRole::Other, std::vector<double>(30, 1.0)},
                      {QStringLiteral("good"), SeriesRole::Baseline, std::vector<double>(31, 1.1)}});
    editor.setPopulation({{broken, 1.0}, {std::vector<double>(31, 1.5), nan}, {std::vector<double>(31, 1.4), 2.0}});
    EXPECT_FALSE(picture().isNull());
    const auto data = editor.plotData();
    ASSERT_EQ(data.series.size(), 2u);
    EXPECT_EQ(data.series[1].name, "good");
    EXPECT_LT(yRange().upper, 3.0);
}

TEST_F(CurveEditorPicture, HandsOutItsData) {
    const auto data = editor.plotData();
    ASSERT_EQ(data.series.size(), 1u);
    EXPECT_EQ(data.series[0].scales, editor.scales());
    EXPECT_EQ(data.series[0].controlPoints.size(), 4u);
    EXPECT_GT(data.series[0].line.size(), 50u);
    EXPECT_EQ(data.trainedContext, 8192);
    EXPECT_EQ(data.scaleMin, 0.5);
    EXPECT_EQ(data.scaleMax, 2.5);
    EXPECT_EQ(data.gridStep, 0.05);
}

TEST_F(CurveEditorPicture, MarksABrokenRuleInRed) {
    const QColor red(0xb3, 0x1b, 0x1b);
    EXPECT_FALSE(contains(picture(), red));
    CurveDraft draft = bezier();
    draft.points[1].y = 3.5;
    editor.setDraft(draft);
    EXPECT_TRUE(contains(picture(), red));
    EXPECT_TRUE(editor.scales().empty());
    EXPECT_GT(yRange().upper, 3.5) << "the point can be reached";
    drag(1, {0, 10});
    release();
    EXPECT_FALSE(contains(picture(), red)) << "one drag puts it back inside";
    draft.points[1].y = std::numeric_limits<double>::quiet_NaN();
    editor.setDraft(draft);
    EXPECT_TRUE(contains(picture(), red));
}

TEST_F(CurveEditorPicture, TheAxesMoveTogether) {
    QCPAxisRect* panel = editor.axisRect(0);
    panel->axis(QCPAxis::atBottom)->setRange(3, 27);
    EXPECT_NEAR(panel->axis(QCPAxis::atTop)->range().upper, 0.9, 1e-12);
    panel->axis(QCPAxis::atLeft)->setRange(0.6, 2.0);
    ASSERT_EQ(panel->axisCount(QCPAxis::atRight), 2) << "effective context and 1/s";
    for (const QCPAxis* right : panel->axes(QCPAxis::atRight)) EXPECT_EQ(right->range(), QCPRange(0.6, 2.0));
    editor.setTheme(Theme::night());
    EXPECT_EQ(yRange(), QCPRange(0.6, 2.0)) << "a zoom outlives another theme";
    EXPECT_EQ(picture().pixelColor(2, 2), Theme::night().background);
}

TEST_F(CurveEditorPicture, SurvivesAllModelsKindsAndSizes) {
    for (const int layers : {1, 2, 126}) {
        editor.setDraft(bezier());
        editor.setModel(layers, layers == 2 ? 0 : 131072);
        EXPECT_EQ(editor.scales().size(), static_cast<std::size_t>(layers));
        for (const CurveKind kind : lpes::curve::kCurveKinds) {
            CurveDraft draft = bezier();
            draft.kind = kind;
            if (kind == CurveKind::Free) draft = freeCurve(std::max(2, layers));
            editor.setDraft(draft);
            for (const QSize size : {QSize(0, 0), QSize(130, 95), QSize(400, 250), QSize(780, 380)}) {
                editor.resize(size);
                EXPECT_FALSE(picture().isNull());
            }
            drag(1, {10, -20}, Qt::ControlModifier);
            release();
            editor.selectPoint(1);
            QTest::keyClick(&editor, Qt::Key_Right);
        }
    }
    editor.setDraft({});
    EXPECT_FALSE(picture().isNull());
    QTest::keyClick(&editor, Qt::Key_Tab);
    editor.addPoint();
    EXPECT_EQ(editor.selectedPoint(), -1);
}

TEST_F(CurveEditorPicture, AnotherModelDuringADragPutsThePointBack) {
    drag(1, {40, -30});
    editor.setModel(12, 2048);
    EXPECT_EQ(editor.draft(), bezier());
    EXPECT_EQ(abandoned.count(), 1);
    EXPECT_EQ(editor.scales().size(), 12u);
}

TEST_F(CurveEditorPicture, HasAnAccessibleNameAndSaysWhatIsSelected) {
    EXPECT_FALSE(editor.accessibleName().isEmpty());
    editor.selectPoint(2);
    EXPECT_THAT(editor.accessibleDescription().toStdString(), testing::HasSubstr("control point 2"));
}

TEST(FieldReports, T29_OnePressSixtyMovesAndAReleaseAreOneStep) {
    Desk desk;
    CurveEditor& editor = desk.editor;
    const QSignalSpy& committed = desk.committed;
    const QPoint from = editor.pixelOfPoint(2).toPoint();
    QTest::mousePress(&editor, Qt::LeftButton, Qt::NoModifier, from);
    for (int i = 1; i <= 60; ++i) {
        const QPointF at = from + QPointF(-i, i);
        QMouseEvent move(QEvent::MouseMove, at, editor.mapToGlobal(at), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&editor, &move);
    }
    QTest::mouseRelease(&editor, Qt::LeftButton, Qt::NoModifier, from + QPoint(-60, 60));
    ASSERT_EQ(committed.count(), 1);
    const auto before = committed.front().at(0).value<CurveDraft>(),
               after = committed.front().at(1).value<CurveDraft>();
    EXPECT_EQ(before, bezier());
    EXPECT_EQ(after, editor.draft());

    editor.setDraft(before);  // Ctrl+Z
    editor.setDraft(after);   // Ctrl+Y
    EXPECT_EQ(committed.count(), 1);

    QTest::mouseClick(&editor, Qt::LeftButton, Qt::NoModifier, editor.pixelOfPoint(1).toPoint());
    EXPECT_EQ(committed.count(), 1) << "a click adds no step";
    EXPECT_EQ(editor.selectedPoint(), 1);
    EXPECT_EQ(editor.draft(), after);
}

TEST(FieldReports, T30_ArrowsNudgeByAHundredthAndWithShiftByATenth) {
    Desk desk;
    desk.editor.selectPoint(1);
    QTest::keyClick(&desk.editor, Qt::Key_Up);
    EXPECT_EQ(desk.y(1), 1.61);
    QTest::keyClick(&desk.editor, Qt::Key_Down);
    QTest::keyClick(&desk.editor, Qt::Key_Down);
    EXPECT_EQ(desk.y(1), 1.59);
    QTest::keyClick(&desk.editor, Qt::Key_Up, Qt::ShiftModifier);
    EXPECT_EQ(desk.y(1), 1.69);
    QTest::keyClick(&desk.editor, Qt::Key_Down, Qt::ShiftModifier);
    EXPECT_EQ(desk.y(1), 1.59);
    EXPECT_EQ(desk.x(1), 0.3);
}

TEST(FieldReports, T30_ACtrlDragHitsTheSnapGridExactly) {
    Desk desk;
    const QPointF from = desk.editor.pixelOfPoint(1);
    desk.mouse(QEvent::MouseButtonPress, from, Qt::ControlModifier);
    std::set<double> scales, layers;
    for (int i = 1; i <= 60; ++i) {
        desk.mouse(QEvent::MouseMove, from + QPointF(2.3 * i, 1.7 * i), Qt::ControlModifier);
        if (!desk.editor.inGesture()) continue;
        scales.insert(desk.y(1));
        layers.insert(desk.x(1));
    }
    desk.mouse(QEvent::MouseButtonRelease, from, Qt::ControlModifier);
    EXPECT_GT(scales.size(), 5u);
    EXPECT_GT(layers.size(), 4u);
    for (const double scale : scales) EXPECT_EQ(scale, std::round(scale * 20.0) / 20.0);
    for (const double depth : layers) EXPECT_EQ(depth, std::round(depth * 30.0) / 30.0);
}

TEST_F(CurveEditorMouse, MedianReplotOfADragIsFarBelowAFrame) {
    std::vector<double> times;
    const QPointF from = editor.pixelOfPoint(1);
    mouse(QEvent::MouseButtonPress, from);
    for (int i = 1; i <= 60; ++i) {
        mouse(QEvent::MouseMove, from + QPointF(i, -i));
        times.push_back(editor.lastReplotMs());
    }
    mouse(QEvent::MouseButtonRelease, from + QPointF(60, -60));
    std::nth_element(times.begin(), times.begin() + 30, times.end());
    RecordProperty("median_replot_us", static_cast<int>(times[30] * 1000.0));
    EXPECT_LT(times[30], 16.0);
}
