#include "core/model/formats/gguf_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/model/formats/gguf_fields.h"

namespace lpes::model {

namespace {

/// Keys that change the arithmetic in ways that are not implemented, with the value at which they do nothing.
struct Neutral {
    const char* key;
    double value;
};
constexpr Neutral kNeutral[] = {
    {".expert_count", 0},
    {".expert_used_count", 0},
    {".attention.sliding_window", 0},
    {".attention.clamp_kqv", 0},
    {".attn_logit_softcapping", 0},
    {".final_logit_softcapping", 0},
    {".pooling_type", 0},
    {".nextn_predict_layers", 0},
    {".attention.causal", 1},
    {".use_parallel_residual", 0},
    {".logit_scale", 1},
    {".residual_scale", 1},
    {".embedding_scale", 1},
    {".attention.scale", 0},
    {".attention.temperature_scale", 0},
    {".rope.scaling.attn_factor", 1},
    {".rope.scaling.yarn_log_multiplier", 0},
};

/// Keys that are read here, or that change nothing for these architectures.
const std::set<std::string> kKnown = {".block_count",
                                      ".context_length",
                                      ".embedding_length",
                                      ".feed_forward_length",
                                      ".vocab_size",
                                      ".attention.head_count",
                                      ".attention.head_count_kv",
                                      ".attention.key_length",
                                      ".attention.value_length",
                                      ".attention.layer_norm_rms_epsilon",
                                      ".rope.freq_base",
                                      ".rope.dimension_count",
                                      ".rope.scaling.type",
                                      ".rope.scaling.factor",
                                      ".rope.scale_linear",
                                      ".rope.scaling.original_context_length",
                                      ".rope.scaling.finetuned",
                                      ".tensor_data_layout"};

void refuseWhatIsNotSupported(GgufFields& fields, const GgufFile& gguf, const std::string& arch,
                              std::vector<std::string>& warnings) {
    if (const auto type = fields.string("general.type"); type && *type != "model") {
        fields.refuse(ErrorCode::Unsupported, "general.type", "only a whole model can be opened");
    }
    for (const StoredTensor& tensor : gguf.tensors) {
        if (tensor.name.find("rope_freqs") != std::string::npos ||
            tensor.name.find("rope_factors") != std::string::npos) {
            fields.refuseWith(
                ErrorCode::Unsupported,
                fmt::format("tensor '{}' scales the rotary embedding's frequencies one by one (llama3 or longrope), "
                            "which is not supported; only rope types none and linear are",
                            tensor.name));
        }
    }
    std::set<std::string> neutralKeys;
    for (const Neutral& neutral : kNeutral) {
        neutralKeys.insert(neutral.key);
        const GgufValue* value = fields.find(arch + neutral.key);
        if (value == nullptr) continue;
        double number = value->number().value_or(neutral.value + 1);
        if (const auto whole = value->integer()) number = static_cast<double>(*whole);
        if (const auto flag = value->boolean()) number = *flag ? 1 : 0;
        if (number != neutral.value) fields.refuse(ErrorCode::Unsupported, arch + neutral.key, "this is not supported");
    }
    for (const auto& [key, value] : gguf.values) {
        if (key.rfind(arch + ".", 0) != 0) continue;
        const std::string rest = key.substr(arch.size());
        if (kKnown.count(rest) != 0 || neutralKeys.count(rest) != 0) continue;
        if (rest.rfind(".rope.", 0) == 0) {
            // Ignoring a rotary setting gives wrong results that only long prompts show.
            fields.refuse(ErrorCode::Unsupported, key, "this rotary setting is not supported");
        } else {
            warnings.push_back(
                fmt::format("key '{}' = {} is not known and was ignored", key.substr(0, 100), value.shown()));
        }
    }
}

void readHeads(GgufFields& fields, const std::string& arch, ModelConfig& config) {
    config.numHeads = fields.integer(arch + ".attention.head_count", 1, kMaxWidth);
    if (fields.has(arch + ".attention.head_count_kv")) {
        config.numKvHeads = fields.integer(arch + ".attention.head_count_kv", 1, kMaxWidth);
        config.origins["num_kv_heads"] = arch + ".attention.head_count_kv";
    } else {
        config.numKvHeads = config.numHeads;
        config.origins["num_kv_heads"] = "attention.head_count (the format's default)";
    }
    if (fields.error()) return;
    if (config.numHeads % config.numKvHeads != 0) {
        return fields.refuse(ErrorCode::BadInput, arch + ".attention.head_count_kv",
                             fmt::format("it must divide attention.head_count {}", config.numHeads));
    }
    const std::string keyLength = arch + ".attention.key_length";
    if (fields.has(keyLength)) {
        config.headDim = fields.integer(keyLength, 2, kMaxWidth);
        config.origins["head_dim"] = keyLength;
    } else if (config.hiddenSize % config.numHeads != 0) {
        return fields.refuse(
            ErrorCode::BadInput, keyLength,
            fmt::format("it is needed because attention.head_count {} does not divide embedding_length {}",
                        config.numHeads, config.hiddenSize));
    } else {
        config.headDim = config.hiddenSize / config.numHeads;
        config.origins["head_dim"] = "embedding_length / attention.head_count";
    }
    const auto mustBeHeadDim = [&](const std::string& key) {
        if (fields.has(key) && !fields.error() && fields.integer(key, 0, kMaxWidth) != config.headDim) {
            fields.refuse(
                ErrorCode::Unsupported, key,
                fmt::format("only the head dim {} ({}) is supported", config.headDim, config.origins["head_dim"]));
        }
    };
    mustBeHeadDim(arch + ".attention.value_length");
    mustBeHeadDim(arch + ".rope.dimension_count");
    if (fields.error()) return;
    if (config.headDim % 2 != 0 || std::int64_t{config.headDim} * config.numHeads > kMaxWidth) {
        fields.refuseWith(ErrorCode::BadInput,
                          fmt::format("head dim is {} ({}); an even one is needed, and at most {} for all {} heads",
                                      config.headDim, config.origins["head_dim"], kMaxWidth, config.numHeads));
    }
}

void readRope(GgufFields& fields, const GgufFile& gguf, const std::string& arch, ModelConfig& config) {
    rope::RopeConfig& rope = config.rope;
    rope.headDim = config.headDim;
    const std::string base = arch + ".rope.freq_base";
    if (!fields.has(base)) {
        fields.refuse(
            ErrorCode::BadInput, base,
            "the base of the rotary embedding is never assumed; write the value that the model was trained with into "
            "the file (gguf-set-metadata, or convert again)");
    }
    rope.theta = fields.number(base, kMinTheta, kMaxTheta);
    rope.thetaOrigin = base;
    config.origins["theta"] = base;

    const std::string typeKey = arch + ".rope.scaling.type";
    const std::string oldFactorKey = arch + ".rope.scale_linear";
    std::string factorKey = arch + ".rope.scaling.factor";
    if (!fields.has(factorKey) && fields.has(oldFactorKey)) factorKey = oldFactorKey;
    const auto type = fields.string(typeKey);
    if (type && *type != "none" && *type != "linear") {
        fields.refuse(ErrorCode::Unsupported, typeKey, "this rope type is not supported; known are none and linear");
    } else if (type == "linear" || (!type && fields.has(factorKey))) {
        rope.type = rope::RopeConfig::Type::Linear;  // without a type llama.cpp takes a factor as linear
        rope.factor = fields.number(factorKey, kMinRopeFactor, kMaxRopeFactor);
    } else if (fields.has(factorKey) && fields.number(factorKey, kMinRopeFactor, kMaxRopeFactor) != 1.0) {
        fields.refuse(ErrorCode::BadInput, factorKey, "but rope.scaling.type is none; correct the wrong one");
    }

    nlohmann::json block = nlohmann::json::object();
    for (const auto& [key, value] : gguf.values) {
        if (key.rfind(arch + ".rope.", 0) != 0) continue;
        if (const auto number = value.number()) {
            block[key] = *number;
        } else if (const auto whole = value.integer()) {
            block[key] = *whole;
        } else if (const auto flag = value.boolean()) {
            block[key] = *flag;
        } else {
            block[key] = value.string() ? nlohmann::json(std::string(*value.string())) : nlohmann::json(value.shown());
        }
    }
    rope.originalBlock = block.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void readVocabularySize(GgufFields& fields, const GgufFile& gguf, const std::string& arch, ModelConfig& config) {
    for (const StoredTensor& tensor : gguf.tensors) {
        if (tensor.name == "token_embd.weight" && tensor.shape.size() == 2 && tensor.shape[0] <= kMaxVocabulary) {
            config.vocabSize = static_cast<int>(tensor.shape[0]);
            config.origins["vocab"] = "rows of token_embd.weight";
        }
    }
    if (config.vocabSize == 0) {
        return fields.refuseWith(ErrorCode::BadInput,
                                 "tensor 'token_embd.weight' is missing or has no shape of two sizes; fetch "
                                 "the file again");
    }
    const std::string key = arch + ".vocab_size";
    if (fields.has(key) && fields.integer(key, 1, kMaxVocabulary) != config.vocabSize) {
        fields.refuse(ErrorCode::BadInput, key, fmt::format("but token_embd.weight has {} rows", config.vocabSize));
    }
    const GgufValue* tokens = fields.find("tokenizer.ggml.tokens");
    if (tokens != nullptr && tokens->count != static_cast<std::uint64_t>(config.vocabSize)) {
        fields.refuse(ErrorCode::BadInput, "tokenizer.ggml.tokens",
                      fmt::format("but token_embd.weight has {} rows", config.vocabSize));
    }
}

}  // namespace

Result<ModelDraft> readGgufConfig(const GgufFile& gguf, const std::filesystem::path& file) {
    GgufFields fields(gguf, file);
    ModelDraft draft;
    ModelConfig& config = draft.config;
    config.format = "gguf";
    const auto arch = fields.string("general.architecture");
    if (!arch && !fields.error())
        fields.refuse(ErrorCode::BadInput, "general.architecture", "the file is incomplete; convert the model again");
    if (arch && *arch != "llama" && *arch != "qwen2") {
        fields.refuse(ErrorCode::Unsupported, "general.architecture",
                      "this architecture is not supported; llama and qwen2 are");
    }
    if (fields.error()) return fail(*fields.error());
    config.architecture = *arch == "llama" ? Architecture::Llama : Architecture::Qwen2;
    config.origins["architecture"] = "general.architecture";
    config.name = fields.string("general.name").value_or(file.stem().string());
    // Only the llama converter turns q and k into the order of ggml's "normal" rotary kernel (LlamaModel.permute in
    // convert_hf_to_gguf.py); qwen2 keeps the half-split order.
    draft.interleavedQk = config.architecture == Architecture::Llama;
    if (config.architecture == Architecture::Qwen2) draft.qkvBias = true;
    config.origins["qkv_bias"] = draft.qkvBias ? "Qwen2 always has it" : "the tensors";
    config.origins["mlp_bias"] = "the tensors";
    config.origins["tied_head"] = "whether output.weight is there";

    refuseWhatIsNotSupported(fields, gguf, *arch, config.warnings);
    if (fields.error()) return fail(*fields.error());
    config.numLayers = fields.integer(*arch + ".block_count", 1, kMaxLayers);
    config.hiddenSize = fields.integer(*arch + ".embedding_length", 1, kMaxWidth);
    config.intermediateSize = fields.integer(*arch + ".feed_forward_length", 1, kMaxInnerWidth);
    config.contextLength = fields.integer(*arch + ".context_length", 1, kMaxContext);
    config.origins["context"] = *arch + ".context_length";
    config.rmsNormEps = fields.number(*arch + ".attention.layer_norm_rms_epsilon", kMinEps, kMaxEps);
    if (fields.error()) return fail(*fields.error());
    readHeads(fields, *arch, config);
    if (fields.error()) return fail(*fields.error());
    readRope(fields, gguf, *arch, config);
    readVocabularySize(fields, gguf, *arch, config);
    if (fields.error()) return fail(*fields.error());
    if (gguf.trailingBytes > 0) {
        config.warnings.push_back(
            fmt::format("{} bytes stand behind the last tensor and were ignored", gguf.trailingBytes));
    }
    return draft;
}

}  // namespace lpes::model
