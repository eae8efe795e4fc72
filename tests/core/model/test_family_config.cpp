// What a config.json says of each family, in the spellings of both transformers generations.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>

#include "core/model/families.h"
#include "core/model/formats/gguf.h"
#include "core/model/formats/gguf_config.h"
#include "core/model/formats/hf_config.h"
#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

json base(const char* modelType) {
    return {{"model_type", modelType},       {"hidden_size", 64},      {"intermediate_size", 96},
            {"num_attention_heads", 4},      {"num_hidden_layers", 4}, {"num_key_value_heads", 2},
            {"rms_norm_eps", 1e-5},          {"rope_theta", 10000.0},  {"vocab_size", 300},
            {"max_position_embeddings", 512}};
}

ModelDraft draftOf(const json& config) {
    auto draft = readHuggingFaceConfig(config.dump(), "dir/config.json");
    if (!draft) throw std::runtime_error(draft.error().text());
    return *draft;
}

Error error(const json& config) {
    const auto draft = readHuggingFaceConfig(config.dump(), "dir/config.json");
    if (draft) {
        ADD_FAILURE() << "accepted: " << config.dump();
        return {};
    }
    return draft.error();
}

bool sameFrequencies(const rope::RopeConfig& a, const rope::RopeConfig& b) {
    return a.attentionFactor == b.attentionFactor && rope::inverseFrequencies(a, 1) == rope::inverseFrequencies(b, 1) &&
           rope::inverseFrequencies(a, 5000) == rope::inverseFrequencies(b, 5000);
}

}  // namespace

TEST(FamilyConfig, EveryFamilyIsFoundByEachOfItsNames) {
    for (const Family& family : families()) {
        EXPECT_EQ(familyByName(family.name), &family);
        for (const std::string_view name : family.classNames) EXPECT_EQ(familyByClass(name), &family);
        if (!family.ggufName.empty()) {
            EXPECT_EQ(familyByGgufName(family.ggufName), &family);
        }
        EXPECT_EQ(&familyOf(family.architecture), &family);
        EXPECT_TRUE(json::parse(family.configDefaults).is_object()) << family.name;
    }
    EXPECT_EQ(familyByGgufName(""), nullptr);
}

TEST(FamilyConfig, MistralSlidesInEveryLayerUnlessItsWindowIsNull) {
    json config = base("mistral");
    config["sliding_window"] = 32;
    ModelConfig read = draftOf(config).config;
    EXPECT_EQ(read.slidingWindow, 32);
    EXPECT_THAT(read.slidingLayers, ElementsAre(true, true, true, true));
    config["sliding_window"] = nullptr;
    EXPECT_EQ(draftOf(config).config.slidingWindow, 0);
    config.erase("sliding_window");
    read = draftOf(config).config;
    EXPECT_EQ(read.slidingWindow, 4096);
    EXPECT_THAT(read.origins.at("sliding_window"), HasSubstr("absent"));
    config["layer_types"] = {"full_attention", "sliding_attention", "full_attention", "full_attention"};
    EXPECT_REFUSED(error(config), ErrorCode::Unsupported, HasSubstr("layer_types"), HasSubstr("mistral"));
}

TEST(FamilyConfig, QwenSlidesFromMaxWindowLayersOnWhereItIsToldTo) {
    for (const char* name : {"qwen2", "qwen3"}) {
        json config = base(name);
        config["sliding_window"] = 16;
        config["max_window_layers"] = 2;
        EXPECT_EQ(draftOf(config).config.slidingWindow, 0) << name;
        config["use_sliding_window"] = true;
        EXPECT_THAT(draftOf(config).config.slidingLayers, ElementsAre(false, false, true, true)) << name;
        config["layer_types"] = {"sliding_attention", "full_attention", "full_attention", "full_attention"};
        EXPECT_THAT(draftOf(config).config.slidingLayers, ElementsAre(true, false, false, false)) << name;
        config["layer_types"] = {"full_attention"};
        EXPECT_REFUSED(error(config), ErrorCode::BadInput, HasSubstr("layer_types"), HasSubstr("4"));
        config["layer_types"] = {"full_attention", "chunked_attention", "full_attention", "full_attention"};
        EXPECT_REFUSED(error(config), ErrorCode::Unsupported, HasSubstr("chunked_attention"));
    }
    EXPECT_EQ(draftOf(base("qwen3")).config.headDim, 128);
    EXPECT_TRUE(draftOf(base("qwen3")).config.queryKeyNorm);
    EXPECT_EQ(draftOf(base("qwen3")).qkvBias, false);
    EXPECT_EQ(draftOf(base("qwen2")).qkvBias, true);
    EXPECT_FALSE(draftOf(base("qwen2")).outputBias.has_value());
}

TEST(FamilyConfig, Gemma2HasItsCapsScalesAndAlternatingWindows) {
    json config = base("gemma2");
    config["query_pre_attn_scalar"] = 16;
    config["head_dim"] = 32;
    ModelConfig read = draftOf(config).config;
    EXPECT_DOUBLE_EQ(read.attentionScale, 0.25);
    EXPECT_DOUBLE_EQ(read.embeddingScale, 8.0);
    EXPECT_EQ(read.attentionSoftcap, 50.0);
    EXPECT_EQ(read.logitSoftcap, 30.0);
    EXPECT_EQ(read.activation, Activation::GeluTanh);
    EXPECT_TRUE(read.postNorms && read.wideNorms);
    EXPECT_THAT(read.slidingLayers, ElementsAre(true, false, true, false));
    EXPECT_TRUE(draftOf(config).normsLessOne);
    EXPECT_EQ(draftOf(config).tied, true);
    config["attn_logit_softcapping"] = nullptr;
    EXPECT_EQ(draftOf(config).config.attentionSoftcap, 0.0);
    config["hidden_activation"] = "relu";
    EXPECT_REFUSED(error(config), ErrorCode::Unsupported, HasSubstr("hidden_activation"), HasSubstr("relu"));
    config["hidden_activation"] = "gelu_pytorch_tanh";
    config["use_bidirectional_attention"] = true;
    EXPECT_REFUSED(error(config), ErrorCode::Unsupported, HasSubstr("use_bidirectional_attention"));
}

TEST(FamilyConfig, Gemma3HasARotaryEmbeddingPerKindOfLayerInBothSpellings) {
    json old = base("gemma3_text");
    old["sliding_window_pattern"] = 2;
    old["rope_theta"] = 1e6;
    old["rope_local_base_freq"] = 1e4;
    old["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8.0}};
    json fresh = base("gemma3_text");
    fresh.erase("rope_theta");
    fresh["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
    fresh["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
                                {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}};
    const ModelConfig a = draftOf(old).config, b = draftOf(fresh).config;
    for (const ModelConfig* config : {&a, &b}) {
        EXPECT_EQ(config->rope.factor, 8.0);
        EXPECT_EQ(config->slidingRope->theta, 1e4);
        EXPECT_EQ(config->ropeOf(0).theta, 1e4);
        EXPECT_EQ(config->ropeOf(1).theta, 1e6);
        EXPECT_EQ(config->contextLength, 512) << "a linear factor is part of the context here";
        EXPECT_TRUE(config->warnings.empty());
    }
    EXPECT_TRUE(sameFrequencies(a.rope, b.rope));
    EXPECT_TRUE(sameFrequencies(*a.slidingRope, *b.slidingRope));
    EXPECT_EQ(a.slidingLayers, b.slidingLayers);

    fresh["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1e6}};
    EXPECT_REFUSED(error(fresh), ErrorCode::BadInput, HasSubstr("full_attention"));
}

TEST(FamilyConfig, Gemma3WithEyesIsReadAsItsTextPart) {
    const json whole = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                        {"model_type", "gemma3"},
                        {"text_config",
                         {{"model_type", "gemma3_text"},
                          {"hidden_size", 64},
                          {"intermediate_size", 96},
                          {"num_hidden_layers", 6},
                          {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                          {"sliding_window", 1024}}},
                        {"vision_config", {{"hidden_size", 1152}}}};
    const ModelDraft draft = draftOf(whole);
    EXPECT_EQ(draft.config.architecture, Architecture::Gemma3);
    EXPECT_EQ(draft.config.vocabSize, 262208);
    EXPECT_EQ(draft.config.headDim, 256);
    EXPECT_EQ(draft.config.rope.theta, 1e6);
    EXPECT_THAT(draft.config.rope.thetaOrigin, HasSubstr("assumed"));
    EXPECT_THAT(draft.config.warnings, testing::Contains(HasSubstr("text part")));
    EXPECT_THAT(draft.config.warnings, testing::Contains(HasSubstr("rope_theta")));
    EXPECT_THAT(draft.config.slidingLayers, ElementsAre(true, true, true, true, true, false));
}

TEST(FamilyConfig, Phi3RotatesAPartAndReadsItsOwnNamesForLongRope) {
    json config = base("phi3");
    config["partial_rotary_factor"] = 0.5;
    config["original_max_position_embeddings"] = 128;
    config["num_key_value_heads"] = nullptr;
    const std::vector<double> shorts{1.0, 1.1, 1.2, 1.3}, longs{2, 3, 4, 5};
    for (const char* type : {"longrope", "su", "yarn"}) {
        config["rope_scaling"] = {{"type", type}, {"short_factor", shorts}, {"long_factor", longs}};
        const ModelConfig read = draftOf(config).config;
        EXPECT_EQ(read.rope.type, rope::RopeConfig::Type::LongRope) << type;
        EXPECT_EQ(read.rope.rotated(), 8);
        EXPECT_EQ(read.rope.originalContext, 128);
        EXPECT_EQ(read.numKvHeads, 4);
        EXPECT_DOUBLE_EQ(read.rope.attentionFactor, std::sqrt(1.0 + std::log(4.0) / std::log(128.0)));
        EXPECT_EQ(read.contextLength, 512);
        EXPECT_EQ(rope::lengthVariant(read.rope, 128), 0);
        EXPECT_EQ(rope::lengthVariant(read.rope, 129), 1);
        EXPECT_DOUBLE_EQ(rope::inverseFrequencies(read.rope, 128)[0], 1.0);
        EXPECT_DOUBLE_EQ(rope::inverseFrequencies(read.rope, 129)[0], 0.5);
    }
    config["partial_rotary_factor"] = 0.45;
    EXPECT_REFUSED(error(config), ErrorCode::BadInput, HasSubstr("partial_rotary_factor"));
}

TEST(FamilyConfig, ScalingMeansTheSameInTheOldAndTheNewSpelling) {
    const json scalings[] = {{{"factor", 4.0}, {"original_max_position_embeddings", 128}},
                             {{"factor", 8.0},
                              {"original_max_position_embeddings", 64},
                              {"low_freq_factor", 1.0},
                              {"high_freq_factor", 4.0}},
                             {{"factor", 2.0}}};
    const char* types[] = {"yarn", "llama3", "dynamic"};
    for (std::size_t i = 0; i < 3; ++i) {
        json old = base("llama"), fresh = base("llama");
        old["rope_scaling"] = scalings[i];
        old["rope_scaling"]["type"] = types[i];
        fresh.erase("rope_theta");
        fresh["rope_parameters"] = scalings[i];
        fresh["rope_parameters"]["rope_type"] = types[i];
        fresh["rope_parameters"]["rope_theta"] = 10000.0;
        const ModelConfig a = draftOf(old).config, b = draftOf(fresh).config;
        EXPECT_EQ(rope::ropeTypeName(a.rope.type), types[i]);
        EXPECT_TRUE(sameFrequencies(a.rope, b.rope)) << types[i];
        EXPECT_FALSE(sameFrequencies(a.rope, draftOf(base("llama")).config.rope)) << types[i];
    }
}

TEST(FamilyConfig, ScalingExtendsTheContextWhereTheFileNamesTheOriginalOne) {
    json config = base("llama");
    config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 512}};
    EXPECT_EQ(draftOf(config).config.contextLength, 2048);
    EXPECT_THAT(draftOf(config).config.origins.at("context"), HasSubstr("factor"));
    config["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
    EXPECT_EQ(draftOf(config).config.contextLength, 2048);
    config["rope_scaling"] = {{"type", "llama3"},
                              {"factor", 8.0},
                              {"original_max_position_embeddings", 64},
                              {"low_freq_factor", 1.0},
                              {"high_freq_factor", 4.0}};
    EXPECT_EQ(draftOf(config).config.contextLength, 512);
}

TEST(FamilyConfig, ABaseIsAssumedOnlyWhereNoOtherWasPossibleAndItIsSaid) {
    json config = base("llama");
    config.erase("rope_theta");
    for (const char* version : {"4.28.1", "4.31.0", "4.32.0.dev0"}) {
        config["transformers_version"] = version;
        const ModelConfig read = draftOf(config).config;
        EXPECT_EQ(read.rope.theta, 10000.0);
        EXPECT_THAT(read.rope.thetaOrigin, HasSubstr("assumed"));
        EXPECT_THAT(read.warnings, ElementsAre(HasSubstr(version)));
    }
    for (const char* version : {"4.33.0", "4.40.1", "5.0.0", "", "4", "x.y"}) {
        config["transformers_version"] = version;
        EXPECT_REFUSED(error(config), ErrorCode::BadInput, HasSubstr("rope_theta"));
    }
    config["transformers_version"] = "4.31.0";
    config["model_type"] = "qwen2";
    EXPECT_REFUSED(error(config), ErrorCode::BadInput, HasSubstr("rope_theta"));
}

TEST(FamilyConfig, YarnWithoutItsOriginalContextTakesTransformersAndSaysSo) {
    json config = base("llama");
    config["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}};
    const ModelConfig read = draftOf(config).config;
    EXPECT_EQ(read.rope.originalContext, 512);
    EXPECT_EQ(read.contextLength, 2048);
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("assumed to be max_position_embeddings 512")));
    config["rope_scaling"]["original_max_position_embeddings"] = 256;
    EXPECT_TRUE(draftOf(config).config.warnings.empty());
}

TEST(FamilyConfig, Gemma3HasNoCapOnAttentionWhateverItsFileSays) {
    json config = base("gemma3_text");
    config["attn_logit_softcapping"] = 5.0;
    config["final_logit_softcapping"] = 7.0;
    config["rope_local_base_freq"] = 1e4;
    const ModelConfig read = draftOf(config).config;
    EXPECT_EQ(read.attentionSoftcap, 0.0);
    EXPECT_EQ(read.logitSoftcap, 7.0);
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("attn_logit_softcapping is ignored")));
}

namespace {

/// A golden GGUF file, its metadata to be edited.
struct Golden {
    explicit Golden(const char* name)
        : path(std::filesystem::path(LPES_TEST_DATA) / "golden" / "families" / name), bytes(readBytes(path)) {
        file = readGguf(std::as_bytes(std::span(bytes)), path).value();
    }
    std::filesystem::path path;
    std::string bytes;
    GgufFile file;
};

}  // namespace

TEST(FamilyGguf, Gemma2HasItsCapsAndWindowWhereTheFileLeavesThemOut) {
    Golden golden("gemma2.gguf");
    EXPECT_EQ(readGgufConfig(golden.file, golden.path)->config.attentionSoftcap, 5.0);
    for (const char* key :
         {"gemma2.attn_logit_softcapping", "gemma2.final_logit_softcapping", "gemma2.attention.sliding_window"}) {
        ASSERT_EQ(golden.file.values.erase(key), 1u) << key;
    }
    const auto draft = readGgufConfig(golden.file, golden.path);
    ASSERT_TRUE(draft.has_value()) << draft.error().text();
    EXPECT_EQ(draft->config.attentionSoftcap, 50.0);
    EXPECT_EQ(draft->config.logitSoftcap, 30.0);
    EXPECT_EQ(draft->config.slidingWindow, 4096);
    EXPECT_THAT(draft->config.slidingLayers, ElementsAre(true, false, true));
    EXPECT_THAT(draft->config.origins.at("sliding_window"), HasSubstr("absent"));
    EXPECT_THAT(draft->config.warnings, ElementsAre(HasSubstr("assumed to be 10000")));
}

TEST(FamilyGguf, ScalingBesideFactorsPerFrequencyIsRefused) {
    for (const char* name : {"llama31.gguf", "phi3_longrope.gguf"}) {
        Golden golden(name), linear("llama_yarn.gguf");
        const std::string arch = name[0] == 'l' ? "llama" : "phi3";
        ASSERT_TRUE(readGgufConfig(golden.file, golden.path).has_value());
        golden.file.values[arch + ".rope.scaling.factor"] = linear.file.values.at("llama.rope.scaling.factor");
        auto draft = readGgufConfig(golden.file, golden.path);
        ASSERT_FALSE(draft.has_value());
        EXPECT_REFUSED(draft.error(), ErrorCode::Unsupported, HasSubstr(".rope.scaling.factor"));
        golden.file.values[arch + ".rope.scaling.type"] = linear.file.values.at("llama.rope.scaling.type");
        draft = readGgufConfig(golden.file, golden.path);
        ASSERT_FALSE(draft.has_value());
        EXPECT_REFUSED(draft.error(), ErrorCode::Unsupported, HasSubstr("'yarn'"));
    }
}

TEST(FamilyGguf, AWindowOfQwenWithoutItsLayersIsRefused) {
    Golden golden("qwen3.gguf"), window("phi3.gguf");
    golden.file.values["qwen3.attention.sliding_window"] = window.file.values.at("phi3.attention.sliding_window");
    const auto draft = readGgufConfig(golden.file, golden.path);
    ASSERT_FALSE(draft.has_value());
    EXPECT_REFUSED(draft.error(), ErrorCode::Unsupported, HasSubstr("qwen3.attention.sliding_window"));
}

TEST(RopeFrequencies, AreThoseOfTransformersForEveryTypeAndLength) {
    const json golden =
        json::parse(std::ifstream(std::filesystem::path(LPES_TEST_DATA) / "golden" / "rope_frequencies.json"));
    for (const auto& [name, one] : golden.at("cases").items()) {
        json config = base(one.at("model_type").get<std::string>().c_str());
        config.erase("rope_theta");
        config.merge_patch(one.at("config"));
        config["num_key_value_heads"] = 4;
        config["rope_parameters"] = one.at("rope_parameters");
        const rope::RopeConfig rope = draftOf(config).config.rope;
        EXPECT_NEAR(rope.attentionFactor, one.at("attention_factor").get<double>(), 1e-12) << name;
        for (const auto& [length, expected] : one.at("inv_freq").items()) {
            const auto ours = rope::inverseFrequencies(rope, std::stoi(length));
            ASSERT_EQ(ours.size(), expected.size()) << name;
            // transformers has them in float32.
            for (std::size_t i = 0; i < ours.size(); ++i) {
                ASSERT_NEAR(ours[i], expected[i].get<double>(), 3e-6 * ours[i])
                    << name << " at " << length << ", " << i;
            }
        }
    }
}
