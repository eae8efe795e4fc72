#include <filesystem>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PlotVerbs : public RunVerbs {
  protected:
    void SetUp() override { ASSERT_EQ(run(search()).code, 0); }
    [[nodiscard]] Finished plot(std::vector<std::string> more,
                                std::map<std::string, std::string> environment = {}) const {
        Start start;
        start.arguments = {"plot", "last", "--db", database()};
        start.arguments.insert(start.arguments.end(), more.begin(), more.end());
        start.environment = std::move(environment);
        return run(start);
    }
};

TEST_F(PlotVerbs, CsvNeedsNoDrawingProgram) {
    for (const char* kind : {"curve", "accuracy", "convergence", "attention", "deviation"}) {
        const Finished done = plot({"--kind", kind, "--out", file("a.csv")}, {{"LPES_RENDER", "/nonexistent/render"}});
        EXPECT_EQ(done.code, 0) << kind << done.err;
        EXPECT_THAT(readBytes(file("a.csv")), HasSubstr(","));
        std::filesystem::remove(file("a.csv"));
    }
}

TEST_F(PlotVerbs, MissingDrawingProgramIsRefusedWithTheRemedy) {
    const Finished done = plot({"--kind", "curve", "--out", file("a.svg")}, {{"LPES_RENDER", "/nonexistent/render"}});
    EXPECT_EQ(done.code, 4);
    EXPECT_THAT(done.err, HasSubstr("LPES_RENDER"));
    EXPECT_FALSE(std::filesystem::exists(file("a.svg")));
}

TEST_F(PlotVerbs, WrongKindsAndEndingsAreUsageErrors) {
    EXPECT_EQ(plot({"--kind", "pie", "--out", file("a.csv")}).code, 2);
    EXPECT_EQ(plot({"--kind", "curve", "--out", file("a.bmp")}).code, 2);
    EXPECT_EQ(plot({"--kind", "curve"}).code, 2);
    EXPECT_EQ(plot({"--kind", "curve", "--out", file("a.csv"), "--theme", "pink"}).code, 2);
    EXPECT_EQ(plot({"--kind", "curve", "--out", "/nonexistent/a.csv"}).code, 1);
}

#ifdef LPES_RENDER_PROGRAM

TEST_F(PlotVerbs, T31_PlotsInAllFormatsWithoutADisplay) {
    const Finished done = plot({"--kind", "accuracy", "--out", file("a.pdf"), "--out", file("a.svg"), "--out",
                                file("a.png"), "--out", file("a.csv"), "--width-mm", "120", "--dpi", "150", "--json"},
                               {{"QT_QPA_PLATFORM", ""}, {"LPES_RENDER", LPES_RENDER_PROGRAM}});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.json()["files"].size(), 4u);
    EXPECT_THAT(readBytes(file("a.pdf")), StartsWith("%PDF"));
    EXPECT_THAT(readBytes(file("a.svg")), HasSubstr("<svg"));
    EXPECT_THAT(readBytes(file("a.png")), StartsWith("\x89PNG"));
    EXPECT_NE(readBytes(file("a.csv")), "");
}

TEST_F(PlotVerbs, DrawingProgramIsFoundInTheBuildTree) {
    EXPECT_EQ(plot({"--kind", "curve", "--out", file("a.svg")}).code, 0);
}

TEST_F(PlotVerbs, ReportIsOnePageWithEveryPlot) {
    const Finished done = run({"report", "last", "--db", database(), "--out", file("r.html")});
    ASSERT_EQ(done.code, 0) << done.err;
    const std::string page = readBytes(file("r.html"));
    std::size_t pictures = 0;
    for (std::size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) ++pictures;
    EXPECT_EQ(pictures, 6u);
    EXPECT_EQ(page.find("<script"), std::string::npos);
}

#endif

}  // namespace
}  // namespace lpes::test
