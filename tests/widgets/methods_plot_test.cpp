#include <gmock/gmock.h>

#include <QImage>
#include <cstdlib>
#include <set>

#include "tests/widgets/sample_plots.h"
#include "widgets/plots/plot_view.h"
#include "widgets/plots/render.h"

using namespace lpes;
using analysis::SeriesRole;
using testing::AllOf;
using testing::HasSubstr;
using widgets::PlotView;
using widgets::Theme;

namespace {

/// Where pictures are kept for looking at them; empty: nowhere.
std::string pictureFolder() {
    const char* folder = std::getenv("LPES_TEST_PICTURES");
    return folder ? folder : "";
}

QImage drawn(const analysis::PlotData& data, const widgets::RenderOptions& options, const std::string& name) {
    const test::TempFolder folder;
    const auto path = pictureFolder().empty() ? folder / name : std::filesystem::path(pictureFolder()) / name;
    const auto done = widgets::renderPlot(data, options, path);
    EXPECT_TRUE(done) << done.error().text();
    return QImage(QString::fromStdString(path.string()));
}

/// Everything that can be read with the pointer anywhere in the view.
std::set<std::string> readouts(PlotView& view) {
    std::set<std::string> words;
    for (int y = 0; y < view.height(); y += 4) {
        for (int x = 0; x < view.width(); x += 4) words.insert(view.readoutAt(QPointF(x, y)).toStdString());
    }
    words.erase("");
    return words;
}

}  // namespace

TEST(MethodsPlot, IsDrawnForTwoFiveAndTwelveMethods) {
    for (const std::size_t count : {2, 5, 12}) {
        for (const bool dark : {false, true}) {
            const std::string end = std::to_string(count) + (dark ? "-dark.png" : ".png");
            const QImage wide = drawn(test::methodsPlot(count), {170.0, {}, 200, dark}, "methods-" + end);
            EXPECT_EQ(wide.width(), 1339);
            EXPECT_GT(wide.height(), static_cast<int>(count) * 20);
            EXPECT_GT(drawn(test::methodsPlot(count), {85.0, {}, 200, dark}, "methods-narrow-" + end).height(),
                      wide.height())
                << "narrow, the panels stand below each other";
            EXPECT_FALSE(
                drawn(test::methodsAccuracyPlot(count), {170.0, {}, 200, dark}, "methods-accuracy-" + end).isNull());
        }
    }
}

TEST(MethodsPlot, TheWholeSpellingIsReadAtTheRowAndAtItsName) {
    PlotView view(test::methodsPlot(12), Theme::light());
    view.resize(700, 360);
    view.show();
    view.replot();
    const auto words = readouts(view);
    for (const auto& method : test::methodsPlot(12).methods) {
        EXPECT_THAT(words, testing::Contains(method.name)) << "beside its row";
        EXPECT_THAT(words, testing::Contains(AllOf(HasSubstr(method.name), HasSubstr("mean accuracy"))));
        EXPECT_THAT(words, testing::Contains(AllOf(HasSubstr(method.name), HasSubstr("tokens/s"), HasSubstr("MiB"))));
    }
    EXPECT_THAT(words, testing::Contains(HasSubstr("baseline · what the others are compared with")));
    EXPECT_THAT(words, testing::Contains(HasSubstr("p = 0.0022 (Holm)")));
}

TEST(MethodsPlot, WhatWasNotMeasuredHasNoPanel) {
    auto plot = test::methodsPlot(3);
    for (auto& method : plot.methods) {
        method.timeRatio = {};
        method.nllDifference = {};
    }
    PlotView view(plot, Theme::light());
    EXPECT_EQ(view.axisRects().size(), 1);
    view.setData(test::methodsPlot(3));
    EXPECT_EQ(view.axisRects().size(), 3);
    view.setData(analysis::MethodsPlot{});
    EXPECT_EQ(view.axisRects().size(), 0);
}

TEST(SeriesStyles, EighteenSeriesAreToldApartWithoutTheirColour) {
    std::vector<SeriesRole> roles{SeriesRole::Baseline, SeriesRole::Current, SeriesRole::Best};
    roles.resize(18, SeriesRole::Other);
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        std::set<std::string> seen;
        for (const auto& style : widgets::seriesStyles(theme, roles)) {
            std::string key = std::to_string(style.marker.shape());
            key += style.marker.brush().style() == Qt::NoBrush ? " open" : " filled";
            for (const double dash : style.pen.dashPattern()) key += " " + std::to_string(dash);
            EXPECT_TRUE(seen.insert(key).second) << key;
        }
    }
}
