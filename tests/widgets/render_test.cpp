#include "widgets/plots/render.h"

#include <gmock/gmock.h>

#include <QImage>
#include <QSvgRenderer>
#include <regex>

#include "core/base/files.h"
#include "tests/widgets/sample_plots.h"

using namespace lpes;
using lpes::widgets::RenderOptions;
using lpes::widgets::renderPlot;

namespace {

std::string rendered(const analysis::PlotData& data, const RenderOptions& options, const std::string& name) {
    const test::TempFolder folder;
    const auto done = renderPlot(data, options, folder / name);
    EXPECT_TRUE(done) << done.error().text();
    const auto bytes = readTextFile(folder / name);
    EXPECT_TRUE(bytes);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
    EXPECT_EQ(files, 1u) << "nothing but the picture is left";
    return bytes.value_or("");
}

QImage decode(const std::string& png) {
    return QImage::fromData(QByteArray::fromStdString(png), "png");
}

// Offsets of the cross-reference table must point at their objects, or readers "repair" the file.
void expectSoundPdf(const std::string& pdf) {
    ASSERT_EQ(pdf.substr(0, 7), "%PDF-1.");
    const std::size_t start = pdf.rfind("startxref\n");
    ASSERT_NE(start, std::string::npos);
    const std::size_t table = std::stoul(pdf.substr(start + 10));
    ASSERT_EQ(pdf.substr(table, 5), "xref\n");
    const std::size_t header = pdf.find('\n', table + 5) + 1;
    const int objects = std::stoi(pdf.substr(table + 7));
    ASSERT_GT(objects, 5);
    for (int object = 1; object < objects; ++object) {
        const std::string entry = pdf.substr(header + 20 * static_cast<std::size_t>(object), 20);
        if (entry[17] != 'n') continue;
        const std::string expected = std::to_string(object) + " 0 obj";
        EXPECT_EQ(pdf.substr(std::stoul(entry), expected.size()), expected);
    }
}

}  // namespace

TEST(RenderPlot, WritesEveryKindInEveryFormat) {
    for (const auto& plot : test::allPlots()) {
        SCOPED_TRACE(test::kindOf(plot));
        EXPECT_GT(rendered(plot, {}, "a.pdf").size(), 5000u);
        EXPECT_THAT(rendered(plot, {}, "a.svg"), testing::HasSubstr("</svg>"));
        EXPECT_FALSE(decode(rendered(plot, {}, "A.PNG")).isNull());
        EXPECT_THAT(rendered(plot, {}, "a.csv"), testing::HasSubstr("\n"));
    }
}

TEST(RenderPlot, TheSameDataGiveTheSameBytes) {
    for (const auto& plot : test::allPlots()) {
        for (const char* name : {"a.pdf", "a.svg", "a.png", "a.csv"}) {
            EXPECT_TRUE(rendered(plot, {}, name) == rendered(plot, {}, name)) << test::kindOf(plot) << " as " << name;
        }
    }
}

TEST(RenderPlot, NoDateIsWritten) {
    const std::string pdf = rendered(test::curvePlot(), {}, "a.pdf");
    EXPECT_THAT(pdf, testing::Not(testing::HasSubstr("Date")));
    EXPECT_THAT(pdf, testing::Not(testing::HasSubstr("/ID [")));
    const std::string png = rendered(test::curvePlot(), {}, "a.png");
    EXPECT_THAT(png, testing::Not(testing::HasSubstr("tIME")));
    EXPECT_THAT(png, testing::Not(testing::HasSubstr("tEXt")));
}

TEST(RenderPlot, PdfHasTheSizeAskedForAndASoundTable) {
    for (const auto& [width, height] : {std::pair{170.0, 100.0}, {85.0, 133.3}, {51.23, 40.7}}) {
        const std::string pdf = rendered(test::deviationPlot(), {width, height, 200, true}, "a.pdf");
        expectSoundPdf(pdf);
        std::smatch box;
        ASSERT_TRUE(std::regex_search(pdf, box, std::regex(R"(/MediaBox \[([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)\])")));
        EXPECT_NEAR((std::stod(box[3]) - std::stod(box[1])) / 72 * 25.4, width, 0.001);
        EXPECT_NEAR((std::stod(box[4]) - std::stod(box[2])) / 72 * 25.4, height, 0.001);
    }
}

TEST(RenderPlot, SvgHasTheSizeAskedForAndCanBeRead) {
    const std::string svg = rendered(test::attentionPlot(), {85.0, 120.0, 200, false}, "a.svg");
    EXPECT_THAT(svg, testing::HasSubstr("<svg width=\"85.0000mm\" height=\"120.0000mm\""));
    EXPECT_TRUE(QSvgRenderer(QByteArray::fromStdString(svg)).isValid());
}

TEST(RenderPlot, PngHasTheSizeAndResolutionAskedFor) {
    const QImage image = decode(rendered(test::curvePlot(), {170.0, 100.0, 300, false}, "a.png"));
    EXPECT_EQ(image.size(), QSize(2008, 1181));
    EXPECT_EQ(image.dotsPerMeterX(), 11811);
    const QImage standard = decode(rendered(test::curvePlot(), {}, "a.png"));
    EXPECT_EQ(standard.width(), 1339) << "170 mm at 200 dpi";
    EXPECT_GT(standard.height(), 500) << "a height that suits the plot";
}

TEST(RenderPlot, ThemesDecideTheGround) {
    const QImage light = decode(rendered(test::curvePlot(), {}, "a.png"));
    const QImage dark = decode(rendered(test::curvePlot(), {170, {}, 200, true}, "a.png"));
    for (const QPoint corner :
         {QPoint(0, 0), QPoint(1338, 0), QPoint(0, light.height() - 1), QPoint(1338, light.height() - 1)}) {
        EXPECT_EQ(light.pixelColor(corner), QColor(Qt::white));
        EXPECT_LT(dark.pixelColor(corner).lightness(), 60);
    }
}

TEST(RenderPlot, DrawsTheBestInVermillionAndNotWithoutIt) {
    const auto vermillion = [](const QImage& image) {
        int found = 0;
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) found += image.pixel(x, y) == qRgb(0xd5, 0x5e, 0x00);
        }
        return found;
    };
    auto plot = test::curvePlot();
    EXPECT_GT(vermillion(decode(rendered(plot, {}, "a.png"))), 500);
    plot.series.pop_back();
    EXPECT_EQ(vermillion(decode(rendered(plot, {}, "a.png"))), 0);
}

TEST(RenderPlot, SurvivesEmptyAndBrokenData) {
    auto plots = test::emptyPlots();
    for (auto& plot : test::brokenPlots()) plots.push_back(plot);
    for (const auto& plot : plots) {
        for (const char* name : {"a.pdf", "a.svg", "a.png"}) {
            const std::string bytes = rendered(plot, {85.0, {}, 100, false}, name);
            EXPECT_GT(bytes.size(), 500u) << test::kindOf(plot);
            EXPECT_THAT(bytes, testing::Not(testing::HasSubstr("\"nan\""))) << test::kindOf(plot);
        }
    }
}

TEST(RenderPlot, RefusesByNameWhatItCannotWrite) {
    const test::TempFolder folder;
    const auto unknown = renderPlot(test::curvePlot(), {}, folder / "a.bmp");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(unknown.error().message, testing::HasSubstr(".bmp"));
    const auto wide = renderPlot(test::curvePlot(), {5000.0, {}, 200, false}, folder / "a.pdf");
    ASSERT_FALSE(wide);
    EXPECT_EQ(wide.error().code, ErrorCode::Usage);
    EXPECT_THAT(wide.error().message, testing::HasSubstr("5000"));
    EXPECT_FALSE(renderPlot(test::curvePlot(), {170.0, 100.0, 0.0, false}, folder / "a.png"));
    const auto lost = renderPlot(test::curvePlot(), {}, folder / "missing/a.png");
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::Failed);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}
