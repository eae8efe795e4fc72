#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/app/program.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ProfileVerbs : public testing::Test {
  protected:
    [[nodiscard]] std::string file(const std::string& name) const { return (m_folder / name).string(); }
    [[nodiscard]] Finished makeProfile(const std::string& out, std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments{"profile",  "new",
                                           "--layers", "5",
                                           "--points", "0:1.0,0.33333333333333331:1.6,0.66666666666666663:2.0,1:1.2",
                                           "--out",    file(out)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    }
    TemporaryFolder m_folder;
};

TEST_F(ProfileVerbs, NewGivesThePublishedCheckValuesWithoutRounding) {
    ASSERT_EQ(makeProfile("p.json", {"--grid-step", "none"}).code, 0);
    const json profile = json::parse(readBytes(file("p.json")));
    EXPECT_EQ(profile["format"], "lpes-profile");
    const auto scales = profile["scales"].get<std::vector<double>>();
    const std::vector<double> expected{1.0, 1.396875, 1.625, 1.590625, 1.2};
    ASSERT_EQ(scales.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(scales[i], expected[i], 1e-9) << i;
}

TEST_F(ProfileVerbs, NewRoundsToTheGridUnlessToldOtherwise) {
    ASSERT_EQ(makeProfile("grid.json").code, 0);
    EXPECT_EQ(json::parse(readBytes(file("grid.json")))["scales"], json({1.0, 1.4, 1.65, 1.6, 1.2}));
    ASSERT_EQ(makeProfile("coarse.json", {"--grid-step", "0.5"}).code, 0);
    EXPECT_EQ(json::parse(readBytes(file("coarse.json")))["scales"], json({1.0, 1.5, 1.5, 1.5, 1.0}));
}

TEST_F(ProfileVerbs, NewPrintsOneObjectWithJson) {
    const Finished done = makeProfile("p.json", {"--json"});
    ASSERT_TRUE(done.json().is_object()) << done.out;
    EXPECT_EQ(done.json()["layers"], 5);
}

TEST_F(ProfileVerbs, CsvRoundTripKeepsEveryBit) {
    ASSERT_EQ(makeProfile("p.json", {"--grid-step", "none"}).code, 0);
    ASSERT_EQ(run({"export", file("p.json"), "--to", "csv", "--out", file("p.csv")}).code, 0);
    ASSERT_EQ(run({"import", file("p.csv"), "--out", file("back.json")}).code, 0);
    EXPECT_EQ(json::parse(readBytes(file("back.json")))["scales"], json::parse(readBytes(file("p.json")))["scales"]);
}

TEST_F(ProfileVerbs, NothingThatIsReadIsWrittenOver) {
    writeHuggingFaceFolder(makeTinyModel(), file("model"));
    ASSERT_EQ(run({"profile", "new", "--model", file("model"), "--points", "0:1,1:1.2", "--out", file("p.json")}).code,
              0);
    const std::string profile = readBytes(file("p.json")), weights = readBytes(file("model/model.safetensors"));
    const auto refused = [&](const std::vector<std::string>& arguments) {
        const Finished done = run(arguments);
        EXPECT_EQ(done.code, 2) << arguments[0] << ": " << done.err;
        EXPECT_THAT(done.err, testing::AnyOf(HasSubstr("would destroy"), HasSubstr("nothing is replaced")));
    };
    refused({"export", file("p.json"), "--to", "csv", "--out", file("p.json")});
    refused({"export", file("p.json"), "--to", "csv", "--model", file("model"), "--out", file("model/config.json")});
    refused({"import", file("p.json"), "--out", file("p.json")});
    refused({"profile", "transfer", file("p.json"), "--to", file("model"), "--out", file("p.json")});
    refused({"profile", "new", "--model", file("model"), "--points", "0:1,1:1.2", "--out",
             file("model/model.safetensors")});
    EXPECT_EQ(readBytes(file("p.json")), profile);
    EXPECT_EQ(readBytes(file("model/model.safetensors")), weights);
    EXPECT_EQ(
        run({"export", file("p.json"), "--to", "json", "--model", file("model"), "--out", file("model/new.json")}).code,
        0)
        << "a new file is no loss";
}

TEST_F(ProfileVerbs, ExportToStandardOutputIsTheFileItself) {
    ASSERT_EQ(makeProfile("p.json").code, 0);
    const Finished csv = run({"export", file("p.json"), "--to", "csv"});
    EXPECT_EQ(csv.code, 0);
    EXPECT_THAT(csv.out, HasSubstr("1,1.4\n"));
    EXPECT_EQ(run({"export", file("p.json"), "--to", "json"}).json(), json::parse(readBytes(file("p.json"))));
    EXPECT_EQ(run({"export", file("p.json"), "--to", "csv", "--json"}).code, 2);
}

TEST_F(ProfileVerbs, ShowPrintsScaleAndReciprocal) {
    ASSERT_EQ(makeProfile("p.json").code, 0);
    const Finished done = run({"profile", "show", file("p.json")});
    EXPECT_EQ(done.code, 0);
    EXPECT_THAT(done.out, HasSubstr("1/s"));
    EXPECT_THAT(done.out, HasSubstr("0.7143"));  // 1/1.4
    EXPECT_EQ(run({"profile", "show", file("p.json"), "--json"}).json()["scales"].size(), 5u);
}

TEST_F(ProfileVerbs, WrongCurvesAreUsageErrorsThatLeaveNoFile) {
    for (const char* points : {"0:1", "0:1,1:x", "0.1:1,1:1", "0:1,0.8:1,0.5:1,1:1", "0:1,1:9", "0:nan,1:1", ""}) {
        const Finished done = run({"profile", "new", "--layers", "4", "--points", points, "--out", file("w.json")});
        EXPECT_EQ(done.code, 2) << points << ": " << done.err;
        EXPECT_FALSE(std::filesystem::exists(file("w.json")));
    }
    EXPECT_EQ(
        run({"profile", "new", "--layers", "4", "--curve", "spline", "--points", "0:1,1:1", "--out", file("w.json")})
            .code,
        2);
    EXPECT_EQ(
        run({"profile", "new", "--layers", "4", "--curve", "free", "--points", "0:1,1:1", "--out", file("w.json")})
            .code,
        2);
    EXPECT_EQ(run({"profile", "new", "--points", "0:1,1:1", "--out", file("w.json")}).code, 2);
}

TEST_F(ProfileVerbs, UnwritableFolderIsNamed) {
    const Finished done =
        run({"profile", "new", "--layers", "4", "--points", "0:1,1:1", "--out", "/nonexistent/p.json"});
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.err, HasSubstr("/nonexistent/p.json"));
}

TEST_F(ProfileVerbs, ProfileOfAnotherModelIsRefusedAndTransferMendsIt) {
    TinyModelSpec spec;
    spec.numLayers = 3;
    writeHuggingFaceFolder(makeTinyModel(spec), file("model"));
    ASSERT_EQ(makeProfile("p.json").code, 0);
    const Finished refused = run({"profile", "check", file("p.json"), "--model", file("model")});
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err, HasSubstr("5"));
    EXPECT_THAT(refused.err, HasSubstr("3"));
    EXPECT_EQ(run({"inspect", file("model"), "--profile", file("p.json")}).code, 3);

    ASSERT_EQ(run({"profile", "transfer", file("p.json"), "--to", file("model"), "--out", file("t.json")}).code, 0);
    EXPECT_EQ(run({"profile", "check", file("t.json"), "--model", file("model")}).code, 0);
    const json shown = run({"inspect", file("model"), "--profile", file("t.json"), "--json"}).json();
    EXPECT_EQ(shown["layer_scales"], json::parse(readBytes(file("t.json")))["scales"]);
}

TEST_F(ProfileVerbs, ScalesThatAreNoneNameTheLayer) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"0,1\n1,0\n", "1"}, {"0,1\n1,-1\n", "1"}, {"0,1\n1,nan\n", "1"}, {"0,1\n1,1e9\n", "1"}, {"0,1\n2,1\n", "1"}};
    for (const auto& [csv, layer] : wrong) {
        writeBytes(file("bad.csv"), csv);
        const Finished done = run({"import", file("bad.csv"), "--out", file("bad.json")});
        EXPECT_EQ(done.code, 3) << csv << done.err;
        EXPECT_THAT(done.err, HasSubstr(layer));
        EXPECT_FALSE(std::filesystem::exists(file("bad.json")));
    }
}

TEST_F(ProfileVerbs, CommaDecimalLocaleWritesPoints) {
    Start start;
    start.arguments = {"profile", "new", "--layers", "3", "--points", "0:1.5,1:1.5", "--out", file("de.json")};
    start.environment = {{"LC_ALL", "de_DE.UTF-8"}};
    ASSERT_EQ(run(start).code, 0);
    EXPECT_THAT(readBytes(file("de.json")), HasSubstr("1.5"));
}

}  // namespace
}  // namespace lpes::test
