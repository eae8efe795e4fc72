#include <signal.h>

#include <filesystem>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StudyVerb : public RunVerbs {
  protected:
    /// `search` with another verb in front and a kind behind it.
    [[nodiscard]] std::vector<std::string> study(const std::string& kind, std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = search({"--guardrail", "0"});
        arguments[0] = "study";
        arguments.insert(arguments.begin() + 1, kind);
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    [[nodiscard]] static std::vector<std::string> asText(std::vector<std::string> arguments) {
        std::erase(arguments, "--json");
        return arguments;
    }
};

json withoutTime(json result) {
    for (const char* key : {"seconds", "settings", "run_id"}) result.erase(key);
    for (json& search : result["searches"]) {
        for (const char* key : {"seconds", "run_id"}) search.erase(key);
    }
    return result;
}

TEST_F(StudyVerb, PrintsOneObjectWithLevelsPairsAndProfiles) {
    const Finished done = run(study("curves", {"--values", "bezier,linear"}));
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    ASSERT_TRUE(result.is_object()) << done.out;
    for (const char* key : {"run_id", "state", "study", "model", "baseline", "levels", "pairs", "spread", "profiles",
                            "shared_items", "searches", "failed", "seconds", "settings"}) {
        EXPECT_TRUE(result.contains(key)) << key;
    }
    EXPECT_EQ(result["levels"].size(), 2u);
    EXPECT_EQ(result["settings"]["values"]["origin"], "flag");
    EXPECT_EQ(result["settings"]["repeats"]["value"], 1);
    const json listed = run({"db", "list", "--db", database(), "--json"}).json();
    EXPECT_EQ(listed["runs"].size(), 3u) << "the study and its searches";
    const Finished csv = run({"plot", "1", "--kind", "methods", "--out", file("scores.csv"), "--db", database()});
    EXPECT_EQ(csv.code, 0) << csv.err;
    EXPECT_EQ(run({"report", "1", "--out", file("report.html"), "--db", database()}).code, 0);
    EXPECT_TRUE(std::filesystem::exists(file("report.html")));
}

TEST_F(StudyVerb, PrintsTables) {
    const Finished done = run(asText(study("seeds", {"--repeats", "2"})));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, AllOf(HasSubstr("study seeds"), HasSubstr("baseline"), HasSubstr("seed 7 / seed 8"),
                                HasSubstr("mean |Δs|"), HasSubstr("p, Holm"), Not(HasSubstr("\033"))));
}

TEST_F(StudyVerb, DryRunForecastsEverySearchAndWritesNothing) {
    const Finished done = run(study("resample", {"--repeats", "2", "--dry-run"}));
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.json()["searches"].size(), 2u);
    EXPECT_GT(done.json()["seconds"], 0.0);
    const Finished text = run(asText(study("points", {"--values", "2,3", "--dry-run"})));
    EXPECT_THAT(text.out, AllOf(HasSubstr("3 points"), HasSubstr("together"), HasSubstr("The paper's setting")));
    EXPECT_FALSE(std::filesystem::exists(database()));
}

TEST_F(StudyVerb, FaultsAreRefusedAndNothingIsStored) {
    const auto refused = [&](const std::string& kind, std::vector<std::string> more, const char* part) {
        const Finished done = run(study(kind, std::move(more)));
        EXPECT_EQ(done.code, 2) << kind << ": " << done.err;
        EXPECT_THAT(done.err, HasSubstr(part));
        EXPECT_EQ(done.out, "");
    };
    refused("curve", {}, "'curve'");
    refused("curves", {"--values", "bezier,spiral"}, "spiral");
    refused("points", {"--values", "2,x"}, "'x'");
    refused("seeds", {"--values", "1,2"}, "--values");
    refused("seeds", {"--repeats", "0"}, "--repeats");
    refused("seeds", {"--repeats", "1"}, "single search");
    EXPECT_EQ(run({"study"}).code, 2);
    EXPECT_EQ(run({"study", "seeds"}).code, 2);
    const json listed = run({"db", "list", "--db", database(), "--json"}).json();
    EXPECT_TRUE(!listed.is_object() || listed["runs"].empty());
}

TEST_F(StudyVerb, StoppedOrKilledItGoesOnToTheSameResult) {
    const auto largeStudy = [&](const std::string& db) {
        return withOptions(study("seeds", {"--repeats", "2", "--progress", "json"}),
                           {{"--population", "40"}, {"--db", db}});
    };
    const Finished whole = run(largeStudy(database()));
    ASSERT_EQ(whole.code, 0) << whole.err;
    const auto inSecond = [](const std::string& seen) {
        return seen.find("seed 8 (2 of 2): generation 1") != std::string::npos;
    };
    for (const int signal : {SIGINT, SIGKILL}) {
        const std::string db = file("stopped" + std::to_string(signal) + ".db");
        Program program({largeStudy(db), {}, {}});
        ASSERT_TRUE(program.waitForError(inSecond));
        program.send(signal);
        const Finished stopped = program.finish();
        EXPECT_EQ(stopped.code, signal == SIGKILL ? -SIGKILL : 130) << stopped.err;
        if (signal == SIGINT) {
            EXPECT_THAT(stopped.err, HasSubstr("lpes resume 1 --db"));
        }
        EXPECT_EQ(run({"resume", "1", "--db", db, "--out", file("p.json")}).code, 2) << "a study has no profile";
        const Finished resumed = run({"resume", "last", "--db", db, "--json"});
        ASSERT_EQ(resumed.code, 0) << resumed.err;
        EXPECT_EQ(withoutTime(resumed.json()), withoutTime(whole.json()));
        EXPECT_EQ(run({"resume", "1", "--db", db}).code, 2) << "it is finished";
    }
}

}  // namespace
}  // namespace lpes::test
