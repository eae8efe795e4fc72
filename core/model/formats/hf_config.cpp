#include "core/model/formats/hf_config.h"

#include <fmt/format.h>

namespace lpes::model {

using nlohmann::json;

namespace {

constexpr const char* kKnownArchitectures = "supported are LlamaForCausalLM (llama) and Qwen2ForCausalLM (qwen2)";

void readArchitecture(JsonFields& fields, ModelConfig& config) {
    const auto modelType = fields.string("model_type");
    const json* architectures = fields.find("architectures");
    if (architectures != nullptr) {
        if (!architectures->is_array() || architectures->size() != 1 || !(*architectures)[0].is_string()) {
            return fields.refuse(ErrorCode::BadInput, "architectures", "a list of one name is needed");
        }
        const std::string name = (*architectures)[0].get<std::string>();
        if (name != "LlamaForCausalLM" && name != "Qwen2ForCausalLM") {
            return fields.refuse(ErrorCode::Unsupported, "architectures",
                                 fmt::format("this architecture is not supported; {}", kKnownArchitectures));
        }
        config.architecture = name == "LlamaForCausalLM" ? Architecture::Llama : Architecture::Qwen2;
        config.origins["architecture"] = "config.json architectures";
    }
    if (!modelType) {
        if (architectures == nullptr) fields.refuse(ErrorCode::BadInput, "model_type", kKnownArchitectures);
        return;
    }
    if (*modelType != "llama" && *modelType != "qwen2") {
        return fields.refuse(ErrorCode::Unsupported, "model_type",
                             fmt::format("this architecture is not supported; {}", kKnownArchitectures));
    }
    if (architectures != nullptr && *modelType != architectureName(config.architecture)) {
        return fields.refuse(ErrorCode::BadInput, "model_type",
                             fmt::format("but architectures is {}; correct the wrong one", shown(*architectures)));
    }
    if (architectures == nullptr) {
        config.architecture = *modelType == "llama" ? Architecture::Llama : Architecture::Qwen2;
        config.origins["architecture"] = "config.json model_type";
    }
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
    if (const auto activation = fields.string("hidden_act"); activation && *activation != "silu") {
        fields.refuse(ErrorCode::Unsupported, "hidden_act", "this activation is not supported; only silu is");
    }
    if (fields.flag("use_sliding_window").value_or(false)) {
        fields.refuse(ErrorCode::Unsupported, "use_sliding_window", "sliding-window attention is not supported");
    }
    if (const json* types = fields.find("layer_types"); types != nullptr && types->is_array()) {
        for (const json& type : *types) {
            if (type != "full_attention") {
                fields.refuseWith(
                    ErrorCode::Unsupported,
                    fmt::format("layer_types holds {}, which is not supported; only full_attention is", shown(type)));
                break;
            }
        }
    }
}

void readHeads(JsonFields& fields, ModelConfig& config) {
    config.numHeads = fields.integer("num_attention_heads", 1, kMaxWidth);
    if (fields.has("num_key_value_heads")) {
        config.numKvHeads = fields.integer("num_key_value_heads", 1, kMaxWidth);
        config.origins["num_kv_heads"] = "config.json num_key_value_heads";
    } else if (config.architecture == Architecture::Llama) {
        config.numKvHeads = config.numHeads;
        config.origins["num_kv_heads"] = "num_attention_heads (LlamaConfig's default)";
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
        config.origins["head_dim"] = "config.json head_dim";
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

}  // namespace

Result<ModelDraft> readHuggingFaceConfig(std::string_view text, const std::filesystem::path& file) {
    const auto parsed = parseJsonObject(text, file, "configuration");
    if (!parsed) return fail(parsed.error());
    JsonFields fields(*parsed, file);
    ModelDraft draft;
    ModelConfig& config = draft.config;
    config.format = "safetensors";

    readArchitecture(fields, config);
    refuseWhatIsNotSupported(fields);
    if (fields.error()) return fail(*fields.error());

    config.numLayers = fields.integer("num_hidden_layers", 1, kMaxLayers);
    config.hiddenSize = fields.integer("hidden_size", 1, kMaxWidth);
    config.intermediateSize = fields.integer("intermediate_size", 1, kMaxInnerWidth);
    config.vocabSize = fields.integer("vocab_size", 1, kMaxVocabulary);
    config.contextLength = fields.integer("max_position_embeddings", 1, kMaxContext);
    config.rmsNormEps = fields.number("rms_norm_eps", kMinEps, kMaxEps);
    config.origins["context"] = "config.json max_position_embeddings";
    if (fields.error()) return fail(*fields.error());
    readHeads(fields, config);
    if (fields.error()) return fail(*fields.error());
    config.rope = readHuggingFaceRope(fields, file, config.headDim);
    config.origins["theta"] = config.rope.thetaOrigin;

    const auto tied = fields.flag("tie_word_embeddings");
    draft.tied = tied.value_or(false);
    config.origins["tied_head"] =
        tied ? "config.json tie_word_embeddings" : "absent: false, as LlamaConfig and Qwen2Config have it";
    if (config.architecture == Architecture::Qwen2) {
        draft.qkvBias = true;
        config.origins["qkv_bias"] = "Qwen2 always has it";
    } else {
        draft.qkvBias = draft.outputBias = fields.flag("attention_bias");
        draft.mlpBias = fields.flag("mlp_bias");
        config.origins["qkv_bias"] = draft.qkvBias ? "config.json attention_bias" : "the tensors";
        config.origins["mlp_bias"] = draft.mlpBias ? "config.json mlp_bias" : "the tensors";
    }
    if (fields.error()) return fail(*fields.error());
    return draft;
}

}  // namespace lpes::model
