#include "core/model/formats/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lpes::model {

using nlohmann::json;

namespace {

constexpr const char* kGemma3Vision = "Gemma3ForConditionalGeneration";

std::string onlySupported() {
    return "this architecture is not supported; supported are " + knownFamilies();
}

const Family* readFamily(JsonFields& fields, ModelConfig& config) {
    const auto modelType = fields.string("model_type");
    const json* architectures = fields.find("architectures");
    const Family* family = nullptr;
    if (architectures != nullptr) {
        if (!architectures->is_array() || architectures->size() != 1 || !(*architectures)[0].is_string()) {
            fields.refuse(ErrorCode::BadInput, "architectures", "a list of one name is needed");
            return nullptr;
        }
        family = familyByClass((*architectures)[0].get<std::string>());
        if (family == nullptr) fields.refuse(ErrorCode::Unsupported, "architectures", onlySupported());
        config.origins["architecture"] = "config.json architectures";
    }
    if (fields.error()) return nullptr;
    if (!modelType) {
        if (architectures == nullptr) fields.refuse(ErrorCode::BadInput, "model_type", onlySupported());
        return family;
    }
    const Family* named = familyByName(*modelType);
    if (named == nullptr) {
        fields.refuse(ErrorCode::Unsupported, "model_type", onlySupported());
    } else if (family != nullptr && named != family) {
        fields.refuse(ErrorCode::BadInput, "model_type",
                      fmt::format("but architectures is {}; correct the wrong one", shown(*architectures)));
    } else if (family == nullptr) {
        config.origins["architecture"] = "config.json model_type";
    }
    return named;
}

/// What would change the arithmetic and is not implemented.
void refuseWhatIsNotSupported(JsonFields& fields) {
    if (const json* quantised = fields.find("quantization_config")) {
        const bool named = quantised->is_object() && quantised->contains("quant_method");
        fields.refuseWith(
            ErrorCode::Unsupported,
            fmt::format("quantization_config (quant_method {}) is not supported; use the model's unquantised "
                        "weights, or a GGUF file",
                        named ? shown((*quantised)["quant_method"]) : "unknown"));
    }
    if (fields.flag("use_bidirectional_attention").value_or(false)) {
        fields.refuse(ErrorCode::Unsupported, "use_bidirectional_attention", "only causal attention is supported");
    }
}

void readActivation(JsonFields& fields, const Family& family, ModelConfig& config) {
    // Gemma's first files name another function under hidden_act, which transformers does not read.
    const std::string key = family.gemmaNorms && !fields.has("hidden_activation") ? ""
                            : family.gemmaNorms                                   ? "hidden_activation"
                                                                                  : "hidden_act";
    config.activation = family.activation;
    const auto name = key.empty() ? std::nullopt : fields.string(key);
    if (!name) {
        config.origins["activation"] = "absent: the family's own";
        return;
    }
    if (*name == "silu") {
        config.activation = Activation::Silu;
    } else if (*name == "gelu_pytorch_tanh") {
        config.activation = Activation::GeluTanh;
    } else {
        fields.refuse(ErrorCode::Unsupported, key, "this activation is not supported; silu and gelu_pytorch_tanh are");
    }
}

void readHeads(JsonFields& fields, const Family& family, ModelConfig& config) {
    config.numHeads = fields.integer("num_attention_heads", 1, kMaxWidth);
    if (fields.has("num_key_value_heads")) {
        config.numKvHeads = fields.integer("num_key_value_heads", 1, kMaxWidth);
        config.origins.try_emplace("num_kv_heads", "config.json num_key_value_heads");
    } else if (family.keyHeadsDefaultToHeads) {
        config.numKvHeads = config.numHeads;
        config.origins["num_kv_heads"] = "num_attention_heads (transformers' default)";
    } else {
        fields.refuse(ErrorCode::BadInput, "num_key_value_heads", "add the value that the model was made with");
    }
    if (fields.error()) return;
    if (config.numHeads % config.numKvHeads != 0) {
        return fields.refuse(ErrorCode::BadInput, "num_key_value_heads",
                             fmt::format("it must divide num_attention_heads {}", config.numHeads));
    }
    if (fields.has("head_dim")) {
        config.headDim = fields.integer("head_dim", 2, kMaxWidth);
        config.origins.try_emplace("head_dim", "config.json head_dim");
    } else if (config.hiddenSize % config.numHeads != 0) {
        return fields.refuse(ErrorCode::BadInput, "head_dim",
                             fmt::format("it is needed because num_attention_heads {} does not divide hidden_size {}",
                                         config.numHeads, config.hiddenSize));
    } else {
        config.headDim = config.hiddenSize / config.numHeads;
        config.origins["head_dim"] = "hidden_size / num_attention_heads";
    }
    if (fields.error()) return;
    if (config.headDim % 2 != 0) {
        return fields.refuseWith(ErrorCode::BadInput,
                                 fmt::format("head_dim is {} (from {}); the rotary embedding needs an even one",
                                             config.headDim, config.origins["head_dim"]));
    }
    if (std::int64_t{config.headDim} * config.numHeads > kMaxWidth) {
        fields.refuseWith(ErrorCode::BadInput,
                          fmt::format("num_attention_heads {} × head_dim {} is above the limit of {}", config.numHeads,
                                      config.headDim, kMaxWidth));
    }
}

/// Which layers slide, as the family has it where the file does not list them.
std::vector<bool> familySliding(JsonFields& fields, const Family& family, int layers) {
    const auto count = static_cast<std::size_t>(layers);
    switch (family.sliding) {
        case Family::Sliding::None:
            return {};
        case Family::Sliding::EveryLayer:
            return std::vector<bool>(count, true);
        case Family::Sliding::UpperLayers: {
            if (!fields.flag("use_sliding_window").value_or(false)) return {};
            const int first = fields.integer("max_window_layers", 0, kMaxLayers);
            std::vector<bool> sliding(count, false);
            for (int layer = first; layer < layers; ++layer) sliding[static_cast<std::size_t>(layer)] = true;
            return sliding;
        }
        case Family::Sliding::Alternating: {
            const int period = fields.has("sliding_window_pattern")
                                   ? fields.integer("sliding_window_pattern", 1, kMaxLayers)
                                   : family.slidingPeriod;
            std::vector<bool> sliding(count, true);
            for (int layer = period; layer > 0 && layer <= layers; layer += period) {
                sliding[static_cast<std::size_t>(layer) - 1] = false;
            }
            return sliding;
        }
    }
    return {};
}

void readSliding(JsonFields& fields, const Family& family, ModelConfig& config) {
    std::vector<bool> sliding = familySliding(fields, family, config.numLayers);
    const json* types = fields.find("layer_types");
    if (types != nullptr) {
        if (!types->is_array() || types->size() != static_cast<std::size_t>(config.numLayers)) {
            return fields.refuse(ErrorCode::BadInput, "layer_types",
                                 fmt::format("a list of {} kinds is needed, one per layer", config.numLayers));
        }
        std::vector<bool> listed;
        for (const json& type : *types) {
            if (type != "full_attention" && type != "sliding_attention") {
                return fields.refuseWith(ErrorCode::Unsupported,
                                         fmt::format("layer_types holds {}, which is not supported; full_attention and "
                                                     "sliding_attention are",
                                                     shown(type)));
            }
            listed.push_back(type == "sliding_attention");
        }
        const bool perLayer =
            family.sliding == Family::Sliding::UpperLayers || family.sliding == Family::Sliding::Alternating;
        const bool any = std::find(listed.begin(), listed.end(), true) != listed.end();
        if (perLayer) {
            sliding = std::move(listed);
            config.origins["sliding_layers"] = "config.json layer_types";
        } else if (any && listed != sliding) {
            return fields.refuseWith(
                ErrorCode::Unsupported,
                fmt::format("layer_types makes some layers sliding_attention, which {} has not; this is another "
                            "architecture",
                            family.name));
        }
    }
    if (family.sliding == Family::Sliding::None && fields.flag("use_sliding_window").value_or(false)) {
        return fields.refuse(ErrorCode::Unsupported, "use_sliding_window",
                             fmt::format("sliding-window attention is not part of {}", family.name));
    }
    const bool any = std::find(sliding.begin(), sliding.end(), true) != sliding.end();
    if (!any || !fields.has("sliding_window")) return;
    config.slidingWindow = fields.integer("sliding_window", 1, kMaxContext);
    config.slidingLayers = std::move(sliding);
    config.origins.try_emplace("sliding_window", "config.json sliding_window");
}

void readScalesAndCaps(JsonFields& fields, const Family& family, ModelConfig& config) {
    config.attentionScale = 1.0 / std::sqrt(static_cast<double>(config.headDim));
    if (!family.gemmaNorms) return;
    config.attentionScale = 1.0 / std::sqrt(fields.number("query_pre_attn_scalar", 1e-3, 1e9));
    config.embeddingScale = std::sqrt(static_cast<double>(config.hiddenSize));
    if (fields.has("attn_logit_softcapping") && family.capsAttention) {
        config.attentionSoftcap = fields.number("attn_logit_softcapping", 1e-3, 1e9);
    } else if (fields.has("attn_logit_softcapping")) {
        config.warnings.push_back(fmt::format(
            "attn_logit_softcapping is ignored, as transformers ignores it: {} has no cap on attention", family.name));
    }
    if (fields.has("final_logit_softcapping"))
        config.logitSoftcap = fields.number("final_logit_softcapping", 1e-3, 1e9);
}

void readBiases(JsonFields& fields, const Family& family, ModelDraft& draft) {
    ModelConfig& config = draft.config;
    switch (family.biases) {
        case Family::Biases::AsStored:
            draft.qkvBias = draft.outputBias = fields.flag("attention_bias");
            draft.mlpBias = fields.flag("mlp_bias");
            config.origins["qkv_bias"] = draft.qkvBias ? "config.json attention_bias" : "the tensors";
            config.origins["mlp_bias"] = draft.mlpBias ? "config.json mlp_bias" : "the tensors";
            return;
        case Family::Biases::QueryKeyValue:
            draft.qkvBias = true;
            config.origins["qkv_bias"] =
                fmt::format("{} always has it", family.name == "qwen2" ? "Qwen2" : family.name);
            return;
        case Family::Biases::AttentionFlag:
            draft.qkvBias = draft.outputBias = fields.flag("attention_bias").value_or(false);
            draft.mlpBias = false;
            config.origins["qkv_bias"] = fields.has("attention_bias") ? "config.json attention_bias" : "absent: none";
            return;
        case Family::Biases::None:
            draft.qkvBias = draft.outputBias = draft.mlpBias = false;
            config.origins["qkv_bias"] = fmt::format("{} has none", family.name);
            return;
    }
}

/// The text part of a model that also sees pictures: its configuration is an object inside, its tensors have a prefix.
Result<json> textPart(json whole, const std::filesystem::path& file, ModelDraft& draft) {
    const bool vision = whole.contains("architectures") && whole["architectures"] == json::array({kGemma3Vision});
    if (!vision) return whole;
    if (!whole.contains("text_config") || !whole["text_config"].is_object()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}': field 'text_config' is missing; fetch the file again", file.string()));
    }
    json text = whole["text_config"];
    text["architectures"] = {"Gemma3ForCausalLM"};
    for (const char* key : {"tie_word_embeddings", "quantization_config", "transformers_version"}) {
        if (!text.contains(key) && whole.contains(key)) text[key] = whole[key];
    }
    draft.prefixes = {"language_model.model.", "model.language_model."};
    draft.config.warnings.push_back("only the text part of this model is used; it sees no pictures");
    return text;
}

}  // namespace

Result<ModelDraft> readHuggingFaceConfig(std::string_view text, const std::filesystem::path& file) {
    auto parsed = parseJsonObject(text, file, "configuration");
    if (!parsed) return fail(parsed.error());
    ModelDraft draft;
    ModelConfig& config = draft.config;
    config.format = "safetensors";
    auto whole = textPart(std::move(*parsed), file, draft);
    if (!whole) return fail(whole.error());
    const Family* family = nullptr;
    {
        JsonFields named(*whole, file);
        family = readFamily(named, config);
        if (named.error()) return fail(*named.error());
    }
    config.architecture = family->architecture;
    const json defaults = json::parse(family->configDefaults);
    for (const auto& [key, value] : defaults.items()) {
        if (whole->contains(key)) continue;
        (*whole)[key] = value;
        config.origins[key == "num_key_value_heads" ? "num_kv_heads" : key] =
            fmt::format("absent: {}, transformers' default for {}", value.dump(), family->name);
    }

    JsonFields fields(*whole, file);
    refuseWhatIsNotSupported(fields);
    readActivation(fields, *family, config);
    if (fields.error()) return fail(*fields.error());
    config.numLayers = fields.integer("num_hidden_layers", 1, kMaxLayers);
    config.hiddenSize = fields.integer("hidden_size", 1, kMaxWidth);
    config.intermediateSize = fields.integer("intermediate_size", 1, kMaxInnerWidth);
    config.vocabSize = fields.integer("vocab_size", 1, kMaxVocabulary);
    config.contextLength = fields.integer("max_position_embeddings", 1, kMaxContext);
    config.rmsNormEps = fields.number("rms_norm_eps", kMinEps, kMaxEps);
    config.origins["context"] = "config.json max_position_embeddings";
    if (fields.error()) return fail(*fields.error());
    readHeads(fields, *family, config);
    if (fields.error()) return fail(*fields.error());
    config.queryKeyNorm = family->queryKeyNorm;
    config.postNorms = config.wideNorms = draft.normsLessOne = family->gemmaNorms;
    readSliding(fields, *family, config);
    readScalesAndCaps(fields, *family, config);
    if (fields.error()) return fail(*fields.error());
    readHuggingFaceRope(fields, file, *family, config);
    config.origins["theta"] = config.rope.thetaOrigin;

    const auto tied = fields.flag("tie_word_embeddings");
    draft.tied = tied.value_or(false);
    config.origins["tied_head"] =
        defaults.contains("tie_word_embeddings") && config.origins.contains("tie_word_embeddings")
            ? config.origins["tie_word_embeddings"]
        : tied ? "config.json tie_word_embeddings"
               : "absent: false, as LlamaConfig and Qwen2Config have it";
    config.origins.erase("tie_word_embeddings");
    readBiases(fields, *family, draft);
    if (fields.error()) return fail(*fields.error());
    return draft;
}

}  // namespace lpes::model
