#include "core/model/formats/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
    {".attention.clamp_kqv", 0},
    {".pooling_type", 0},
    {".nextn_predict_layers", 0},
    {".attention.causal", 1},
    {".use_parallel_residual", 0},
    {".logit_scale", 1},
    {".residual_scale", 1},
    {".embedding_scale", 1},
    {".attention.temperature_scale", 0},
    {".rope.scaling.yarn_log_multiplier", 0},
    {".rope.scaling.yarn_ext_factor", 1},
    {".rope.scaling.yarn_attn_factor", 1},
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
                                      ".rope.scaling.attn_factor",
                                      ".rope.scaling.yarn_beta_fast",
                                      ".rope.scaling.yarn_beta_slow",
                                      ".rope.scaling.finetuned",
                                      ".tensor_data_layout"};

/// Keys of families with sliding layers and caps; elsewhere they would change what other readers compute.
const std::set<std::string> kSlidingKeys = {".attention.sliding_window", ".attention.sliding_window_pattern",
                                            ".rope.freq_base_swa"};
const std::set<std::string> kGemmaKeys = {".attn_logit_softcapping", ".final_logit_softcapping", ".attention.scale"};

void refuseWhatIsNotSupported(GgufFields& fields, const GgufFile& gguf, const Family& family, const std::string& arch,
                              std::vector<std::string>& warnings) {
    if (const auto type = fields.string("general.type"); type && *type != "model") {
        fields.refuse(ErrorCode::Unsupported, "general.type", "only a whole model can be opened");
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
        const bool sliding = kSlidingKeys.count(rest) != 0, gemma = kGemmaKeys.count(rest) != 0;
        if ((sliding && family.sliding != Family::Sliding::None) || (gemma && family.gemmaNorms)) continue;
        if ((sliding || gemma) && value.integer() != 0 && value.number() != 0.0) {
            fields.refuse(ErrorCode::Unsupported, key, fmt::format("this is not part of {}", arch));
            continue;
        }
        if (sliding || gemma) continue;
        if (rest.rfind(".rope.", 0) == 0) {
            // Ignoring a rotary setting gives wrong results that only long prompts show.
            fields.refuse(ErrorCode::Unsupported, key, "this rotary setting is not supported");
        } else {
            warnings.push_back(
                fmt::format("key '{}' = {} is not known and was ignored", key.substr(0, 100), value.shown()));
        }
    }
}

void readHeads(GgufFields& fields, const Family& family, const std::string& arch, ModelConfig& config) {
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
    const std::string rotated = arch + ".rope.dimension_count";
    if (family.architecture != Architecture::Phi3) {
        mustBeHeadDim(rotated);
    } else if (fields.has(rotated)) {
        const int dim = fields.integer(rotated, 2, config.headDim);
        if (!fields.error() && dim % 2 != 0) fields.refuse(ErrorCode::BadInput, rotated, "an even number is needed");
        if (dim != config.headDim) config.rope.rotaryDim = dim;
    }
    if (fields.error()) return;
    if (config.headDim % 2 != 0 || std::int64_t{config.headDim} * config.numHeads > kMaxWidth) {
        fields.refuseWith(ErrorCode::BadInput,
                          fmt::format("head dim is {} ({}); an even one is needed, and at most {} for all {} heads",
                                      config.headDim, config.origins["head_dim"], kMaxWidth, config.numHeads));
    }
}

/// A number of the file, or what its family has where converters leave it out (the same defaults as in config.json,
/// and as llama.cpp has them in its code); 0 where there is neither.
double valueOr(GgufFields& fields, const std::string& key, const Family& family, const char* configKey,
               const char* field, ModelConfig& config) {
    if (const GgufValue* value = fields.find(key); value != nullptr) {
        if (value->integer()) return fields.integer(key, 0, kMaxContext);
        return fields.number(key, 0.0, 1e9);
    }
    if (!family.ggufOmitsDefaults) return 0.0;
    const double assumed = nlohmann::json::parse(family.configDefaults).value(configKey, 0.0);
    if (assumed != 0.0) config.origins[field] = fmt::format("absent: {}, as {} models have it", assumed, family.name);
    return assumed;
}

/// Which layers slide: the file's own list or period, else the family's (llama.cpp has the periods in its code).
void readSliding(GgufFields& fields, const Family& family, const std::string& arch, ModelConfig& config) {
    const std::string windowKey = arch + ".attention.sliding_window";
    if (family.sliding == Family::Sliding::None) return;
    const auto window =
        static_cast<int>(valueOr(fields, windowKey, family, "sliding_window", "sliding_window", config));
    if (fields.error() || window == 0) return;
    const auto layers = static_cast<std::size_t>(config.numLayers);
    std::vector<bool> sliding(layers, family.sliding != Family::Sliding::UpperLayers);
    int period = family.slidingPeriod;
    const std::string patternKey = arch + ".attention.sliding_window_pattern";
    if (family.sliding == Family::Sliding::UpperLayers && !fields.has(patternKey)) {
        return fields.refuse(ErrorCode::Unsupported, windowKey,
                             fmt::format("the file does not say which layers of {} slide", arch));
    }
    if (const GgufValue* pattern = fields.find(patternKey); pattern != nullptr) {
        if (pattern->type == GgufValue::Type::Array) {
            if (pattern->elementType != GgufValue::Type::Bool || pattern->count != layers) {
                return fields.refuse(ErrorCode::BadInput, patternKey, "a truth value per layer is needed");
            }
            for (std::size_t layer = 0; layer < layers; ++layer) sliding[layer] = pattern->bytes[layer] != std::byte{0};
            period = 0;
        } else {
            period = fields.integer(patternKey, 1, kMaxLayers);
        }
        config.origins["sliding_layers"] = patternKey;
    }
    for (int layer = period; layer > 0 && layer <= config.numLayers; layer += period) {
        sliding[static_cast<std::size_t>(layer) - 1] = false;
    }
    if (std::find(sliding.begin(), sliding.end(), true) == sliding.end()) return;
    config.slidingWindow = window;
    config.slidingLayers = std::move(sliding);
    config.origins.try_emplace("sliding_window", windowKey);
}

void readScalesAndCaps(GgufFields& fields, const Family& family, const std::string& arch, ModelConfig& config) {
    config.attentionScale = 1.0 / std::sqrt(static_cast<double>(config.headDim));
    if (!family.gemmaNorms) return;
    config.embeddingScale = std::sqrt(static_cast<double>(config.hiddenSize));
    // The format has no key for query_pre_attn_scalar, which is the head dim in all but the 27B models: there it is
    // hidden / heads, and llama.cpp knows those by their number of layers.
    const bool is27B = config.numLayers == (family.architecture == Architecture::Gemma2 ? 46 : 62);
    const std::string scaleKey = arch + ".attention.scale";
    if (fields.has(scaleKey)) {
        config.attentionScale = fields.number(scaleKey, 1e-6, 1e3);
        config.origins["attention_scale"] = scaleKey;
    } else if (is27B) {
        config.attentionScale = 1.0 / std::sqrt(static_cast<double>(config.hiddenSize) / config.numHeads);
        config.origins["attention_scale"] = "1/√(embedding_length / head_count), as the 27B models have it";
    } else {
        config.origins["attention_scale"] = "1/√(head dim)";
    }
    config.logitSoftcap =
        valueOr(fields, arch + ".final_logit_softcapping", family, "final_logit_softcapping", "logit_softcap", config);
    const std::string capKey = arch + ".attn_logit_softcapping";
    if (family.capsAttention) {
        config.attentionSoftcap =
            valueOr(fields, capKey, family, "attn_logit_softcapping", "attention_softcap", config);
    } else if (fields.has(capKey)) {
        config.warnings.push_back(fmt::format("{} is ignored: {} has no cap on attention", capKey, arch));
    }
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
    const Family* family = arch ? familyByGgufName(*arch) : nullptr;
    if (arch && family == nullptr) {
        fields.refuse(ErrorCode::Unsupported, "general.architecture",
                      fmt::format("this architecture is not supported; {} are", knownGgufFamilies()));
    }
    if (fields.error()) return fail(*fields.error());
    config.architecture = family->architecture;
    config.origins["architecture"] = "general.architecture";
    config.name = fields.string("general.name").value_or(file.stem().string());
    // Only the llama converter turns q and k into the order of ggml's "normal" rotary kernel (LlamaModel.permute in
    // convert_hf_to_gguf.py); the others keep the half-split order.
    draft.interleavedQk = family->ggufInterleavesHeads;
    if (family->biases == Family::Biases::QueryKeyValue) draft.qkvBias = true;
    config.origins["qkv_bias"] = draft.qkvBias ? "Qwen2 always has it" : "the tensors";
    config.origins["mlp_bias"] = "the tensors";
    config.origins["tied_head"] = "whether output.weight is there";
    config.activation = family->activation;
    config.queryKeyNorm = family->queryKeyNorm;
    config.postNorms = config.wideNorms = family->gemmaNorms;

    refuseWhatIsNotSupported(fields, gguf, *family, *arch, config.warnings);
    if (fields.error()) return fail(*fields.error());
    config.numLayers = fields.integer(*arch + ".block_count", 1, kMaxLayers);
    config.hiddenSize = fields.integer(*arch + ".embedding_length", 1, kMaxWidth);
    config.intermediateSize = fields.integer(*arch + ".feed_forward_length", 1, kMaxInnerWidth);
    config.contextLength = fields.integer(*arch + ".context_length", 1, kMaxContext);
    config.origins["context"] = *arch + ".context_length";
    config.rmsNormEps = fields.number(*arch + ".attention.layer_norm_rms_epsilon", kMinEps, kMaxEps);
    if (fields.error()) return fail(*fields.error());
    readHeads(fields, *family, *arch, config);
    if (fields.error()) return fail(*fields.error());
    readSliding(fields, *family, *arch, config);
    readScalesAndCaps(fields, *family, *arch, config);
    if (fields.error()) return fail(*fields.error());
    readGgufRope(fields, gguf, *family, config);
    readVocabularySize(fields, gguf, *arch, config);
    if (fields.error()) return fail(*fields.error());
    if (gguf.trailingBytes > 0) {
        config.warnings.push_back(
            fmt::format("{} bytes stand behind the last tensor and were ignored", gguf.trailingBytes));
    }
    return draft;
}

}  // namespace lpes::model
