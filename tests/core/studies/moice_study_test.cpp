#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/model/moice_file.h"
#include "core/studies/inspect.h"
#include "core/studies/model_setup.h"
#include "core/studies/moice_study.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::studies {
namespace {

using nlohmann::json;
using test::StopAfter;
using test::take;

class Warnings final : public ProgressObserver {
  public:
    void progressed(const Progress&) override {}
    void warned(const std::string& message) override { all += message + "\n"; }
    std::string all;
};

class MoiceStudy : public testing::Test {
  protected:
    MoiceStudy() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "the same words come again and again, " + std::to_string(i % 7) + "\n";
        test::writeBytes(m_folder / "t.txt", text);
    }

    TrainMoiceSettings settings(const std::string& out) const {
        TrainMoiceSettings settings;
        settings.model = {m_folder.model(), "float32", "cpu", true};
        settings.threads = 1;
        settings.text = m_folder / "t.txt";
        settings.out = m_folder / out;
        settings.steps = 3;
        settings.sequencesPerStep = 2;
        settings.maxLength = 24;
        settings.topK = 2;
        settings.learningRate = 0.01;
        return settings;
    }
    Result<StudyOutcome> train(const TrainMoiceSettings& settings) {
        NullObserver nobody;
        return trainMoice(settings, *m_store, nobody, {});
    }
    Result<StudyOutcome> resume(std::int64_t runId) {
        NullObserver nobody;
        return resumeTraining(runId, *m_store, nobody, {});
    }
    /// Stopped inside the second step: two sequences of the first are done and one of the second.
    StudyOutcome cutShort(const TrainMoiceSettings& settings) {
        StopAfter observer(3);
        return take(trainMoice(settings, *m_store, observer, observer.token()));
    }
    void expectNotResumed(std::int64_t runId, const std::string& words) {
        const auto refused = resume(runId);
        ASSERT_FALSE(refused.has_value()) << words;
        EXPECT_EQ(refused.error().code, ErrorCode::BadInput) << refused.error().text();
        EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().text();
        EXPECT_EQ(take(m_store->reader().run(runId)).state, store::RunState::Stopped) << "left as it was";
    }
    void expectRefused(const TrainMoiceSettings& settings, ErrorCode code, const std::string& words) {
        const auto refused = train(settings);
        ASSERT_FALSE(refused.has_value()) << words;
        EXPECT_EQ(refused.error().code, code) << refused.error().text();
        EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().text();
    }

    test::StudyFolder m_folder;
    std::unique_ptr<store::StoreWriter> m_store = test::openStore(m_folder / "runs.db");
};

TEST_F(MoiceStudy, WritesARouterThatTheMethodTakes) {
    const auto outcome = take(train(settings("r")));
    EXPECT_FALSE(outcome.stoppedEarly);
    const json& result = outcome.result;
    EXPECT_EQ(result["state"], "finished");
    ASSERT_EQ(result["curve"].size(), 3u);
    EXPECT_EQ(result["curve"][2]["step"], 3);
    EXPECT_EQ(result["curve"][0]["tokens"], 48);
    EXPECT_LT(result["curve"][2]["lm_loss"], 20.0);
    EXPECT_EQ(result["settings"]["top_k"]["value"], 2);
    EXPECT_EQ(result["settings"]["top_k"]["origin"], "flag");
    EXPECT_EQ(result["settings"]["aux"]["origin"], "default");
    EXPECT_EQ(result["aux_loss_constant"], false);
    EXPECT_GT(result["seconds_per_sequence"], 0.0);

    ScoreTextSettings score;
    score.model = settings("r").model;
    score.threads = 1;
    score.text = "the same words come again and again";
    NullObserver nobody;
    const json baseline = take(scoreText(score, nobody, {}));
    for (const char* suffix : {"", ",top_k=1"}) {
        score.method = "moice:" + (m_folder / "r").string() + suffix;
        const json routed = take(scoreText(score, nobody, {}));
        EXPECT_NE(routed["logprobs"], baseline["logprobs"]) << suffix;
    }
}

TEST_F(MoiceStudy, ResumedIsUninterruptedToTheBit) {
    const auto whole = take(train(settings("whole")));
    const auto stopped = cutShort(settings("cut"));
    EXPECT_TRUE(stopped.stoppedEarly);
    EXPECT_EQ(stopped.result["state"], "stopped");
    EXPECT_EQ(stopped.result["steps"], 1);
    EXPECT_FALSE(std::filesystem::exists(m_folder / "cut"));
    EXPECT_TRUE(std::filesystem::exists(moiceCheckpointPath(m_folder / "cut")));
    expectRefused(settings("cut"), ErrorCode::Usage, "left unfinished; go on with --resume");

    TrainMoiceSettings resumed;
    resumed.model = settings("cut").model;
    resumed.text = settings("cut").text;
    resumed.out = settings("cut").out;
    resumed.resume = true;
    const auto outcome = take(train(resumed));
    EXPECT_EQ(outcome.runId, stopped.runId) << "the run that was left goes on";
    EXPECT_EQ(outcome.result["curve"], whole.result["curve"]);
    EXPECT_EQ(outcome.result["settings"]["lr"]["origin"], "checkpoint");
    EXPECT_EQ(test::readBytes(m_folder / "cut"), test::readBytes(m_folder / "whole"));
    EXPECT_EQ(test::readBytes(moiceCheckpointPath(m_folder / "cut")),
              test::readBytes(moiceCheckpointPath(m_folder / "whole")));

    // More steps go on from there, and are those of a longer training.
    TrainMoiceSettings longer = settings("longer");
    longer.steps = 4;
    const auto all = take(train(longer));
    resumed.steps = 4;
    const auto more = take(train(resumed));
    EXPECT_EQ(more.result["curve"], all.result["curve"]);
    EXPECT_GT(more.runId, all.runId) << "a finished run stays as it is";
    EXPECT_EQ(take(m_store->reader().trainingSteps(more.runId)).size(), 4u) << "with its whole curve";
    resumed.steps = 2;
    expectRefused(resumed, ErrorCode::Usage, "steps 2 is less than the 4");
}

TEST_F(MoiceStudy, RefusesToGoOnWithSomethingElse) {
    (void)take(train(settings("r")));
    TrainMoiceSettings resumed = settings("r");
    resumed.resume = true;
    const auto refusedFor = [&](const std::function<void(TrainMoiceSettings&)>& edit, ErrorCode code,
                                const std::string& words) {
        TrainMoiceSettings edited = resumed;
        edited.steps = 4;
        edit(edited);
        expectRefused(edited, code, words);
    };
    refusedFor([](auto& s) { s.learningRate = 0.02; }, ErrorCode::Usage, "lr 0.02 is not what the training was begun");
    refusedFor([](auto& s) { s.threads = 2; }, ErrorCode::Usage, "threads 2 is not");
    refusedFor([](auto& s) { s.seed = 2; }, ErrorCode::Usage, "seed 2 is not");
    refusedFor([](auto& s) { s.model.dtype = "bfloat16"; }, ErrorCode::Usage, "dtype \"bfloat16\" is not");
    test::writeBytes(m_folder / "other.txt", "another text, which is long enough to be one");
    refusedFor([&](auto& s) { s.text = m_folder / "other.txt"; }, ErrorCode::BadInput, "the text is no longer");
    refusedFor([&](auto& s) { s.out = m_folder / "none"; }, ErrorCode::BadInput, "there is no checkpoint");
    const std::string checkpoint = test::readBytes(moiceCheckpointPath(m_folder / "r"));
    test::writeBytes(moiceCheckpointPath(m_folder / "r"), checkpoint.substr(0, checkpoint.size() / 2));
    refusedFor([](auto&) {}, ErrorCode::BadInput, "incomplete file");
}

TEST_F(MoiceStudy, ReplacesNothingThatItReads) {
    const std::string words = test::readBytes(m_folder / "t.txt");
    const std::filesystem::path weights = std::filesystem::path(m_folder.model()) / "model.safetensors";
    const std::string bytes = test::readBytes(weights);
    const auto refusedAt = [&](const std::filesystem::path& out, const std::string& why) {
        TrainMoiceSettings edited = settings("r");
        edited.out = out;
        for (const bool overwrite : {false, true}) {
            edited.overwrite = overwrite;
            expectRefused(edited, ErrorCode::Usage, why);
        }
    };
    refusedAt(m_folder / "t.txt", "is what --text names");
    refusedAt(std::filesystem::path(m_folder.model()) / ".." / "t.txt", "is what --text names");
    refusedAt(weights, "that --model names, where nothing is replaced");
    refusedAt(std::filesystem::path(m_folder.model()) / "config.json", "that --model names");
    std::filesystem::create_hard_link(m_folder / "t.txt", m_folder / "link");
    refusedAt(m_folder / "link", "is what --text names");
    test::writeBytes(m_folder / "notes", "mine");
    refusedAt(m_folder / "notes", "is no router that 'lpes train moice' wrote");
    // The checkpoint's name counts as well.
    test::writeBytes(m_folder / "n.training", "mine");
    refusedAt(m_folder / "n", "where the checkpoint goes");
    TrainMoiceSettings text = settings("u");
    text.text = m_folder / "u.training";
    test::writeBytes(text.text, words);
    expectRefused(text, ErrorCode::Usage, "is what --text names");
    EXPECT_EQ(test::readBytes(m_folder / "t.txt"), words);
    EXPECT_EQ(test::readBytes(text.text), words);
    EXPECT_EQ(test::readBytes(weights), bytes);
    EXPECT_EQ(test::readBytes(m_folder / "notes"), "mine");
}

TEST_F(MoiceStudy, ReplacesAFinishedRouterOnlyWhereToldTo) {
    const std::filesystem::path out = m_folder / "r", checkpoint = moiceCheckpointPath(out);
    (void)take(train(settings("r")));
    const std::string router = test::readBytes(out), state = test::readBytes(checkpoint);
    TrainMoiceSettings shorter = settings("r");
    shorter.steps = 1;
    expectRefused(shorter, ErrorCode::Usage, "holds a finished router; --overwrite");
    std::filesystem::rename(out, m_folder / "kept");
    expectRefused(shorter, ErrorCode::Usage, "is the checkpoint of a finished training; --overwrite");
    EXPECT_EQ(test::readBytes(checkpoint), state);
    std::filesystem::rename(m_folder / "kept", out);
    shorter.overwrite = true;
    EXPECT_EQ(take(train(shorter)).result["steps"], 1);
    EXPECT_NE(test::readBytes(out), router);
    EXPECT_NE(test::readBytes(checkpoint), state);
}

TEST_F(MoiceStudy, ARouterBelongsToTheWeightsThatItWasTrainedOn) {
    (void)take(train(settings("r")));
    const std::string method = "moice:" + (m_folder / "r").string();
    Warnings heard;
    const json own = take(inspectModel(m_folder.model(), method, "cpu", heard));
    EXPECT_EQ(heard.all, "");
    EXPECT_TRUE(own["warnings"].empty()) << own["warnings"].dump();
    // Another fine-tune: the same configuration and other weights.
    test::TinyModelSpec spec;
    spec.seed = 2;
    const test::StudyFolder other(spec);
    const auto refused = inspectModel(other.model(), method, "cpu", heard);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
    EXPECT_NE(refused.error().message.find("was trained on other weights"), std::string::npos)
        << refused.error().text();
    const auto checkpoint = inspectModel(m_folder.model(), method + ".training", "cpu", heard);
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_EQ(checkpoint.error().code, ErrorCode::BadInput);
    EXPECT_NE(checkpoint.error().message.find("it is the checkpoint of a training"), std::string::npos);
    // One that does not say it is taken, and what could not be checked is told.
    const auto opened = take(openModel(m_folder.model(), false));
    auto older = **model::readMoiceRouters(m_folder / "r", opened.config());
    older.weightsHash.clear();
    ASSERT_TRUE(model::writeMoiceRouters(m_folder / "older", older, opened.config()).has_value());
    const json taken = take(inspectModel(m_folder.model(), "moice:" + (m_folder / "older").string(), "cpu", heard));
    EXPECT_NE(heard.all.find("does not say which weights"), std::string::npos) << heard.all;
    EXPECT_NE(heard.all.find("only its shape and configuration"), std::string::npos) << heard.all;
    ASSERT_EQ(taken["warnings"].size(), 1u);
    EXPECT_EQ(taken["warnings"][0].get<std::string>() + "\n", heard.all);
}

TEST_F(MoiceStudy, SaysWhatHasNoEffect) {
    Warnings observer;
    TrainMoiceSettings all = settings("r");
    all.topK.reset();
    all.steps = 1;
    all.sequencesPerStep = 100;
    const auto outcome = take(trainMoice(all, *m_store, observer, {}));
    EXPECT_EQ(outcome.result["aux_loss_constant"], true);
    EXPECT_NEAR(outcome.result["curve"][0]["aux_loss"].get<double>(), 7.0, 1e-5);
    EXPECT_NE(observer.all.find("the auxiliary loss is the constant 7"), std::string::npos) << observer.all;
    EXPECT_NE(observer.all.find("sequences come again"), std::string::npos) << observer.all;
    EXPECT_EQ(outcome.result["warnings"].size(), 2u);
}

TEST_F(MoiceStudy, RefusesSettingsThatMakeNoSense) {
    const auto refusedFor = [&](const std::function<void(TrainMoiceSettings&)>& edit, const std::string& words) {
        TrainMoiceSettings edited = settings("r");
        edit(edited);
        expectRefused(edited, ErrorCode::Usage, words);
    };
    refusedFor([](auto& s) { s.topK = 8; }, "top_k 8");
    refusedFor([](auto& s) { s.topK = 0; }, "top_k 0");
    refusedFor([](auto& s) { s.maxLength = 513; }, "max_length 513 is out of range; give 2 to 512");
    refusedFor([](auto& s) { s.steps = 0; }, "steps 0");
    EXPECT_FALSE(std::filesystem::exists(moiceCheckpointPath(m_folder / "r")));
}

TEST_F(MoiceStudy, StoppedBeforeItBegins) {
    std::stop_source source;
    source.request_stop();
    NullObserver nobody;
    const auto stopped = trainMoice(settings("r"), *m_store, nobody, source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(model::wasStopped(stopped.error()));
    EXPECT_FALSE(std::filesystem::exists(moiceCheckpointPath(m_folder / "r")));
    EXPECT_TRUE(take(m_store->reader().runs()).empty());
}

TEST_F(MoiceStudy, IsARunWithItsTextItsLossesAndWhatItWrote) {
    const auto outcome = take(train(settings("r")));
    store::StoreReader& reader = m_store->reader();
    const store::RunRow run = take(reader.run(outcome.runId));
    EXPECT_EQ(run.kind, "train");
    EXPECT_EQ(run.state, store::RunState::Finished);
    EXPECT_EQ(run.computeType, "float32");
    EXPECT_EQ(json::parse(run.resultJson), outcome.result);
    EXPECT_EQ(outcome.result["run_id"], outcome.runId);
    const json stored = json::parse(run.settingsJson);
    EXPECT_EQ(stored["text"]["value"], (m_folder / "t.txt").string());
    EXPECT_EQ(stored["top_k"]["origin"], "flag");
    const store::DatasetRow text = take(reader.dataset(run.datasetId));
    EXPECT_EQ(text.name, "t.txt");
    EXPECT_EQ(text.hash, outcome.result["text"]["hash"]);
    const auto steps = take(reader.trainingSteps(run.id));
    ASSERT_EQ(steps.size(), 3u);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].lmLoss, outcome.result["curve"][i]["lm_loss"].get<double>()) << "to the bit";
        EXPECT_EQ(steps[i].tokens, 48);
    }
    const auto plot = std::get<analysis::LossPlot>(take(plotData(reader, run, "loss")));
    ASSERT_EQ(plot.steps.size(), 3u);
    EXPECT_EQ(plot.steps[2].gradNorm, steps[2].gradNorm);
    EXPECT_EQ(take(availablePlots(reader, run)), std::vector<std::string>{"loss"});
    const std::string report = take(reportHtml(reader, run, {}));
    for (const std::string& words : {std::string("gradient norm"), (m_folder / "r").string(), text.hash})
        EXPECT_NE(report.find(words), std::string::npos) << words;
    const auto again = resume(run.id);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().code, ErrorCode::Usage);
}

TEST_F(MoiceStudy, ResumeByNumberEndsInTheSameBits) {
    const auto whole = take(train(settings("whole")));
    const auto stopped = cutShort(settings("cut"));
    const store::RunRow left = take(m_store->reader().run(stopped.runId));
    EXPECT_EQ(left.state, store::RunState::Stopped);
    EXPECT_EQ(take(m_store->reader().trainingSteps(left.id)).size(), 1u);
    const auto outcome = take(resume(left.id));
    EXPECT_EQ(outcome.runId, left.id);
    EXPECT_EQ(outcome.result["curve"], whole.result["curve"]);
    EXPECT_EQ(outcome.result["method_hash"], whole.result["method_hash"]);
    EXPECT_EQ(test::readBytes(m_folder / "cut"), test::readBytes(m_folder / "whole"));
    EXPECT_EQ(take(m_store->reader().trainingSteps(left.id)).size(), 3u);
    EXPECT_EQ(take(m_store->reader().run(left.id)).state, store::RunState::Finished);
}

TEST_F(MoiceStudy, ResumeByNumberRefusesAnotherCheckpointByName) {
    const std::filesystem::path checkpoint = moiceCheckpointPath(m_folder / "cut");
    const std::int64_t run = cutShort(settings("cut")).runId;
    const std::string own = test::readBytes(checkpoint);
    std::filesystem::remove(checkpoint);
    expectNotResumed(run,
                     "the checkpoint '" + checkpoint.string() + "' that run " + std::to_string(run) + " left is gone");
    TrainMoiceSettings other = settings("other");
    other.learningRate = 0.02;
    (void)cutShort(other);
    test::writeBytes(checkpoint, test::readBytes(moiceCheckpointPath(m_folder / "other")));
    expectNotResumed(run, "its lr is 0.02 and not 0.01");
    test::writeBytes(checkpoint, "nothing");
    expectNotResumed(run, checkpoint.string());
    test::writeBytes(checkpoint, own);
    const std::string words = test::readBytes(m_folder / "t.txt");
    test::writeBytes(m_folder / "t.txt", words + "and more\n");
    expectNotResumed(run, "the text is no longer");
    test::writeBytes(m_folder / "t.txt", words);
    EXPECT_EQ(take(resume(run)).result["state"], "finished");
}

}  // namespace
}  // namespace lpes::studies
