#include "core/model/formats/tensor_names.h"

#include <fmt/format.h>

namespace lpes::model {

const std::vector<TensorKind>& globalKinds() {
    static const std::vector<TensorKind> kKinds = {
        {"embedding", "embed_tokens.weight", "token_embd.weight", Group::Always, {Size::Vocabulary, Size::Hidden}},
        {"final_norm", "norm.weight", "output_norm.weight", Group::Always, {Size::Hidden}, false, true},
        {"head", "lm_head.weight", "output.weight", Group::Head, {Size::Vocabulary, Size::Hidden}},
    };
    return kKinds;
}

namespace {

TensorKind norm(const char* canonical, const char* huggingFace, const char* gguf, Size size = Size::Hidden) {
    return {canonical, huggingFace, gguf, Group::Always, {size}, false, true};
}

/// Norms around attention and MLP. Gemma calls by Llama's name of the second another one.
void addNorms(const Family& family, std::vector<TensorKind>& kinds) {
    kinds.push_back(norm("attention_norm", "input_layernorm.weight", "attn_norm.weight"));
    if (family.gemmaNorms) {
        kinds.push_back(norm("post_attention_norm", "post_attention_layernorm.weight", "post_attention_norm.weight"));
        kinds.push_back(norm("mlp_norm", "pre_feedforward_layernorm.weight", "ffn_norm.weight"));
        kinds.push_back(norm("post_mlp_norm", "post_feedforward_layernorm.weight", "post_ffw_norm.weight"));
    } else {
        kinds.push_back(norm("mlp_norm", "post_attention_layernorm.weight", "ffn_norm.weight"));
    }
    if (family.queryKeyNorm) {
        kinds.push_back(norm("q_norm", "self_attn.q_norm.weight", "attn_q_norm.weight", Size::HeadDim));
        kinds.push_back(norm("k_norm", "self_attn.k_norm.weight", "attn_k_norm.weight", Size::HeadDim));
    }
}

void addProjections(const Family& family, std::vector<TensorKind>& kinds) {
    TensorKind q{"q", "self_attn.q_proj.weight", "attn_q.weight", Group::Always, {Size::Queries, Size::Hidden}, true};
    TensorKind k{"k", "self_attn.k_proj.weight", "attn_k.weight", Group::Always, {Size::Keys, Size::Hidden}, true};
    TensorKind v{"v", "self_attn.v_proj.weight", "attn_v.weight", Group::Always, {Size::Keys, Size::Hidden}};
    TensorKind gate{"gate", "mlp.gate_proj.weight", "ffn_gate.weight", Group::Always, {Size::Inner, Size::Hidden}};
    TensorKind up{"up", "mlp.up_proj.weight", "ffn_up.weight", Group::Always, {Size::Inner, Size::Hidden}};
    if (family.fusedProjections) {
        std::size_t part = 0;
        for (TensorKind* kind : {&q, &k, &v}) {
            kind->huggingFace = "self_attn.qkv_proj.weight";
            kind->gguf = "attn_qkv.weight";
            kind->fusedRows = {Size::Queries, Size::Keys, Size::Keys};
            kind->fusedPart = part++;
        }
        part = 0;
        for (TensorKind* kind : {&gate, &up}) {
            kind->huggingFace = "mlp.gate_up_proj.weight";
            kind->gguf = "ffn_up.weight";
            kind->fusedRows = {Size::Inner, Size::Inner};
            kind->fusedPart = part++;
        }
    }
    kinds.insert(kinds.end(), {q, k, v, gate, up});
    kinds.push_back(
        {"o", "self_attn.o_proj.weight", "attn_output.weight", Group::Always, {Size::Hidden, Size::Queries}});
    kinds.push_back({"down", "mlp.down_proj.weight", "ffn_down.weight", Group::Always, {Size::Hidden, Size::Inner}});
}

}  // namespace

std::vector<TensorKind> layerKinds(const Family& family) {
    std::vector<TensorKind> kinds;
    addNorms(family, kinds);
    addProjections(family, kinds);
    if (family.fusedProjections) return kinds;
    const std::vector<TensorKind> biases = {
        {"q_bias", "self_attn.q_proj.bias", "attn_q.bias", Group::QkvBias, {Size::Queries}, true},
        {"k_bias", "self_attn.k_proj.bias", "attn_k.bias", Group::QkvBias, {Size::Keys}, true},
        {"v_bias", "self_attn.v_proj.bias", "attn_v.bias", Group::QkvBias, {Size::Keys}},
        {"o_bias", "self_attn.o_proj.bias", "attn_output.bias", Group::OutputBias, {Size::Hidden}},
        {"gate_bias", "mlp.gate_proj.bias", "ffn_gate.bias", Group::MlpBias, {Size::Inner}},
        {"up_bias", "mlp.up_proj.bias", "ffn_up.bias", Group::MlpBias, {Size::Inner}},
        {"down_bias", "mlp.down_proj.bias", "ffn_down.bias", Group::MlpBias, {Size::Hidden}},
    };
    kinds.insert(kinds.end(), biases.begin(), biases.end());
    return kinds;
}

std::string canonicalName(const TensorKind& kind, int layer) {
    return layer < 0 ? kind.canonical : fmt::format("layer.{}.{}", layer, kind.canonical);
}

std::string storedName(const TensorKind& kind, int layer, Naming naming, const std::string& prefix) {
    if (naming == Naming::Gguf) return layer < 0 ? kind.gguf : fmt::format("blk.{}.{}", layer, kind.gguf);
    if (kind.group == Group::Head) {
        return prefix.ends_with(".model.") ? prefix.substr(0, prefix.size() - 6) + kind.huggingFace : kind.huggingFace;
    }
    return layer < 0 ? prefix + kind.huggingFace : fmt::format("{}layers.{}.{}", prefix, layer, kind.huggingFace);
}

std::int64_t extent(Size size, const ModelConfig& config) {
    switch (size) {
        case Size::Vocabulary:
            return config.vocabSize;
        case Size::Hidden:
            return config.hiddenSize;
        case Size::Queries:
            return std::int64_t{config.numHeads} * config.headDim;
        case Size::Keys:
            return std::int64_t{config.numKvHeads} * config.headDim;
        case Size::Inner:
            return config.intermediateSize;
        case Size::HeadDim:
            return config.headDim;
    }
    return 0;
}

std::vector<std::int64_t> neededShape(const TensorKind& kind, const ModelConfig& config) {
    std::vector<std::int64_t> shape;
    for (const Size size : kind.shape) shape.push_back(extent(size, config));
    return shape;
}

}  // namespace lpes::model
