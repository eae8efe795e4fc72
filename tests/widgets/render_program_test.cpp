#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/analysis/plot_json.h"
#include "core/base/files.h"
#include "core/base/version.h"
#include "tests/widgets/sample_plots.h"

using namespace lpes;
using testing::HasSubstr;

namespace {

struct Outcome {
    int exitCode = -1;
    std::string output;  // standard output and error
};

// No DISPLAY, no WAYLAND_DISPLAY, an empty QT_QPA_PLATFORM; ended by force after two minutes.
Outcome runBare(const std::string& arguments, const std::string& before = "", const std::string& variables = "") {
    const std::string command = before + "env -i HOME=/nonexistent PATH=\"$PATH\" QT_QPA_PLATFORM= " + variables +
                                " timeout 120 \"" + std::string(LPES_RENDER) + "\" " + arguments + " 2>&1";
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    std::array<char, 4096> chunk{};
    while (const std::size_t got = fread(chunk.data(), 1, chunk.size(), pipe)) outcome.output.append(chunk.data(), got);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) outcome.exitCode = WEXITSTATUS(status);
    return outcome;
}

std::string quoted(const std::filesystem::path& path) {
    return "\"" + path.string() + "\"";
}

}  // namespace

TEST(FieldReports, T31_DrawsWithoutADisplay) {
    const test::TempFolder folder;
    const Outcome version = runBare("--version");
    EXPECT_EQ(version.exitCode, 0);
    EXPECT_THAT(version.output, HasSubstr(kVersion));
    const Outcome help = runBare("--help");
    EXPECT_EQ(help.exitCode, 0);
    EXPECT_THAT(help.output, HasSubstr("--job"));

    ASSERT_TRUE(writeFileAtomically(folder / "plot.json", analysis::toJson(test::curvePlot()).dump()));
    const Outcome drawn = runBare("--data " + quoted(folder / "plot.json") + " --out " + quoted(folder / "a.pdf") +
                                  " --out " + quoted(folder / "a.svg") + " --out " + quoted(folder / "a.png") +
                                  " --out " + quoted(folder / "a.csv") + " --width-mm 85 --dpi 100 --theme dark");
    EXPECT_EQ(drawn.exitCode, 0);
    EXPECT_EQ(drawn.output, "") << "a drawing that went well says nothing";
    for (const char* name : {"a.pdf", "a.svg", "a.png", "a.csv"}) {
        EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    }
}

TEST(RenderProgram, DrawsAJobFromStandardInput) {
    const test::TempFolder folder;
    nlohmann::json plots = nlohmann::json::array();
    for (const auto& plot : test::allPlots()) {
        plots.push_back(
            {{"data", analysis::toJson(plot)}, {"out", {(folder / (test::kindOf(plot) + ".svg")).string()}}});
    }
    ASSERT_TRUE(writeFileAtomically(folder / "job.json", nlohmann::json{{"plots", plots}}.dump()));
    const Outcome drawn = runBare("--job -", "cat " + quoted(folder / "job.json") + " | ");
    EXPECT_EQ(drawn.exitCode, 0) << drawn.output;
    for (const auto& plot : test::allPlots())
        EXPECT_TRUE(std::filesystem::exists(folder / (test::kindOf(plot) + ".svg")));
}

TEST(RenderProgram, DrawsTheSameBytesInAnotherProcessAndTimeZone) {
    const test::TempFolder folder;
    ASSERT_TRUE(writeFileAtomically(folder / "plot.json", analysis::toJson(test::attentionPlot()).dump()));
    const std::string data = "--data " + quoted(folder / "plot.json") + " --out ";
    ASSERT_EQ(runBare(data + quoted(folder / "a.pdf") + " --out " + quoted(folder / "a.svg")).exitCode, 0);
    // Several times: Qt orders its hash tables anew in every process, and two orders may be equal by chance.
    for (int attempt = 0; attempt < 6; ++attempt) {
        ASSERT_EQ(runBare(data + quoted(folder / "b.pdf") + " --out " + quoted(folder / "b.svg"), "",
                          "TZ=Asia/Kolkata LC_ALL=de_DE.UTF-8")
                      .exitCode,
                  0);
        // Not EXPECT_EQ: it would print both files.
        EXPECT_TRUE(*readTextFile(folder / "a.pdf") == *readTextFile(folder / "b.pdf")) << attempt;
        EXPECT_TRUE(*readTextFile(folder / "a.svg") == *readTextFile(folder / "b.svg")) << attempt;
    }
}

TEST(RenderProgram, EndsWithTheAgreedExitCodes) {
    const test::TempFolder folder;
    ASSERT_TRUE(writeFileAtomically(folder / "plot.json", analysis::toJson(test::curvePlot()).dump()));
    const std::string data = "--data " + quoted(folder / "plot.json");
    EXPECT_EQ(runBare("").exitCode, 2);
    EXPECT_EQ(runBare("--colour").exitCode, 2);
    EXPECT_EQ(runBare(data).exitCode, 2) << "no --out";
    EXPECT_EQ(runBare(data + " --out " + quoted(folder / "a.pdf") + " --width-mm 1").exitCode, 2);
    EXPECT_EQ(runBare("--job " + quoted(folder / "none.json")).exitCode, 3);
    EXPECT_EQ(runBare("--job -", "echo '{' | ").exitCode, 3);
    EXPECT_EQ(runBare("--job -", "echo '{\"plots\":[{}]}' | ").exitCode, 3);
    const Outcome unsupported = runBare(data + " --out " + quoted(folder / "a.bmp"));
    EXPECT_EQ(unsupported.exitCode, 4);
    EXPECT_EQ(std::count(unsupported.output.begin(), unsupported.output.end(), '\n'), 1) << unsupported.output;
    EXPECT_EQ(runBare(data + " --out " + quoted(folder / "missing/a.pdf")).exitCode, 1);
}
