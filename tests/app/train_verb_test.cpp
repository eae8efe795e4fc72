#include <algorithm>
#include <csignal>
#include <filesystem>

#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TrainVerb : public RunVerbs {
  protected:
    TrainVerb() {
        std::string text;
        for (int i = 0; i < 200; ++i)
            text += R"({"text": "the same words come again, number )" + std::to_string(i) + "\"}\n";
        writeBytes(m_folder / "t.jsonl", text);
    }
    [[nodiscard]] std::vector<std::string> train(std::vector<std::string> more = {}) const {
        std::vector<std::string> all{"train",     "moice",
                                     "--model",   model(),
                                     "--text",    file("t.jsonl"),
                                     "--out",     file("r"),
                                     "--db",      database(),
                                     "--threads", "1",
                                     "--lr",      "0.01",
                                     "--dtype",   "float32",
                                     "--top-k",   "2",
                                     "--json",    "--max-length",
                                     "16",        "--sequences-per-step",
                                     "4"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

/// The arguments with another value of an option.
std::vector<std::string> with(std::vector<std::string> arguments, const std::string& option, const std::string& value) {
    *(std::find(arguments.begin(), arguments.end(), option) + 1) = value;
    return arguments;
}

TEST_F(TrainVerb, TrainsARouterThatScoreTakes) {
    const Finished done = run(train({"--steps", "2"}));
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    ASSERT_TRUE(result.is_object()) << done.out;
    EXPECT_EQ(result["state"], "finished");
    EXPECT_EQ(result["curve"].size(), 2u);
    EXPECT_EQ(result["text"]["documents"], 200);
    EXPECT_EQ(result["settings"]["steps"]["origin"], "flag");
    const Finished score =
        run({"score", model(), "--text", "the same words", "--method", "moice:" + file("r"), "--json"});
    EXPECT_EQ(score.code, 0) << score.err;
    const Finished anew = run(train({"--steps", "1"}));
    EXPECT_EQ(anew.code, 2);
    EXPECT_THAT(anew.err, HasSubstr("--overwrite"));
    EXPECT_EQ(run({"score", model(), "--text", "the same words", "--method", "moice:" + file("r.training")}).code, 3)
        << "a checkpoint is no router";
    const Finished again = run(train({"--steps", "3", "--resume"}));
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.json()["curve"].size(), 3u);
    EXPECT_EQ(again.json()["curve"][1], result["curve"][1]);
    const Finished replaced = run(train({"--steps", "1", "--overwrite"}));
    ASSERT_EQ(replaced.code, 0) << replaced.err;
    EXPECT_EQ(replaced.json()["curve"].size(), 1u);
}

TEST_F(TrainVerb, PrintsTheCurveAsATable) {
    std::vector<std::string> arguments = train({"--steps", "1"});
    std::erase(arguments, "--json");
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("LM loss"));
    EXPECT_THAT(done.out, HasSubstr("--method 'moice:" + file("r") + "'"));
}

TEST_F(TrainVerb, StopsOnASignalAndGoesOn) {
    Program program({.arguments = train({"--steps", "100000", "--progress", "json"}), .environment = {}, .input = {}});
    ASSERT_TRUE(
        program.waitForError([](const std::string& err) { return err.find("step 3 of") != std::string::npos; }));
    program.send(SIGINT);
    const Finished stopped = program.finish();
    ASSERT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("resume with: lpes resume 1 --db"));
    const json result = stopped.json();
    EXPECT_EQ(result["state"], "stopped");
    const auto steps = result["steps"].get<int>();
    EXPECT_GE(steps, 2);
    EXPECT_FALSE(std::filesystem::exists(file("r")));
    EXPECT_EQ(run(train()).code, 2) << "an unfinished training is not thrown away";
    const Finished resumed = run(train({"--resume", "--steps", std::to_string(steps + 1)}));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.json()["curve"].size(), static_cast<std::size_t>(steps + 1));
    EXPECT_EQ(resumed.json()["run_id"], 2) << "to another number of steps, which is another run";
}

TEST_F(TrainVerb, IsARunThatIsListedDrawnAndReported) {
    ASSERT_EQ(run(train({"--steps", "2"})).code, 0);
    const json row = run({"db", "list", "--db", database(), "--json"}).json()["runs"][0];
    EXPECT_EQ(row["kind"], "train");
    EXPECT_EQ(row["state"], "finished");
    const json shown = run({"db", "show", "1", "--db", database(), "--json"}).json();
    EXPECT_EQ(shown["rows"]["training_steps"], 2);
    EXPECT_EQ(shown["data_set"]["name"], "t.jsonl");
    EXPECT_EQ(shown["data_set"]["items"], 200);
    EXPECT_EQ(shown["settings"]["out"]["value"], file("r"));
    const json used = run({"inspect", model(), "--method", "moice:" + file("r"), "--json"}).json();
    EXPECT_EQ(shown["result"]["method_hash"], used["method_hash"]);
    ASSERT_EQ(run({"plot", "1", "--kind", "loss", "--out", file("loss.csv"), "--db", database()}).code, 0);
    EXPECT_THAT(readBytes(file("loss.csv")), testing::StartsWith("step,loss,lm_loss,aux_loss,grad_norm,tokens\r\n1,"));
    const Finished none = run({"plot", "1", "--kind", "convergence", "--out", file("c.csv"), "--db", database()});
    EXPECT_EQ(none.code, 1) << none.err;
    ASSERT_EQ(run({"report", "1", "--out", file("report.html"), "--db", database()}).code, 0);
    EXPECT_THAT(readBytes(file("report.html")), testing::AllOf(HasSubstr("gradient norm"), HasSubstr(file("r"))));
    const Finished again = run({"resume", "1", "--db", database()});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, HasSubstr("run 1 is finished"));
}

TEST_F(TrainVerb, ResumeGoesOnFromTheCheckpointAndRefusesWithoutIt) {
    Program program({.arguments = train({"--steps", "60", "--progress", "json"}), .environment = {}, .input = {}});
    ASSERT_TRUE(
        program.waitForError([](const std::string& err) { return err.find("step 3 of") != std::string::npos; }));
    program.send(SIGKILL);
    (void)program.finish();
    EXPECT_EQ(run({"db", "list", "--db", database(), "--json"}).json()["runs"][0]["state"], "interrupted");
    const std::filesystem::path checkpoint = file("r.training"), away = file("away");
    std::filesystem::rename(checkpoint, away);
    const Finished gone = run({"resume", "last", "--db", database()});
    EXPECT_EQ(gone.code, 3) << gone.err;
    EXPECT_THAT(gone.err, HasSubstr("the checkpoint '" + checkpoint.string() + "' that run 1 left is gone"));
    std::filesystem::rename(away, checkpoint);
    EXPECT_EQ(run({"resume", "last", "--workers", "2", "--db", database()}).code, 2);
    const Finished resumed = run({"resume", "last", "--db", database(), "--json"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.json()["run_id"], 1);
    EXPECT_EQ(resumed.json()["curve"].size(), 60u);
    EXPECT_TRUE(std::filesystem::exists(file("r")));
}

TEST_F(TrainVerb, RefusalsHaveTheirExitCodes) {
    EXPECT_EQ(run({"train"}).code, 2);
    EXPECT_EQ(run({"train", "lora"}).code, 2);
    EXPECT_EQ(run(with(train(), "--top-k", "9")).code, 2);
    EXPECT_EQ(run(train({"--bases", "10000,x"})).code, 2);
    EXPECT_EQ(run(with(train(), "--max-length", "1000")).code, 2);
    EXPECT_EQ(run(train({"--resume"})).code, 3);
    EXPECT_EQ(run(with(train(), "--out", file("t.jsonl"))).code, 2) << "the text itself";
    EXPECT_EQ(run(with(train(), "--out", model() + "/model.safetensors")).code, 2) << "the model's weights";
    EXPECT_EQ(run(with(train(), "--out", database())).code, 2) << "the data base";
    EXPECT_EQ(run(with(train(), "--text", file("none"))).code, 3);
    EXPECT_EQ(run(with(train(), "--out", file("no/r"))).code, 1);
    EXPECT_EQ(run({"score", model(), "--text", "x y", "--method", "moice:" + file("t.jsonl")}).code, 3);
}

}  // namespace
}  // namespace lpes::test
