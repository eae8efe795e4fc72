#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/app/program.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// One tiny model in both formats for all tests.
class LookVerbs : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        s_folder = new TemporaryFolder;
        TinyModelSpec spec;
        spec.numLayers = 3;
        const TinyModel tiny = makeTinyModel(spec);
        writeHuggingFaceFolder(tiny, model());
        HuggingFaceOptions bare;
        bare.tokenizer = false;
        writeHuggingFaceFolder(tiny, (*s_folder / "bare").string(), bare);
        writeGguf(tiny, gguf());
    }
    static void TearDownTestSuite() { delete s_folder; }
    static std::string model() { return (*s_folder / "hf").string(); }
    static std::string bare() { return (*s_folder / "bare").string(); }
    static std::string gguf() { return (*s_folder / "tiny.gguf").string(); }
    static std::string file(const std::string& name) { return (*s_folder / name).string(); }
    static inline TemporaryFolder* s_folder = nullptr;
};

TEST_F(LookVerbs, InspectPrintsOneObjectWithTheEffectiveTable) {
    const Finished done = run({"inspect", model(), "--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    const json object = done.json();
    ASSERT_TRUE(object.is_object());
    for (const char* key : {"architecture", "format", "layers", "heads", "kv_heads", "head_dim", "hidden", "vocab",
                            "context", "rope", "layer_scales", "inv_freq", "parameters", "weight_bytes", "warnings"}) {
        EXPECT_TRUE(object.contains(key)) << key;
    }
    EXPECT_EQ(object["layers"], 3);
    EXPECT_EQ(object["layer_scales"], json({1.0, 1.0, 1.0}));
    ASSERT_EQ(object["inv_freq"].size(), 3u);
    EXPECT_EQ(object["inv_freq"][0].size(), 8u);
    EXPECT_EQ(object["inv_freq"][0][0], 1.0);
    EXPECT_EQ(object["rope"]["theta"], 10000.0);
    EXPECT_THAT(object["rope"]["origin"].get<std::string>(), HasSubstr("rope_theta"));
}

TEST_F(LookVerbs, InspectShowsWhatAMethodDoesToEachLayer) {
    const json object = run({"inspect", gguf(), "--method", "uniform:2", "--json"}).json();
    ASSERT_TRUE(object.is_object());
    EXPECT_EQ(object["layer_scales"], json({2.0, 2.0, 2.0}));
    EXPECT_DOUBLE_EQ(object["inv_freq"][2][0].get<double>(), 0.5);
}

TEST_F(LookVerbs, InspectSaysWhatFitsOnADevice) {
    const json onCpu = run({"inspect", model(), "--json"}).json();
    EXPECT_EQ(onCpu["fits"]["device"], "cpu");
    EXPECT_EQ(onCpu["fits"]["weights_fit"], true);
    EXPECT_EQ(onCpu["fits"]["longest_context"], onCpu["context"]);
    EXPECT_EQ(run({"inspect", model(), "--device", "gpu"}).code, 2);
    // A GPU that no machine has: the words are those of loading.
    const Finished looked = run({"inspect", model(), "--device", "cuda:120"});
    const Finished loaded = run({"score", model(), "--text", "the cat", "--device", "cuda:120"});
    EXPECT_EQ(looked.code, 4) << looked.err;
    EXPECT_EQ(looked.err, loaded.err);
}

TEST_F(LookVerbs, InspectOfAModelWithoutTokenizerWarns) {
    const Finished done = run({"inspect", bare(), "--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(done.json()["tokenizer"].is_null());
    EXPECT_THAT(done.json()["warnings"].dump(), HasSubstr("tokenizer"));
}

TEST_F(LookVerbs, TablesHaveNoEscapesInAPipe) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"inspect", model()},
          {"tokenize", model(), "--text", "the cat"},
          {"score", model(), "--text", "the cat sat"},
          {"generate", model(), "--prompt", "the", "--max-new-tokens", "3"}}) {
        const Finished done = run(arguments);
        EXPECT_EQ(done.code, 0) << done.err;
        EXPECT_EQ(done.out.find('\033'), std::string::npos) << arguments[0];
        EXPECT_EQ(done.err.find('\033'), std::string::npos) << arguments[0];
        EXPECT_NE(done.out, "");
    }
}

TEST_F(LookVerbs, TokenizeGivesTheSameIdsFromBothFormats) {
    const Finished folder = run({"tokenize", model(), "--text", "the cat sat on the mat", "--json"});
    const Finished file = run({"tokenize", gguf(), "--text", "the cat sat on the mat", "--json"});
    ASSERT_EQ(folder.code, 0) << folder.err;
    ASSERT_EQ(file.code, 0) << file.err;
    EXPECT_EQ(folder.json()["ids"], file.json()["ids"]);
    EXPECT_EQ(folder.json()["ids"].size(), folder.json()["pieces"].size());
    EXPECT_EQ(folder.json()["bos_added"], false);
}

TEST_F(LookVerbs, SpecialTokensOnlyWhenAsked) {
    const json plain = run({"tokenize", model(), "--text", "<|im_start|>", "--json"}).json();
    const json special = run({"tokenize", model(), "--text", "<|im_start|>", "--special", "--json"}).json();
    EXPECT_GT(plain["ids"].size(), 1u);
    EXPECT_EQ(special["ids"], json({kTinyBos}));
}

TEST_F(LookVerbs, TextFromAFileOrStandardInputIsTakenAsItIs) {
    writeBytes(file("text.txt"), "one\ntwo\n");
    const json fromFile = run({"tokenize", model(), "--file", file("text.txt"), "--json"}).json();
    Start start;
    start.arguments = {"tokenize", model(), "--file", "-", "--json"};
    start.input = "one\ntwo\n";
    EXPECT_EQ(run(start).json()["ids"], fromFile["ids"]);
    EXPECT_EQ(run({"tokenize", model(), "--text", "one\ntwo\n", "--json"}).json()["ids"], fromFile["ids"]);
    EXPECT_EQ(run({"tokenize", model(), "--file", file("absent.txt")}).code, 3);
    EXPECT_EQ(run({"tokenize", model()}).code, 2);
    EXPECT_EQ(run({"tokenize", model(), "--text", "a", "--file", "b"}).code, 2);
}

TEST_F(LookVerbs, TextThatIsNoUtf8IsABadInput) {
    writeBytes(file("broken.txt"), "ab\xff");
    EXPECT_EQ(run({"tokenize", model(), "--file", file("broken.txt")}).code, 3);
}

TEST_F(LookVerbs, ScoreAgreesWithItsOwnPerplexity) {
    const Finished done = run({"score", model(), "--text", "the cat sat on the mat", "--dtype", "float32", "--threads",
                               "1", "--top", "3", "--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    const json score = done.json();
    const auto logProbs = score["logprobs"].get<std::vector<double>>();
    EXPECT_EQ(logProbs.size() + 1, score["ids"].size());
    double sum = 0.0;
    for (const double value : logProbs) {
        EXPECT_LE(value, 0.0);
        sum += value;
    }
    EXPECT_NEAR(score["perplexity"].get<double>(), std::exp(-sum / static_cast<double>(logProbs.size())), 1e-9);
    EXPECT_EQ(score["top"].size(), 3u);
    EXPECT_EQ(score["dtype"], "float32");
}

TEST_F(LookVerbs, IdsNeedNoTokenizerAndHaveNoPieces) {
    const Finished done = run({"score", bare(), "--ids", "5,6,7,8", "--dtype", "float32", "--threads", "1", "--json"});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_TRUE(done.json()["pieces"].is_null());
    EXPECT_EQ(done.json()["ids"], json({5, 6, 7, 8}));
    const json same =
        run({"score", model(), "--ids", "5,6,7,8", "--dtype", "float32", "--threads", "1", "--json"}).json();
    EXPECT_EQ(same["logprobs"], done.json()["logprobs"]);
    EXPECT_EQ(run({"score", bare(), "--text", "the cat"}).code, 3);
}

/// The golden models' files: families/NAME, families/NAME.bin.d and families/NAME.gguf.
TEST_F(LookVerbs, EveryFamilyIsInspectedScoredAndContinuedInEachFormat) {
    int seen = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(LPES_TEST_DATA) / "golden" / "families")) {
        const std::string model = entry.path().string();
        const Finished inspected = run({"inspect", model, "--json"});
        ASSERT_EQ(inspected.code, 0) << model << inspected.err;
        const json object = inspected.json();
        const std::string format = entry.path().extension() == ".gguf" ? "gguf"
                                   : entry.path().extension() == ".d"  ? "pytorch"
                                                                       : "safetensors";
        EXPECT_EQ(object["format"], format) << model;
        EXPECT_EQ(object["inv_freq"].size(), object["layers"].get<std::size_t>()) << model;
        EXPECT_FALSE(object["rope"]["meaning"].get<std::string>().empty()) << model;
        const std::vector<std::string> same{"--ids", "5,16,27,38,49", "--dtype", "float32", "--threads", "1", "--json"};
        const auto with = [&](std::vector<std::string> arguments) {
            arguments.insert(arguments.end(), same.begin(), same.end());
            return run(arguments);
        };
        const Finished scored = with({"score", model});
        ASSERT_EQ(scored.code, 0) << model << scored.err;
        const Finished continued = with({"generate", model, "--max-new-tokens", "3"});
        ASSERT_EQ(continued.code, 0) << model << continued.err;
        EXPECT_EQ(continued.json()["ids"].size(), 3u) << model;
        EXPECT_EQ(continued.json()["ids"][0], scored.json()["top"][0]["id"]) << model;
        EXPECT_TRUE(continued.json()["text"].is_null());
        ++seen;
    }
    EXPECT_GE(seen, 25);
    EXPECT_EQ(run({"generate", model(), "--ids", "5,6", "--prompt", "a"}).code, 2);
    EXPECT_EQ(run({"generate", model(), "--ids", "5,6", "--chat", "chatml"}).code, 2);
}

TEST_F(LookVerbs, BadIdsAreUsageErrors) {
    for (const char* ids : {"", "1,", "1,x", "1,-2", "1.5,2", "99999999999,1", "1,100000"}) {
        const Finished done = run({"score", model(), "--ids", ids});
        EXPECT_EQ(done.code, 2) << "'" << ids << "' " << done.err;
    }
    EXPECT_EQ(run({"score", model(), "--ids", "1,2", "--text", "a"}).code, 2);
    EXPECT_EQ(run({"score", model(), "--text", "a"}).code, 2);  // a single token has nothing to be scored
}

TEST_F(LookVerbs, AllOnesScoreTheSameBitsAsNoProfile) {
    const auto score = [&](const std::string& method) {
        return run({"score", model(), "--text", "the cat sat on the mat", "--method", method, "--threads", "1",
                    "--json"})
            .json();
    };
    EXPECT_EQ(score("baseline")["logprobs"], score("uniform:1")["logprobs"]);
    EXPECT_NE(score("baseline")["logprobs"], score("uniform:2")["logprobs"]);
    EXPECT_EQ(score("pi:2")["logprobs"], score("uniform:2")["logprobs"]);
}

TEST_F(LookVerbs, MethodsAndTypesThatAreNotThereAreRefusedByName) {
    EXPECT_EQ(run({"score", model(), "--text", "the cat", "--method", "yarn:4"}).code, 0);
    EXPECT_EQ(run({"score", model(), "--text", "the cat", "--method", "yarn:0.5"}).code, 2);
    EXPECT_EQ(run({"score", model(), "--text", "the cat", "--method", "ms-poe+pi:2"}).code, 4);
    EXPECT_EQ(run({"score", model(), "--text", "the cat", "--method", "yran:4"}).code, 2);
    EXPECT_EQ(run({"score", model(), "--text", "the cat", "--dtype", "float16"}).code, 4);
    EXPECT_EQ(run({"score", model(), "--text", "the cat", "--device", "cuda:0"}).code, 4);
    EXPECT_EQ(run({"score", model(), "--text", "the cat", "--method", "lpes:/nonexistent.json"}).code, 3);
    EXPECT_EQ(run({"inspect", model(), "--method", "baseline", "--profile", "x"}).code, 2);
}

TEST_F(LookVerbs, GenerateIsGreedyAndSampledBySeed) {
    const auto generate = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"generate", model(),     "--prompt", "the cat", "--max-new-tokens",
                                           "8",        "--threads", "1",        "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    };
    const Finished greedy = generate({});
    ASSERT_EQ(greedy.code, 0) << greedy.err;
    for (const char* key : {"text", "ids", "prompt_tokens", "new_tokens", "prefill_seconds", "decode_seconds"}) {
        EXPECT_TRUE(greedy.json().contains(key)) << key;
    }
    EXPECT_LE(greedy.json()["ids"].size(), 8u);
    EXPECT_EQ(generate({}).json()["ids"], greedy.json()["ids"]);
    const json first = generate({"--temperature", "3", "--seed", "5"}).json();
    EXPECT_EQ(generate({"--temperature", "3", "--seed", "5"}).json()["ids"], first["ids"]);
    EXPECT_NE(generate({"--temperature", "3", "--seed", "6"}).json()["ids"], first["ids"]);
}

TEST_F(LookVerbs, GenerateNeverCutsAPromptThatIsTooLong) {
    const Finished done =
        run({"generate", model(), "--prompt", std::string(600, 'a') + " b c d", "--max-new-tokens", "510"});
    EXPECT_EQ(done.code, 3);
    EXPECT_THAT(done.err, HasSubstr("512"));
    EXPECT_EQ(done.out, "");
}

TEST_F(LookVerbs, ChatPresetThatIsUnknownOrLacksItsTokensIsRefused) {
    const Finished unknown = run({"generate", model(), "--prompt", "a", "--chat", "llama3"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("llama-3"));
    const Finished missing = run({"generate", model(), "--prompt", "a", "--chat", "llama-3"});
    EXPECT_EQ(missing.code, 4);
    EXPECT_THAT(missing.err, HasSubstr("<|start_header_id|>"));
    EXPECT_EQ(run({"generate", model(), "--prompt", "a", "--chat", "chatml", "--max-new-tokens", "2"}).code, 0);
}

TEST_F(LookVerbs, CommaDecimalLocaleChangesNothing) {
    const std::vector<std::string> arguments{"inspect", model(), "--method", "uniform:1.5", "--json"};
    Start start;
    start.arguments = arguments;
    start.environment = {{"LC_ALL", "de_DE.UTF-8"}, {"LANG", "de_DE.UTF-8"}};
    const Finished german = run(start);
    EXPECT_EQ(german.code, 0) << german.err;
    // But for how much memory is free just then.
    const auto lasting = [](json object) {
        object.erase("fits");
        return object;
    };
    EXPECT_EQ(lasting(german.json()), lasting(run(arguments).json()));
    EXPECT_THAT(german.out, HasSubstr("\"layer_scales\":[1.5,1.5,1.5]"));
}

TEST_F(LookVerbs, ReaderThatIsGoneEndsTheProgramWithoutASignal) {
    Start start;
    start.arguments = {"inspect", model()};
    Program program(start);
    program.closeOutput();
    EXPECT_EQ(program.finish().code, 1);
}

TEST_F(LookVerbs, DamagedModelIsABadInput) {
    writeBytes(file("damaged.gguf"), readBytes(gguf()).substr(0, 2000));
    const Finished done = run({"inspect", file("damaged.gguf")});
    EXPECT_EQ(done.code, 3);
    EXPECT_THAT(done.err, HasSubstr("damaged.gguf"));
}

}  // namespace
}  // namespace lpes::test
