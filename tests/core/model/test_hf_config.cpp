#include "core/model/formats/hf_config.h"

#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

/// A small Llama config with a merge patch over it.
std::string config(const std::string& patch = "{}") {
    json base = {{"architectures", {"LlamaForCausalLM"}},
                 {"model_type", "llama"},
                 {"hidden_act", "silu"},
                 {"hidden_size", 64},
                 {"intermediate_size", 96},
                 {"max_position_embeddings", 512},
                 {"num_attention_heads", 4},
                 {"num_hidden_layers", 2},
                 {"num_key_value_heads", 2},
                 {"rms_norm_eps", 1e-5},
                 {"rope_theta", 10000.0},
                 {"vocab_size", 300}};
    base.merge_patch(json::parse(patch));
    return base.dump();
}

Result<ModelDraft> read(const std::string& patch) {
    return readHuggingFaceConfig(config(patch), "dir/config.json");
}

ModelDraft good(const std::string& patch) {
    auto draft = read(patch);
    if (!draft) throw std::runtime_error(draft.error().text());
    return *draft;
}

Error error(const std::string& patch) {
    const auto draft = read(patch);
    if (draft) {
        ADD_FAILURE() << "accepted: " << patch;
        return {};
    }
    return draft.error();
}

}  // namespace

TEST(HuggingFaceConfig, ReadsEveryField) {
    const ModelConfig read = good(R"({"rms_norm_eps": 2e-6, "rope_theta": 250000})").config;
    EXPECT_EQ(read.architecture, Architecture::Llama);
    EXPECT_EQ(read.numLayers, 2);
    EXPECT_EQ(read.hiddenSize, 64);
    EXPECT_EQ(read.numHeads, 4);
    EXPECT_EQ(read.numKvHeads, 2);
    EXPECT_EQ(read.headDim, 16);
    EXPECT_EQ(read.intermediateSize, 96);
    EXPECT_EQ(read.vocabSize, 300);
    EXPECT_EQ(read.contextLength, 512);
    EXPECT_EQ(read.rmsNormEps, 2e-6);
    EXPECT_EQ(read.rope.theta, 250000.0);
    EXPECT_EQ(read.rope.thetaOrigin, "config.json rope_theta");
    EXPECT_EQ(read.rope.headDim, 16);
    EXPECT_EQ(read.rope.originalBlock, "null");
    EXPECT_EQ(read.origins.at("head_dim"), "hidden_size / num_attention_heads");
}

TEST(HuggingFaceConfig, ReadsEverySpellingOfTheRotaryEmbedding) {
    struct Case {
        const char* patch;
        rope::RopeConfig::Type type;
        double theta, factor;
        const char* origin;
    };
    using enum rope::RopeConfig::Type;
    const Case cases[] = {
        {R"({"rope_scaling": null})", Default, 10000, 1, "config.json rope_theta"},
        {R"({"rope_scaling": {"type": "default"}})", Default, 10000, 1, "config.json rope_theta"},
        {R"({"rope_scaling": {"type": "linear", "factor": 2.5}})", Linear, 10000, 2.5, "config.json rope_theta"},
        {R"({"rope_scaling": {"rope_type": "linear", "factor": 4}})", Linear, 10000, 4, "config.json rope_theta"},
        {R"({"rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 4}})", Linear, 10000, 4,
         "config.json rope_theta"},
        {R"({"rope_theta": null, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})", Default, 5e5, 1,
         "config.json rope_parameters.rope_theta"},
        {R"({"rope_theta": null, "rope_parameters": {"rope_theta": 5e5}})", Default, 5e5, 1,
         "config.json rope_parameters.rope_theta"},
        {R"({"rope_theta": null, "rope_parameters": {"rope_theta": 5e5, "rope_type": "linear", "factor": 2}})", Linear,
         5e5, 2, "config.json rope_parameters.rope_theta"},
        {R"({"rope_parameters": {"rope_theta": 10000, "rope_type": "default"}})", Default, 10000, 1,
         "config.json rope_parameters.rope_theta"},
    };
    for (const Case& expected : cases) {
        const rope::RopeConfig read = good(expected.patch).config.rope;
        EXPECT_EQ(read.type, expected.type) << expected.patch;
        EXPECT_EQ(read.theta, expected.theta) << expected.patch;
        EXPECT_EQ(read.factor, expected.factor) << expected.patch;
        EXPECT_EQ(read.thetaOrigin, expected.origin) << expected.patch;
    }
    EXPECT_EQ(json::parse(good(cases[2].patch).config.rope.originalBlock),
              json::parse(R"({"type": "linear", "factor": 2.5})"));
}

TEST(HuggingFaceConfig, NeverAssumesTheBaseOfTheRotaryEmbedding) {
    EXPECT_REFUSED(error(R"({"rope_theta": null})"), ErrorCode::BadInput, HasSubstr("rope_theta"),
                   HasSubstr("config.json"));
    EXPECT_REFUSED(error(R"({"rope_theta": null, "rope_parameters": {"rope_type": "default"}})"), ErrorCode::BadInput,
                   HasSubstr("rope_theta"));
}

TEST(FieldReports, T11_UnknownOrHalfGivenScalingIsRefused) {
    for (const char* type : {"foo", "su", "mrope", "proportional", "Linear", ""}) {
        for (const char* spelling : {"type", "rope_type"}) {
            const json patch = {{"rope_scaling", {{spelling, type}, {"factor", 2.0}}}};
            EXPECT_REFUSED(error(patch.dump()), ErrorCode::Unsupported,
                           HasSubstr(std::string("rope_scaling.") + spelling),
                           HasSubstr("\"" + std::string(type) + "\""));
        }
    }
    for (const char* type : {"linear", "dynamic", "yarn", "llama3"}) {
        const json patch = {{"rope_scaling",
                             {{"type", type},
                              {"original_max_position_embeddings", 64},
                              {"low_freq_factor", 1},
                              {"high_freq_factor", 4}}}};
        json kept = patch;
        if (std::string(type) != "llama3") {
            kept["rope_scaling"].erase("low_freq_factor");
            kept["rope_scaling"].erase("high_freq_factor");
        }
        if (std::string(type) == "linear") kept["rope_scaling"].erase("original_max_position_embeddings");
        EXPECT_REFUSED(error(kept.dump()), ErrorCode::BadInput, HasSubstr("rope_scaling.factor"));
    }
    const json llama3 = {{"type", "llama3"},
                         {"factor", 8},
                         {"original_max_position_embeddings", 64},
                         {"low_freq_factor", 1},
                         {"high_freq_factor", 4}};
    for (const char* key : {"original_max_position_embeddings", "low_freq_factor", "high_freq_factor"}) {
        json half = llama3;
        half.erase(key);
        EXPECT_REFUSED(error(json{{"rope_scaling", half}}.dump()), ErrorCode::BadInput, HasSubstr(key));
    }
    json swapped = llama3;
    swapped["high_freq_factor"] = 0.5;
    EXPECT_REFUSED(error(json{{"rope_scaling", swapped}}.dump()), ErrorCode::BadInput, HasSubstr("high_freq_factor"));
    const std::vector<double> eight(8, 1.5), seven(7, 1.5);
    const json longrope = {{"type", "longrope"},
                           {"short_factor", eight},
                           {"long_factor", eight},
                           {"original_max_position_embeddings", 64}};
    for (const char* key : {"short_factor", "long_factor"}) {
        json half = longrope;
        half.erase(key);
        EXPECT_REFUSED(error(json{{"rope_scaling", half}}.dump()), ErrorCode::BadInput, HasSubstr(key));
        half[key] = seven;
        EXPECT_REFUSED(error(json{{"rope_scaling", half}}.dump()), ErrorCode::BadInput, HasSubstr(key), HasSubstr("8"));
        half[key] = eight;
        half[key][3] = 0.0;
        EXPECT_REFUSED(error(json{{"rope_scaling", half}}.dump()), ErrorCode::BadInput, HasSubstr(key));
    }
    EXPECT_REFUSED(error(R"({"rope_scaling": {"type": "linear", "factor": 2, "mystery": 3}})"), ErrorCode::Unsupported,
                   HasSubstr("rope_scaling.mystery"));
    EXPECT_REFUSED(error(R"({"rope_scaling": {"type": "linear", "factor": 2, "low_freq_factor": 1}})"),
                   ErrorCode::BadInput, HasSubstr("low_freq_factor"), HasSubstr("linear"));
    EXPECT_REFUSED(error(R"({"rope_scaling": {"factor": 2}})"), ErrorCode::BadInput,
                   HasSubstr("rope_scaling.rope_type"));
    for (const char* factor : {"0", "-1", "1000000000.0", "\"2\"", "true", "[2]"}) {
        EXPECT_REFUSED(error(std::string(R"({"rope_scaling": {"type": "linear", "factor": )") + factor + "}}"),
                       ErrorCode::BadInput, HasSubstr("rope_scaling.factor"), HasSubstr(factor));
    }
    EXPECT_REFUSED(error(R"({"rope_scaling": {"type": "default", "factor": 2}})"), ErrorCode::BadInput,
                   HasSubstr("factor"));
    EXPECT_REFUSED(error(R"({"rope_scaling": "linear"})"), ErrorCode::BadInput, HasSubstr("rope_scaling"));
    EXPECT_REFUSED(error(R"({"rope_parameters": {"full_attention": {"rope_theta": 1e4, "rope_type": "default"}}})"),
                   ErrorCode::Unsupported, HasSubstr("full_attention"), HasSubstr("per layer type"));
}

TEST(HuggingFaceConfig, RefusesContradictions) {
    EXPECT_REFUSED(error(R"({"rope_scaling": {"type": "linear", "rope_type": "default", "factor": 2}})"),
                   ErrorCode::BadInput, HasSubstr("linear"), HasSubstr("default"));
    EXPECT_REFUSED(error(R"({"rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})"), ErrorCode::BadInput,
                   HasSubstr("rope_theta"), HasSubstr("10000"), HasSubstr("500000"));
    EXPECT_REFUSED(
        error(R"({"rope_parameters": {"rope_theta": 1e4}, "rope_scaling": {"type": "linear", "factor": 2}})"),
        ErrorCode::BadInput, HasSubstr("rope_scaling"));
    EXPECT_REFUSED(error(R"({"model_type": "qwen2"})"), ErrorCode::BadInput, HasSubstr("model_type"),
                   HasSubstr("qwen2"));
    EXPECT_REFUSED(error(R"({"num_key_value_heads": 3})"), ErrorCode::BadInput, HasSubstr("num_key_value_heads"),
                   HasSubstr("3"));
    EXPECT_REFUSED(error(R"({"hidden_size": 66})"), ErrorCode::BadInput, HasSubstr("head_dim"), HasSubstr("66"));
}

TEST(HuggingFaceConfig, RefusesWhatItDoesNotKnowByName) {
    EXPECT_REFUSED(error(R"({"architectures": ["MambaForCausalLM"], "model_type": "mamba"})"), ErrorCode::Unsupported,
                   HasSubstr("MambaForCausalLM"), HasSubstr("config.json"));
    EXPECT_REFUSED(error(R"({"architectures": null, "model_type": "mamba2"})"), ErrorCode::Unsupported,
                   HasSubstr("mamba2"));
    EXPECT_REFUSED(error(R"({"hidden_act": "gelu"})"), ErrorCode::Unsupported, HasSubstr("hidden_act"),
                   HasSubstr("gelu"));
    EXPECT_REFUSED(error(R"({"quantization_config": {"quant_method": "awq", "bits": 4}})"), ErrorCode::Unsupported,
                   HasSubstr("quantization_config"), HasSubstr("awq"));
    EXPECT_REFUSED(error(R"({"use_sliding_window": true})"), ErrorCode::Unsupported, HasSubstr("use_sliding_window"));
    EXPECT_REFUSED(error(R"({"layer_types": ["full_attention", "sliding_attention"]})"), ErrorCode::Unsupported,
                   HasSubstr("sliding_attention"));
    EXPECT_REFUSED(error(R"({"partial_rotary_factor": 0.5})"), ErrorCode::Unsupported,
                   HasSubstr("partial_rotary_factor"));
    EXPECT_REFUSED(error(R"({"rope_scaling": {"type": "default", "partial_rotary_factor": 0.5}})"),
                   ErrorCode::Unsupported, HasSubstr("partial_rotary_factor"));
}

TEST(HuggingFaceConfig, ChecksTheRangeOfEveryNumber) {
    for (const char* field : {"num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads",
                              "intermediate_size", "vocab_size", "max_position_embeddings", "head_dim"}) {
        for (const char* value :
             {"0", "-1", "2147483648", "18446744073709551615", "1e30", "2.5", "\"4\"", "true", "[4]", "{\"a\":4}"}) {
            EXPECT_REFUSED(error(std::string("{\"") + field + "\": " + value + "}"), ErrorCode::BadInput,
                           HasSubstr(field), HasSubstr("config.json"));
        }
    }
    for (const char* field : {"rms_norm_eps", "rope_theta"}) {
        for (const char* value : {"0", "-1", "1e300", "\"4\"", "true"}) {
            EXPECT_REFUSED(error(std::string("{\"") + field + "\": " + value + "}"), ErrorCode::BadInput,
                           HasSubstr(field));
        }
    }
    for (const char* field : {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size",
                              "vocab_size", "max_position_embeddings", "rms_norm_eps"}) {
        EXPECT_REFUSED(error(std::string("{\"") + field + "\": null}"), ErrorCode::BadInput, HasSubstr(field),
                       HasSubstr("missing"));
    }
    EXPECT_REFUSED(error(R"({"head_dim": 15})"), ErrorCode::BadInput, HasSubstr("head_dim"), HasSubstr("15"));
    EXPECT_REFUSED(error(R"({"head_dim": 1048576})"), ErrorCode::BadInput, HasSubstr("head_dim"), HasSubstr("1048576"));
}

TEST(HuggingFaceConfig, TakesTheDefaultsThatTransformersHas) {
    const ModelDraft draft = good(R"({"num_key_value_heads": null, "hidden_act": null})");
    EXPECT_EQ(draft.config.numKvHeads, 4);
    EXPECT_EQ(draft.tied, false);
    EXPECT_FALSE(draft.qkvBias.has_value());
    const ModelDraft qwen = good(R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"})");
    EXPECT_EQ(qwen.qkvBias, true);
    EXPECT_FALSE(qwen.outputBias.has_value());
    // Qwen2Config would take 32 key/value heads, whatever the model is.
    EXPECT_REFUSED(
        error(R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "num_key_value_heads": null})"),
        ErrorCode::BadInput, HasSubstr("num_key_value_heads"));
}

TEST(HuggingFaceConfig, RefusesTextThatIsNotStrictJson) {
    for (const char* text :
         {"", "[]", "{", "{\"a\": NaN}", "{\"a\": 1, \"a\": 2}", "// c\n{}", "{\"a\": 1e999}", "{\"a\": \"\xc3\"}"}) {
        const auto read = readHuggingFaceConfig(text, "dir/config.json");
        ASSERT_FALSE(read) << text;
        EXPECT_REFUSED(read.error(), ErrorCode::BadInput, HasSubstr("dir/config.json"), HasSubstr("JSON"));
    }
    const std::string deep(100000, '[');
    EXPECT_FALSE(readHuggingFaceConfig("{\"a\":" + deep, "config.json"));
}
