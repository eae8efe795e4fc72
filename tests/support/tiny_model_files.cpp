#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tests/support/block_quantizer.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {

using model::Architecture;
using model::StorageType;
using nlohmann::json;

namespace {

struct Renaming {
    const char* canonical;
    const char* huggingFace;
    const char* gguf;
};

constexpr Renaming kGlobal[] = {
    {"embedding", "model.embed_tokens.weight", "token_embd.weight"},
    {"final_norm", "model.norm.weight", "output_norm.weight"},
    {"head", "lm_head.weight", "output.weight"},
};

constexpr Renaming kLayer[] = {
    {"attention_norm", "input_layernorm.weight", "attn_norm.weight"},
    {"mlp_norm", "post_attention_layernorm.weight", "ffn_norm.weight"},
    {"q", "self_attn.q_proj.weight", "attn_q.weight"},
    {"k", "self_attn.k_proj.weight", "attn_k.weight"},
    {"v", "self_attn.v_proj.weight", "attn_v.weight"},
    {"o", "self_attn.o_proj.weight", "attn_output.weight"},
    {"gate", "mlp.gate_proj.weight", "ffn_gate.weight"},
    {"up", "mlp.up_proj.weight", "ffn_up.weight"},
    {"down", "mlp.down_proj.weight", "ffn_down.weight"},
    {"q_bias", "self_attn.q_proj.bias", "attn_q.bias"},
    {"k_bias", "self_attn.k_proj.bias", "attn_k.bias"},
    {"v_bias", "self_attn.v_proj.bias", "attn_v.bias"},
    {"o_bias", "self_attn.o_proj.bias", "attn_output.bias"},
    {"gate_bias", "mlp.gate_proj.bias", "ffn_gate.bias"},
    {"up_bias", "mlp.up_proj.bias", "ffn_up.bias"},
    {"down_bias", "mlp.down_proj.bias", "ffn_down.bias"},
};

/// "layer.3.q" → {"3", "q"}; an empty number for what belongs to no layer.
std::pair<std::string, std::string> splitName(const std::string& name) {
    if (name.rfind("layer.", 0) != 0) return {"", name};
    const std::size_t dot = name.find('.', 6);
    return {name.substr(6, dot - 6), name.substr(dot + 1)};
}

std::string rename(const std::string& canonicalName, bool gguf) {
    const auto [layer, part] = splitName(canonicalName);
    if (layer.empty()) {
        for (const Renaming& entry : kGlobal) {
            if (part == entry.canonical) return gguf ? entry.gguf : entry.huggingFace;
        }
    } else {
        for (const Renaming& entry : kLayer) {
            if (part == entry.canonical) {
                return gguf ? "blk." + layer + "." + entry.gguf : "model.layers." + layer + "." + entry.huggingFace;
            }
        }
    }
    throw std::runtime_error("no such tensor: " + canonicalName);
}

json configJson(const TinyModelSpec& spec, const HuggingFaceOptions& options) {
    const bool llama = spec.architecture == Architecture::Llama;
    json config = {
        {"architectures", {llama ? "LlamaForCausalLM" : "Qwen2ForCausalLM"}},
        {"model_type", llama ? "llama" : "qwen2"},
        {"hidden_act", "silu"},
        {"hidden_size", spec.hiddenSize},
        {"intermediate_size", spec.intermediateSize},
        {"max_position_embeddings", spec.contextLength},
        {"num_attention_heads", spec.numHeads},
        {"num_hidden_layers", spec.numLayers},
        {"num_key_value_heads", spec.numKvHeads},
        {"rms_norm_eps", spec.rmsNormEps},
        {"tie_word_embeddings", spec.tiedHead},
        {"vocab_size", spec.vocabSize},
        {"bos_token_id", kTinyBos},
        {"eos_token_id", kTinyEos},
    };
    if (llama && options.biasKeys) {
        config["attention_bias"] = spec.qkvBias;
        config["mlp_bias"] = spec.mlpBias;
    }
    if (!llama) config["use_sliding_window"] = false;
    if (options.headDimKey) config["head_dim"] = spec.headDim;
    const bool linear = spec.linearFactor != 1.0;
    if (options.ropeParameters) {
        config["rope_parameters"] = {{"rope_theta", spec.ropeTheta}, {"rope_type", linear ? "linear" : "default"}};
        if (linear) config["rope_parameters"]["factor"] = spec.linearFactor;
    } else {
        config["rope_theta"] = spec.ropeTheta;
        config["rope_scaling"] = linear ? json{{"type", "linear"}, {"factor", spec.linearFactor}} : json(nullptr);
    }
    if (!options.configPatch.empty()) config.merge_patch(json::parse(options.configPatch));
    return config;
}

void writeTokenizerFiles(const TinyModelSpec& spec, const std::filesystem::path& folder) {
    const TinyVocabulary vocabulary = tinyVocabulary(spec.vocabSize);
    json added = json::array();
    json vocab = json::object();
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id) {
        vocab[vocabulary.pieces[id]] = id;
        if (id <= kTinyEos) {
            added.push_back({{"id", id},
                             {"content", vocabulary.pieces[id]},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", true}});
        }
    }
    json merges = json::array();
    for (const auto& [left, right] : vocabulary.merges) merges.push_back({left, right});
    json postProcessor = nullptr;
    if (spec.addBos) {
        const json bos = {{"SpecialToken", {{"id", "<|im_start|>"}, {"type_id", 0}}}};
        postProcessor = {
            {"type", "TemplateProcessing"},
            {"single", {bos, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
            {"pair",
             {bos, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
            {"special_tokens",
             {{"<|im_start|>", {{"id", "<|im_start|>"}, {"ids", {kTinyBos}}, {"tokens", {"<|im_start|>"}}}}}}};
    }
    const json byteLevel = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
    const json tokenizer = {{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", added},
                            {"normalizer", nullptr},
                            {"pre_tokenizer", byteLevel},
                            {"post_processor", postProcessor},
                            {"decoder", byteLevel},
                            {"model",
                             {{"type", "BPE"},
                              {"dropout", nullptr},
                              {"unk_token", nullptr},
                              {"continuing_subword_prefix", nullptr},
                              {"end_of_word_suffix", nullptr},
                              {"fuse_unk", false},
                              {"byte_fallback", false},
                              {"ignore_merges", false},
                              {"vocab", vocab},
                              {"merges", merges}}}};
    writeBytes(folder / "tokenizer.json", tokenizer.dump(1));
    writeBytes(folder / "tokenizer_config.json", json{{"tokenizer_class", "GPT2Tokenizer"},
                                                      {"add_bos_token", spec.addBos},
                                                      {"add_prefix_space", false},
                                                      {"bos_token", "<|im_start|>"},
                                                      {"eos_token", "<|im_end|>"},
                                                      {"model_max_length", spec.contextLength}}
                                                     .dump(1));
    writeBytes(folder / "generation_config.json",
               json{{"_from_model_config", true}, {"bos_token_id", kTinyBos}, {"eos_token_id", kTinyEos}}.dump(1));
}

void setTokenizerKeys(const TinyModelSpec& spec, GgufWriter& writer) {
    const TinyVocabulary vocabulary = tinyVocabulary(spec.vocabSize);
    std::vector<std::string> merges;
    for (const auto& [left, right] : vocabulary.merges) merges.push_back(left + " " + right);
    std::vector<std::int32_t> types(vocabulary.pieces.size(), 1);
    for (std::size_t id = 0; id <= kTinyEos; ++id) types[id] = 3;  // control
    writer.setString("tokenizer.ggml.model", "gpt2");
    writer.setString("tokenizer.ggml.pre", "gpt-2");
    writer.setStrings("tokenizer.ggml.tokens", vocabulary.pieces);
    writer.setInt32s("tokenizer.ggml.token_type", types);
    writer.setStrings("tokenizer.ggml.merges", merges);
    writer.setUint32("tokenizer.ggml.bos_token_id", kTinyBos);
    writer.setUint32("tokenizer.ggml.eos_token_id", kTinyEos);
    writer.setBool("tokenizer.ggml.add_bos_token", spec.addBos);
}

void setConfigKeys(const TinyModelSpec& spec, GgufWriter& writer) {
    const std::string arch = spec.architecture == Architecture::Llama ? "llama" : "qwen2";
    const auto number = [&](const char* key, int value) {
        writer.setUint32(arch + key, static_cast<std::uint32_t>(value));
    };
    writer.setString("general.architecture", arch);
    writer.setString("general.name", spec.name);
    number(".block_count", spec.numLayers);
    number(".context_length", spec.contextLength);
    number(".embedding_length", spec.hiddenSize);
    number(".feed_forward_length", spec.intermediateSize);
    number(".attention.head_count", spec.numHeads);
    number(".attention.head_count_kv", spec.numKvHeads);
    number(".vocab_size", spec.vocabSize);
    writer.setFloat32(arch + ".attention.layer_norm_rms_epsilon", static_cast<float>(spec.rmsNormEps));
    writer.setFloat32(arch + ".rope.freq_base", static_cast<float>(spec.ropeTheta));
    number(".rope.dimension_count", spec.headDim);
    if (spec.headDim * spec.numHeads != spec.hiddenSize) {
        number(".attention.key_length", spec.headDim);
        number(".attention.value_length", spec.headDim);
    }
    if (spec.linearFactor != 1.0) {
        writer.setString(arch + ".rope.scaling.type", "linear");
        writer.setFloat32(arch + ".rope.scaling.factor", static_cast<float>(spec.linearFactor));
    }
}

/// What convert_hf_to_gguf's LlamaModel.permute does: within each head, row t·D/2 + j moves to row 2j + t.
std::vector<float> interleaveRows(const TinyTensor& tensor, int headDim) {
    const auto rows = static_cast<std::size_t>(tensor.shape[0]);
    const std::size_t width = tensor.values.size() / rows;
    const auto dim = static_cast<std::size_t>(headDim);
    std::vector<float> moved(tensor.values.size());
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t head = row / dim, inHead = row % dim;
        const std::size_t half = inHead / (dim / 2), pair = inHead % (dim / 2);
        std::copy_n(tensor.values.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                    moved.begin() + static_cast<std::ptrdiff_t>((head * dim + 2 * pair + half) * width));
    }
    return moved;
}

GgufWriter ggufWriter(const TinyModel& tiny, const GgufOptions& options) {
    GgufWriter writer;
    setConfigKeys(tiny.spec, writer);
    if (options.tokenizer) setTokenizerKeys(tiny.spec, writer);
    const bool interleave = options.permute && tiny.spec.architecture == Architecture::Llama;
    for (const auto& [name, tensor] : tiny.tensors) {
        const std::string part = splitName(name).second;
        static const std::set<std::string> kRotated = {"q", "k", "q_bias", "k_bias"};
        const bool rotated = kRotated.count(part) > 0;
        const std::vector<float> values =
            interleave && rotated ? interleaveRows(tensor, tiny.spec.headDim) : tensor.values;
        const StorageType type = tensor.shape.size() > 1 ? options.type : StorageType::F32;
        writer.tensors.push_back(
            {ggufName(name), {tensor.shape.rbegin(), tensor.shape.rend()}, ggmlType(type), encode(values, type)});
    }
    if (options.edit) options.edit(writer);
    return writer;
}

std::string shardName(int shard, int shards) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05d-of-%05d.safetensors", shard + 1, shards);
    return name;
}

}  // namespace

std::string huggingFaceName(const std::string& canonicalName) {
    return rename(canonicalName, false);
}
std::string ggufName(const std::string& canonicalName) {
    return rename(canonicalName, true);
}

std::string safetensorsBytes(const std::string& header, const std::string& data) {
    std::string out;
    for (int byte = 0; byte < 8; ++byte) out.push_back(static_cast<char>((header.size() >> (8 * byte)) & 0xff));
    return out + header + data;
}

std::string safetensorsBytes(const std::map<std::string, TinyTensor>& tensors, StorageType type) {
    json header = {{"__metadata__", {{"format", "pt"}}}};
    std::string data;
    for (const auto& [name, tensor] : tensors) {
        const std::size_t begin = data.size();
        data += encode(tensor.values, type);
        header[name] = {{"dtype", std::string(type == StorageType::F32   ? "F32"
                                              : type == StorageType::F16 ? "F16"
                                                                         : "BF16")},
                        {"shape", tensor.shape},
                        {"data_offsets", {begin, data.size()}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // as the reference library: data begins at a multiple of 8
    return safetensorsBytes(text, data);
}

void writeHuggingFaceFolder(const TinyModel& tiny, const std::filesystem::path& folder,
                            const HuggingFaceOptions& options) {
    std::filesystem::create_directories(folder);
    writeBytes(folder / "config.json", configJson(tiny.spec, options).dump(2));
    std::map<std::string, TinyTensor> tensors = options.extra;
    for (const auto& [name, tensor] : tiny.tensors) tensors.emplace(huggingFaceName(name), tensor);
    for (const std::string& name : options.leaveOut) tensors.erase(name);
    if (options.shards <= 1) {
        writeBytes(folder / "model.safetensors", safetensorsBytes(tensors, options.type));
    } else {
        std::vector<std::map<std::string, TinyTensor>> shards(static_cast<std::size_t>(options.shards));
        json weightMap = json::object();
        std::size_t number = 0;
        for (auto& [name, tensor] : tensors) {
            const std::size_t shard = number++ % shards.size();
            weightMap[name] = shardName(static_cast<int>(shard), options.shards);
            shards[shard].emplace(name, std::move(tensor));
        }
        for (int i = 0; i < options.shards; ++i) {
            writeBytes(folder / shardName(i, options.shards),
                       safetensorsBytes(shards[static_cast<std::size_t>(i)], options.type));
        }
        writeBytes(folder / "model.safetensors.index.json",
                   json{{"metadata", {{"total_size", 0}}}, {"weight_map", weightMap}}.dump(2));
    }
    if (options.tokenizer) writeTokenizerFiles(tiny.spec, folder);
}

void writeGguf(const TinyModel& tiny, const std::filesystem::path& file, const GgufOptions& options) {
    writeBytes(file, ggufWriter(tiny, options).bytes());
}

std::string ggufSetName(const std::string& stem, int index, int files) {
    char ending[64];
    std::snprintf(ending, sizeof ending, "-%05d-of-%05d.gguf", index + 1, files);
    return stem + ending;
}

void writeGgufSet(const TinyModel& tiny, const std::filesystem::path& folder, const std::string& stem, int files,
                  const GgufOptions& options, const std::function<void(int, GgufWriter&)>& editPart,
                  int firstWithTensors) {
    const GgufWriter whole = ggufWriter(tiny, options);
    const auto holders = static_cast<std::size_t>(files - firstWithTensors);
    for (int file = 0; file < files; ++file) {
        GgufWriter part = whole;
        if (file > 0) part.values.clear();
        part.setUint16("split.no", static_cast<std::uint16_t>(file));
        part.setUint16("split.count", static_cast<std::uint16_t>(files));
        part.setInt32("split.tensors.count", static_cast<std::int32_t>(whole.tensors.size()));
        part.tensors.clear();
        for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
            const auto holder = static_cast<int>(i * holders / whole.tensors.size()) + firstWithTensors;
            if (holder == file) part.tensors.push_back(whole.tensors[i]);
        }
        if (editPart) editPart(file, part);
        writeBytes(folder / ggufSetName(stem, file, files), part.bytes());
    }
}

std::string readBytes(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + file.string());
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void writeBytes(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace lpes::test
