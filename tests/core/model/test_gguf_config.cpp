#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::HasSubstr;

namespace {

class GgufMetadata : public testing::Test {
  protected:
    using Edit = std::function<void(GgufWriter&)>;

    std::filesystem::path written(const Edit& edit, const TinyModelSpec& spec = {}) {
        writeGguf(makeTinyModel(spec), folder / "m.gguf", {.edit = edit});
        return folder / "m.gguf";
    }
    void expectRefused(ErrorCode code, const std::string& key, const std::string& value, const Edit& edit) {
        EXPECT_REFUSED(refusal(written(edit)), code, HasSubstr("m.gguf"), HasSubstr(key), HasSubstr(value));
    }
    TemporaryFolder folder;
};

}  // namespace

TEST_F(GgufMetadata, GivesTheConfiguration) {
    const auto source = opened(
        written({}, {.numLayers = 3, .contextLength = 777, .rmsNormEps = 1e-6, .ropeTheta = 500000.0, .name = "Tiny"}));
    const ModelConfig& config = source->config();
    EXPECT_EQ(config.format, "gguf");
    EXPECT_EQ(config.name, "Tiny");
    EXPECT_EQ(config.numLayers, 3);
    EXPECT_EQ(config.hiddenSize, 64);
    EXPECT_EQ(config.numHeads, 4);
    EXPECT_EQ(config.numKvHeads, 2);
    EXPECT_EQ(config.headDim, 16);
    EXPECT_EQ(config.intermediateSize, 96);
    EXPECT_EQ(config.vocabSize, 300);
    EXPECT_EQ(config.contextLength, 777);
    EXPECT_FLOAT_EQ(static_cast<float>(config.rmsNormEps), 1e-6f);
    EXPECT_EQ(config.rope.theta, 500000.0);
    EXPECT_EQ(config.rope.thetaOrigin, "llama.rope.freq_base");
    EXPECT_EQ(config.rope.type, rope::RopeConfig::Type::Default);
    EXPECT_TRUE(config.tiedHead);
    EXPECT_EQ(config.origins.at("head_dim"), "embedding_length / attention.head_count");
    EXPECT_THAT(config.rope.originalBlock, HasSubstr("\"llama.rope.freq_base\":500000.0"));
    EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();
}

TEST_F(GgufMetadata, TextThatIsNotUtf8IsRefusedByName) {
    expectRefused(ErrorCode::BadInput, "general.name", "not UTF-8",
                  [](GgufWriter& w) { w.setString("general.name", "caf\xe9"); });
}

TEST_F(GgufMetadata, LinearScalingInEverySpelling) {
    const auto rope = [&](const Edit& edit) { return opened(written(edit))->config().rope; };
    const rope::RopeConfig modern = rope([](GgufWriter& w) {
        w.setString("llama.rope.scaling.type", "linear");
        w.setFloat32("llama.rope.scaling.factor", 4.0f);
    });
    EXPECT_EQ(modern.type, rope::RopeConfig::Type::Linear);
    EXPECT_EQ(modern.factor, 4.0);
    EXPECT_EQ(rope([](GgufWriter& w) { w.setFloat32("llama.rope.scale_linear", 2.0f); }).factor, 2.0);
    EXPECT_EQ(rope([](GgufWriter& w) { w.setFloat32("llama.rope.scaling.factor", 8.0f); }).type,
              rope::RopeConfig::Type::Linear);
    EXPECT_EQ(rope([](GgufWriter& w) { w.setString("llama.rope.scaling.type", "none"); }).type,
              rope::RopeConfig::Type::Default);
}

TEST_F(GgufMetadata, RefusesRotaryEmbeddingsThatItDoesNotKnow) {
    expectRefused(ErrorCode::Unsupported, "llama.rope.scaling.type", "'mystery'",
                  [](GgufWriter& w) { w.setString("llama.rope.scaling.type", "mystery"); });
    expectRefused(ErrorCode::Unsupported, "llama.rope.scaling.type", "rope_factors_short",
                  [](GgufWriter& w) { w.setString("llama.rope.scaling.type", "longrope"); });
    expectRefused(ErrorCode::BadInput, "llama.rope.scaling.original_context_length", "missing", [](GgufWriter& w) {
        w.setString("llama.rope.scaling.type", "yarn");
        w.setFloat32("llama.rope.scaling.factor", 4.0f);
    });
    expectRefused(ErrorCode::BadInput, "llama.rope.scaling.factor", "missing",
                  [](GgufWriter& w) { w.setString("llama.rope.scaling.type", "linear"); });
    expectRefused(ErrorCode::BadInput, "llama.rope.scaling.factor", "2", [](GgufWriter& w) {
        w.setString("llama.rope.scaling.type", "none");
        w.setFloat32("llama.rope.scaling.factor", 2.0f);
    });
    expectRefused(ErrorCode::BadInput, "llama.rope.freq_base", "missing",
                  [](GgufWriter& w) { w.values.erase("llama.rope.freq_base"); });
    for (const float theta :
         {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        expectRefused(ErrorCode::BadInput, "llama.rope.freq_base", "is needed",
                      [&](GgufWriter& w) { w.setFloat32("llama.rope.freq_base", theta); });
    }
    expectRefused(ErrorCode::Unsupported, "llama.rope.dimension_count", "8",
                  [](GgufWriter& w) { w.setUint32("llama.rope.dimension_count", 8); });
    expectRefused(ErrorCode::Unsupported, "llama.rope.mystery", "3",
                  [](GgufWriter& w) { w.setUint32("llama.rope.mystery", 3); });
    expectRefused(ErrorCode::BadInput, "rope_freqs.weight", "holds 0 at 0", [](GgufWriter& w) {
        w.tensors.push_back({"rope_freqs.weight", {8}, 0, std::string(32, '\0')});
    });
    expectRefused(ErrorCode::BadInput, "rope_freqs.weight", "8 F32 factors", [](GgufWriter& w) {
        w.tensors.push_back({"rope_freqs.weight", {16}, 0, std::string(64, '\0')});
    });
    expectRefused(ErrorCode::BadInput, "rope_factors_long.weight", "is missing", [](GgufWriter& w) {
        w.tensors.push_back({"rope_factors_short.weight", {8}, 0, std::string(32, '\0')});
    });
    expectRefused(ErrorCode::Unsupported, "llama.rope.scaling.attn_factor", "1.5",
                  [](GgufWriter& w) { w.setFloat32("llama.rope.scaling.attn_factor", 1.5f); });
}

TEST_F(GgufMetadata, RefusesWhatChangesTheArithmetic) {
    expectRefused(ErrorCode::Unsupported, "general.architecture", "'gemma'",
                  [](GgufWriter& w) { w.setString("general.architecture", "gemma"); });
    expectRefused(ErrorCode::BadInput, "general.architecture", "missing",
                  [](GgufWriter& w) { w.values.erase("general.architecture"); });
    expectRefused(ErrorCode::BadInput, "general.architecture", "7",
                  [](GgufWriter& w) { w.setUint32("general.architecture", 7); });
    expectRefused(ErrorCode::Unsupported, "general.type", "'adapter'",
                  [](GgufWriter& w) { w.setString("general.type", "adapter"); });
    expectRefused(ErrorCode::Unsupported, "llama.expert_count", "8",
                  [](GgufWriter& w) { w.setUint32("llama.expert_count", 8); });
    expectRefused(ErrorCode::Unsupported, "llama.attention.sliding_window", "4096",
                  [](GgufWriter& w) { w.setUint32("llama.attention.sliding_window", 4096); });
    expectRefused(ErrorCode::Unsupported, "llama.logit_scale", "0.5",
                  [](GgufWriter& w) { w.setFloat32("llama.logit_scale", 0.5f); });
    expectRefused(ErrorCode::Unsupported, "llama.attention.causal", "false",
                  [](GgufWriter& w) { w.setBool("llama.attention.causal", false); });
    expectRefused(ErrorCode::Unsupported, "llama.attention.head_count", "an array of 2 INT32", [](GgufWriter& w) {
        w.setInt32s("llama.attention.head_count", {4, 4});
    });
    EXPECT_TRUE(openWeights(written([](GgufWriter& w) { w.setUint32("llama.expert_count", 0); })));
}

TEST_F(GgufMetadata, ChecksTheRangeOfEveryNumber) {
    for (const std::string key :
         {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length", "llama.context_length",
          "llama.attention.head_count", "llama.attention.head_count_kv"}) {
        for (const std::uint32_t value : {0u, 0xffffffffu}) {
            expectRefused(ErrorCode::BadInput, key, std::to_string(value),
                          [&](GgufWriter& w) { w.setUint32(key, value); });
        }
        expectRefused(ErrorCode::BadInput, key, "4.5", [&](GgufWriter& w) { w.setFloat32(key, 4.5f); });
        if (key != "llama.attention.head_count_kv") {
            expectRefused(ErrorCode::BadInput, key, "missing", [&](GgufWriter& w) { w.values.erase(key); });
        }
    }
    expectRefused(ErrorCode::BadInput, "llama.attention.layer_norm_rms_epsilon", "missing",
                  [](GgufWriter& w) { w.values.erase("llama.attention.layer_norm_rms_epsilon"); });
    expectRefused(ErrorCode::BadInput, "llama.attention.head_count_kv", "3",
                  [](GgufWriter& w) { w.setUint32("llama.attention.head_count_kv", 3); });
    expectRefused(ErrorCode::BadInput, "llama.vocab_size", "301",
                  [](GgufWriter& w) { w.setUint32("llama.vocab_size", 301); });
    expectRefused(ErrorCode::BadInput, "tokenizer.ggml.tokens", "300 rows", [](GgufWriter& w) {
        w.setStrings("tokenizer.ggml.tokens", {"a", "b"});
    });
    expectRefused(ErrorCode::BadInput, "blk.2.attn_norm.weight", "missing",
                  [](GgufWriter& w) { w.setUint32("llama.block_count", 4096); });
    expectRefused(ErrorCode::BadInput, "token_embd.weight", "missing", [](GgufWriter& w) {
        std::erase_if(w.tensors, [](const auto& t) { return t.name == "token_embd.weight"; });
    });
}

TEST_F(GgufMetadata, WarnsOfKeysThatItDoesNotKnow) {
    const auto source = opened(written([](GgufWriter& w) { w.setUint32("llama.wobble", 3); }));
    EXPECT_THAT(source->config().warnings,
                testing::ElementsAre(testing::AllOf(HasSubstr("llama.wobble"), HasSubstr("3"))));
}

TEST_F(GgufMetadata, TakesTheHeadDimFromKeyLength) {
    const auto source = opened(written({}, {.headDim = 32}));
    EXPECT_EQ(source->config().headDim, 32);
    EXPECT_EQ(source->config().origins.at("head_dim"), "llama.attention.key_length");
    EXPECT_EQ(source->find("layer.0.q")->shape, (std::vector<std::int64_t>{128, 64}));
    expectRefused(ErrorCode::Unsupported, "llama.attention.value_length", "32",
                  [](GgufWriter& w) { w.setUint32("llama.attention.value_length", 32); });
}
