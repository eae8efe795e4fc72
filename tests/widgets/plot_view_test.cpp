#include "widgets/plots/plot_view.h"

#include <gmock/gmock.h>

#include <QMouseEvent>
#include <QSignalSpy>
#include <QTest>
#include <cmath>
#include <set>

#include "tests/widgets/sample_plots.h"
#include "widgets/plots/tickers.h"

using namespace lpes::widgets;
using lpes::analysis::SeriesRole;

namespace {

QImage shown(const lpes::analysis::PlotData& data, const QSize& size) {
    const auto view = makePlot(data, Theme::light());
    view->resize(size);
    view->show();
    return view->grab().toImage();
}

std::size_t coloursIn(const QImage& image) {
    std::set<QRgb> colours;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) colours.insert(image.pixel(x, y));
    }
    return colours.size();
}

}  // namespace

TEST(PlotView, DrawsEveryKindOnScreen) {
    for (const auto& plot : lpes::test::allPlots()) {
        EXPECT_GT(coloursIn(shown(plot, {700, 420})), 20u) << lpes::test::kindOf(plot);
    }
}

TEST(PlotView, SurvivesValuesThatAreNotFiniteAndTinyWindows) {
    for (const auto& plot : lpes::test::brokenPlots()) {
        EXPECT_GT(coloursIn(shown(plot, {640, 400})), 20u) << lpes::test::kindOf(plot);
        EXPECT_FALSE(shown(plot, {130, 95}).isNull());
    }
}

TEST(PlotView, AnEmptyPlotSaysSo) {
    for (const auto& plot : lpes::test::emptyPlots()) {
        const auto view = makePlot(plot, Theme::light());
        EXPECT_EQ(view->axisRectCount(), 0) << lpes::test::kindOf(plot);
        EXPECT_EQ(view->plottableCount(), 0);
        EXPECT_GT(coloursIn(shown(plot, {400, 300})), 2u) << "the words are drawn";
    }
}

TEST(PlotView, ASingleLayerGenerationOrRecordIsDrawn) {
    auto curve = lpes::test::curvePlot();
    for (auto& series : curve.series) series.scales.resize(1);
    auto convergence = lpes::test::convergencePlot();
    convergence.generations.resize(1);
    convergence.candidates.clear();
    auto accuracy = lpes::test::accuracyPlot();
    for (auto& series : accuracy.series) series.points.resize(1);
    lpes::analysis::AttentionPlot attention;
    attention.series.push_back({"one", SeriesRole::Current, {{"start", 0, {0.5}, {}, {{0.5}}}}});
    lpes::analysis::DeviationPlot deviation;
    deviation.series.push_back({"one", SeriesRole::Current, {0.0}, {0.0}, {0.0}});
    for (const lpes::analysis::PlotData& plot :
         std::vector<lpes::analysis::PlotData>{curve, convergence, accuracy, attention, deviation}) {
        EXPECT_GT(coloursIn(shown(plot, {640, 400})), 8u) << lpes::test::kindOf(plot);
    }
}

TEST(PlotView, ReadsTheNearestDatum) {
    const auto view = makePlot(lpes::test::curvePlot(), Theme::light());
    view->resize(700, 420);
    view->show();
    view->grab();
    const QCPAxisRect* panel = view->axisRect(0);
    const QPointF layer12(panel->axis(QCPAxis::atBottom)->coordToPixel(12),
                          panel->axis(QCPAxis::atLeft)->coordToPixel(1.0));
    EXPECT_THAT(view->readoutAt(layer12 + QPointF(2, 1)).toStdString(),
                testing::HasSubstr("baseline: layer 12 · s = 1 · positions ÷ 1"));
    EXPECT_TRUE(view->readoutAt(QPointF(3, 3)).isEmpty());
}

TEST(PlotView, AClickOnAMemberOfAFrontPicksItAndADragDoesNot) {
    const auto plot = lpes::test::paretoPlot();
    const auto view = makePlot(plot, Theme::light());
    view->resize(700, 520);
    view->show();
    view->grab();
    QSignalSpy picked(view.get(), &lpes::widgets::PlotView::memberPicked);
    const QCPAxisRect* panel = view->axisRect(0);
    const auto pixelOf = [&](const lpes::analysis::ParetoPlot::Member& member) {
        return QPoint(static_cast<int>(std::lround(panel->axis(QCPAxis::atBottom)->coordToPixel(member.x))),
                      static_cast<int>(std::lround(panel->axis(QCPAxis::atLeft)->coordToPixel(member.y))));
    };
    const auto& last = plot.members[36];  // at the end of the front, where no other is near
    ASSERT_EQ(last.number, 10);
    QTest::mouseClick(view.get(), Qt::LeftButton, Qt::NoModifier, pixelOf(last));
    ASSERT_EQ(picked.count(), 1);
    EXPECT_EQ(picked[0][0].toLongLong(), 10);
    QTest::mousePress(view.get(), Qt::LeftButton, Qt::NoModifier, pixelOf(last) + QPoint(-40, 0));
    QTest::mouseRelease(view.get(), Qt::LeftButton, Qt::NoModifier, pixelOf(last));
    QTest::mouseClick(view.get(), Qt::LeftButton, Qt::NoModifier, QPoint(3, 3));
    EXPECT_EQ(picked.count(), 1) << "neither a drag nor a click beside picks";
}

TEST(PlotView, DoubleClickResetsTheZoom) {
    const auto view = makePlot(lpes::test::deviationPlot(), Theme::light());
    view->resize(700, 420);
    view->show();
    const QCPRange before = view->axisRect(0)->axis(QCPAxis::atBottom)->range();
    view->axisRect(0)->axis(QCPAxis::atBottom)->setRange(3, 5);
    QMouseEvent click(QEvent::MouseButtonDblClick, QPointF(200, 200), QPointF(200, 200), Qt::LeftButton, Qt::LeftButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(view.get(), &click);
    EXPECT_EQ(view->axisRect(0)->axis(QCPAxis::atBottom)->range(), before);
}

TEST(PlotView, TheAxesOfTheCurveMoveTogether) {
    const auto view = makePlot(lpes::test::curvePlot(), Theme::light());
    QCPAxisRect* panel = view->axisRect(0);
    panel->axis(QCPAxis::atBottom)->setRange(0, 29);
    EXPECT_NEAR(panel->axis(QCPAxis::atTop)->range().upper, 1.0, 1e-12);
    panel->axis(QCPAxis::atLeft)->setRange(0.5, 1.5);
    EXPECT_EQ(panel->axis(QCPAxis::atRight)->range(), QCPRange(0.5, 1.5));
}

TEST(PlotView, AccuracyIsShownFromZeroToOne) {
    const auto view = makePlot(lpes::test::accuracyPlot(), Theme::light());
    const QCPRange range = view->axisRect(0)->axis(QCPAxis::atLeft)->range();
    EXPECT_LE(range.lower, 0.0);
    EXPECT_GT(range.lower, -0.1);
    EXPECT_GE(range.upper, 1.0);
    EXPECT_LT(range.upper, 1.1);
}

TEST(PlotView, DeviationIsLogarithmicOnlyWhereThatIsReadable) {
    auto plot = lpes::test::deviationPlot();
    EXPECT_EQ(makePlot(plot, Theme::light())->axisRect(0)->axis(QCPAxis::atLeft)->scaleType(), QCPAxis::stLogarithmic);
    for (auto& series : plot.series) {
        for (double& value : series.deviation) value += 0.1;
    }
    EXPECT_EQ(makePlot(plot, Theme::light())->axisRect(0)->axis(QCPAxis::atLeft)->scaleType(), QCPAxis::stLinear);
}

TEST(SeriesStyles, TellSeriesApartWithoutColour) {
    const std::vector<SeriesRole> roles{SeriesRole::Baseline, SeriesRole::Current, SeriesRole::Best,
                                        SeriesRole::Other,    SeriesRole::Current, SeriesRole::Other};
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        const auto styles = seriesStyles(theme, roles);
        std::set<std::pair<QList<qreal>, int>> looks;
        std::set<QRgb> colours;
        for (const SeriesStyle& style : styles) {
            looks.insert({style.pen.dashPattern(), style.marker.shape()});
            colours.insert(style.color.rgb());
        }
        EXPECT_EQ(looks.size(), roles.size());
        EXPECT_EQ(colours.size(), roles.size());
    }
}

TEST(IntegerTicker, TicksAreWholeNumbersUpToTheHighest) {
    IntegerTicker ticker(29.0);
    QVector<double> ticks, subTicks;
    QVector<QString> labels;
    ticker.setTickCount(4);
    ticker.generate(QCPRange(-0.5, 33.0), QLocale::c(), QLatin1Char('g'), 6, ticks, &subTicks, &labels);
    EXPECT_THAT(ticks, testing::ElementsAre(0.0, 10.0, 20.0));
    EXPECT_EQ(labels.size(), ticks.size());
    for (const double tick : subTicks) EXPECT_LE(tick, 29.0);
    ticker.generate(QCPRange(0, 3), QLocale::c(), QLatin1Char('g'), 6, ticks, &subTicks, &labels);
    for (const double tick : ticks) EXPECT_EQ(tick, std::round(tick));
}

TEST(HeaderElement, WrapsInsteadOfCutting) {
    const QFont font = Theme::light().forExport().font();
    const QString text = QStringLiteral("a rather long sentence and averyveryverylongwordthatfitsnoline");
    const QStringList lines = wrapText(text, font, 90);
    EXPECT_GT(lines.size(), 3);
    for (const QString& line : lines) EXPECT_LE(QFontMetricsF(font).horizontalAdvance(line), 90.0);
    EXPECT_EQ(lines.join(QString()).remove(QLatin1Char(' ')), QString(text).remove(QLatin1Char(' ')));
}
