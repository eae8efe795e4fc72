#include "widgets/panels/plot_pane.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QLabel>
#include <QMenu>
#include <QPointer>

#include "core/analysis/plot_csv.h"
#include "tests/widgets/panel_helpers.h"
#include "tests/widgets/sample_plots.h"
#include "widgets/plots/plot_view.h"

using namespace lpes::widgets;
using testing::HasSubstr;

namespace {

const QString kName = QStringLiteral("Accuracy by position");
const QString kFresh = QStringLiteral("from 3 prompts, 0.2 s ago");

QAction* action(const PlotPane& pane, const QString& words) {
    for (QAction* one : pane.actions()) {
        if (one->text() == words) return one;
    }
    ADD_FAILURE() << "no action " << words.toStdString();
    return nullptr;
}

QMenu* contextMenu(PlotPane& pane) {
    QContextMenuEvent event(QContextMenuEvent::Mouse, QPoint(5, 5), pane.mapToGlobal(QPoint(5, 5)));
    QCoreApplication::sendEvent(&pane, &event);
    return qobject_cast<QMenu*>(QApplication::activePopupWidget());
}

std::size_t objects(PlotView& view) {
    std::size_t count = static_cast<std::size_t>(view.findChildren<QObject*>().size());
    for (int i = 0; i < view.layerCount(); ++i) count += static_cast<std::size_t>(view.layer(i)->children().size());
    return count;
}

}  // namespace

TEST(PlotPane, SaysInWordsWhatItShows) {
    PlotPane pane(kName, Theme::light());
    lpes::test::showActive(pane, {420, 230});
    EXPECT_FALSE(pane.stateText().isEmpty()) << "never blank, not even at first";
    EXPECT_FALSE(pane.data());
    pane.setEmpty(QStringLiteral("No run is selected."));
    EXPECT_EQ(pane.stateText(), QStringLiteral("No run is selected."));
    pane.setData(lpes::test::accuracyPlot(), kFresh);
    ASSERT_TRUE(pane.data());
    EXPECT_THAT(pane.stateText().toStdString(), HasSubstr("Accuracy by evidence position"));
    EXPECT_THAT(pane.stateText().toStdString(), HasSubstr("0.2 s ago"));
    pane.setFreshness(QStringLiteral("now"));
    EXPECT_TRUE(pane.stateText().endsWith(QStringLiteral("now")));
    pane.setStale(QStringLiteral("older than the curve"));
    EXPECT_TRUE(pane.findChild<PlotView*>()->faded());
    EXPECT_TRUE(pane.stateText().endsWith(QStringLiteral("older than the curve")));
    pane.setData(lpes::test::accuracyPlot(), kFresh);
    EXPECT_FALSE(pane.findChild<PlotView*>()->faded());
    pane.setError(QStringLiteral("It cannot be read."));
    EXPECT_EQ(pane.stateText(), QStringLiteral("It cannot be read."));
    EXPECT_FALSE(pane.data());
    EXPECT_FALSE(pane.findChild<PlotView*>()->isVisible());
}

TEST(PlotPane, LeavesTheTitleToTheLineAboveThePicture) {
    PlotPane pane(kName, Theme::light());
    pane.setData(lpes::test::accuracyPlot(), kFresh);
    lpes::test::showActive(pane, {420, 230});
    const auto& drawn = std::get<lpes::analysis::AccuracyPlot>(pane.findChild<PlotView*>()->data());
    EXPECT_TRUE(drawn.title.empty());
    EXPECT_EQ(std::get<lpes::analysis::AccuracyPlot>(*pane.data()).title, "Accuracy by evidence position");
    auto* caption = lpes::test::named<QLabel>(pane, kName + QStringLiteral(": what is shown"));
    EXPECT_THAT(caption->text().toStdString(), HasSubstr("…"));
    EXPECT_THAT(caption->toolTip().toStdString(), HasSubstr("run 7"));
    EXPECT_EQ(pane.findChild<PlotView*>()->accessibleName(), kName);
    EXPECT_THAT(pane.findChild<PlotView*>()->accessibleDescription().toStdString(), HasSubstr("run 7"));
}

TEST(PlotPane, CopiesImageDataAndCommand) {
    PlotPane pane(kName, Theme::light());
    lpes::test::showActive(pane, {420, 230});
    QClipboard* clipboard = QGuiApplication::clipboard();
    clipboard->setText(QStringLiteral("before"));
    pane.copyImage();
    pane.copyData();
    EXPECT_EQ(clipboard->text(), QStringLiteral("before")) << "nothing to copy while empty";
    pane.setData(lpes::test::accuracyPlot(), kFresh);
    pane.copyData();
    EXPECT_EQ(clipboard->text().toStdString(), lpes::analysis::plotCsv(lpes::test::accuracyPlot()));
    pane.setCommand(QStringLiteral("lpes plot 7 --kind accuracy"));
    action(pane, QStringLiteral("Copy the command that makes this figure"))->trigger();
    EXPECT_EQ(clipboard->text(), QStringLiteral("lpes plot 7 --kind accuracy"));
    pane.findChild<PlotView*>()->setFocus();
    QTest::keyClick(pane.findChild<PlotView*>(), Qt::Key_C, Qt::ControlModifier);
    const QImage image = clipboard->image();
    EXPECT_EQ(image.width(), 840) << "twice the size on the screen";
    EXPECT_GT(image.height(), 2 * pane.findChild<PlotView*>()->height()) << "the caption is above the picture";
}

TEST(PlotPane, TheMenuOffersWhatCanBeDone) {
    PlotPane pane(kName, Theme::light());
    lpes::test::showActive(pane, {420, 230});
    int exports = 0;
    QObject::connect(&pane, &PlotPane::exportRequested, [&exports] { ++exports; });
    QMenu* menu = contextMenu(pane);
    ASSERT_NE(menu, nullptr);
    QStringList words;
    for (const QAction* one : menu->actions()) {
        words << one->text();
        EXPECT_FALSE(one->isEnabled()) << one->text().toStdString();
    }
    EXPECT_EQ(words,
              QStringList({QStringLiteral("Copy image"), QStringLiteral("Copy data as CSV"), QStringLiteral("Export…"),
                           QStringLiteral("Copy the command that makes this figure")}));
    menu->close();
    pane.setData(lpes::test::accuracyPlot(), kFresh);
    pane.setCommand(QStringLiteral("lpes plot 7"));
    menu = contextMenu(pane);
    ASSERT_NE(menu, nullptr);
    for (const QAction* one : menu->actions()) EXPECT_TRUE(one->isEnabled()) << one->text().toStdString();
    menu->close();
    action(pane, QStringLiteral("Export…"))->trigger();
    EXPECT_EQ(exports, 1);
}

TEST(PlotPane, NewDataOfTheSameKindKeepTheZoom) {
    PlotPane pane(kName, Theme::light());
    lpes::test::showActive(pane, {620, 230});
    auto plot = lpes::test::deviationPlot();
    pane.setData(plot, kFresh);
    auto* view = pane.findChild<PlotView*>();
    EXPECT_FALSE(view->zoomed());
    const auto bottom = [view] { return view->axisRect(0)->axis(QCPAxis::atBottom); };
    bottom()->setRange(3, 9);
    EXPECT_TRUE(view->zoomed());
    plot.series[0].deviation[4] *= 1.1;
    pane.setData(plot, kFresh);
    EXPECT_EQ(bottom()->range(), QCPRange(3, 9));
    pane.resize(560, 260);
    EXPECT_EQ(bottom()->range(), QCPRange(3, 9)) << "a dock that grows keeps it, too";
    view->resetZoom();
    EXPECT_FALSE(view->zoomed());
    bottom()->setRange(3, 9);
    pane.setData(lpes::test::accuracyPlot(), kFresh);
    EXPECT_FALSE(view->zoomed()) << "another kind has other axes";
}

TEST(PlotPane, ANewScaleIsTakenWhileNothingIsZoomed) {
    PlotPane pane(kName, Theme::light());
    lpes::test::showActive(pane, {620, 230});
    auto plot = lpes::test::convergencePlot();
    pane.setData(plot, kFresh);
    auto* view = pane.findChild<PlotView*>();
    const double before = view->axisRect(0)->axis(QCPAxis::atBottom)->range().upper;
    plot.generations.push_back({12, -1.3, -1.5, -1.8, 0.1});
    pane.setData(plot, kFresh);
    EXPECT_GT(view->axisRect(0)->axis(QCPAxis::atBottom)->range().upper, before + 3);
}

TEST(PlotPane, AZoomBesideTheNewDataIsLeft) {
    PlotView view(lpes::test::deviationPlot(), Theme::light());
    lpes::test::showActive(view, {620, 230});
    view.axisRect(0)->axis(QCPAxis::atBottom)->setRange(20, 25);
    auto fewer = lpes::test::deviationPlot();
    for (auto& series : fewer.series) {
        for (auto* values : {&series.deviation, &series.low, &series.high}) values->resize(6);
    }
    view.setData(fewer, true);
    EXPECT_FALSE(view.zoomed());
}

TEST(PlotPane, LiveDataDoNotTearOffADrag) {
    PlotPane pane(kName, Theme::light());
    lpes::test::showActive(pane, {620, 230});
    auto plot = lpes::test::deviationPlot();
    pane.setData(plot, kFresh);
    auto* view = pane.findChild<PlotView*>();
    const QPoint middle = view->axisRect(0)->rect().center();
    // Watched, not compared by address: the next axis may well take the place of the old one.
    const QPointer<QCPAxis> axis = view->axisRect(0)->axis(QCPAxis::atBottom);
    QTest::mousePress(view, Qt::LeftButton, Qt::NoModifier, middle);
    plot.series[0].name = "newer";
    pane.setData(plot, kFresh);
    EXPECT_FALSE(axis.isNull()) << "the picture waits";
    QMouseEvent move(QEvent::MouseMove, QPointF(middle + QPoint(-60, 0)), view->mapToGlobal(middle + QPoint(-60, 0)),
                     Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(view, &move);
    QTest::mouseRelease(view, Qt::LeftButton, Qt::NoModifier, middle + QPoint(-60, 0));
    EXPECT_TRUE(axis.isNull());
    EXPECT_TRUE(view->zoomed());
    EXPECT_EQ(std::get<lpes::analysis::DeviationPlot>(view->data()).series[0].name, "newer");
}

TEST(PlotPane, TheKeyboardZoomsPansAndResets) {
    PlotView view(lpes::test::convergencePlot(), Theme::light());
    lpes::test::showActive(view, {700, 420});
    view.setFocus();
    const auto range = [&view](int panel) { return view.axisRect(panel)->axis(QCPAxis::atBottom)->range(); };
    const QCPRange home = range(0);
    QTest::keyClick(&view, Qt::Key_Plus);
    EXPECT_NEAR(range(0).size(), 0.8 * home.size(), 1e-9) << "once, though the two panels move together";
    EXPECT_EQ(range(0), range(1));
    QTest::keyClick(&view, Qt::Key_Right);
    EXPECT_GT(range(0).center(), home.center());
    QTest::keyClick(&view, Qt::Key_0);
    EXPECT_EQ(range(0), home);
}

TEST(PlotPane, FiftyUpdatesLeaveNothingBehind) {
    for (const auto& plot : lpes::test::allPlots()) {
        PlotPane pane(kName, Theme::light());
        lpes::test::showActive(pane, {620, 230});
        auto* view = pane.findChild<PlotView*>();
        const auto settled = [view] {
            QCoreApplication::sendPostedEvents();
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
            return objects(*view);
        };
        pane.setData(plot, kFresh);
        const std::size_t before = settled();
        for (int i = 0; i < 50; ++i) pane.setData(plot, kFresh);
        EXPECT_EQ(settled(), before) << lpes::test::kindOf(plot);
    }
}

TEST(PlotPane, ALowDockDrawsTheShortForm) {
    const auto panels = [](const lpes::analysis::PlotData& plot, const QSize& size) {
        PlotPane pane(kName, Theme::light());
        pane.setData(plot, kFresh);
        lpes::test::showActive(pane, size);
        QWidget& view = *pane.findChild<PlotView*>();
        QSize smallest(10'000, 10'000);
        for (QCPAxisRect* panel : static_cast<PlotView&>(view).axisRects()) {
            smallest = smallest.boundedTo(panel->size());
        }
        EXPECT_GT(smallest.height(), 80) << lpes::test::kindOf(plot);
        EXPECT_GT(smallest.width(), 70) << lpes::test::kindOf(plot);
        return static_cast<PlotView&>(view).axisRectCount();
    };
    EXPECT_EQ(panels(lpes::test::attentionPlot(), {620, 230}), 4) << "three lines and one map";
    EXPECT_EQ(panels(lpes::test::attentionPlot(), {420, 230}), 3) << "the lines alone";
    EXPECT_EQ(panels(lpes::test::accuracyPlot(), {620, 230}), 2);
    EXPECT_EQ(panels(lpes::test::accuracyPlot(), {420, 230}), 1);
    EXPECT_EQ(panels(lpes::test::convergencePlot(), {420, 230}), 1);
    EXPECT_EQ(panels(lpes::test::deviationPlot(), {420, 230}), 1);
    EXPECT_EQ(panels(lpes::test::curvePlot(), {420, 230}), 1);
    auto one = lpes::test::attentionPlot();
    for (auto& series : one.series) series.positions.resize(1);
    EXPECT_EQ(panels(one, {620, 230}), 2) << "the line and its map";
    EXPECT_EQ(panels(one, {380, 230}), 1);
}
