#include "core/model/formats/tensor_names.h"

#include <fmt/format.h>

namespace lpes::model {

const std::vector<TensorKind>& globalKinds() {
    static const std::vector<TensorKind> kKinds = {
        {"embedding",
         "model.embed_tokens.weight",
         "token_embd.weight",
         Group::Always,
         {Size::Vocabulary, Size::Hidden}},
        {"final_norm", "model.norm.weight", "output_norm.weight", Group::Always, {Size::Hidden}},
        {"head", "lm_head.weight", "output.weight", Group::Head, {Size::Vocabulary, Size::Hidden}},
    };
    return kKinds;
}

const std::vector<TensorKind>& layerKinds() {
    static const std::vector<TensorKind> kKinds = {
        {"attention_norm", "input_layernorm.weight", "attn_norm.weight", Group::Always, {Size::Hidden}},
        {"q", "self_attn.q_proj.weight", "attn_q.weight", Group::Always, {Size::Queries, Size::Hidden}, true},
        {"k", "self_attn.k_proj.weight", "attn_k.weight", Group::Always, {Size::Keys, Size::Hidden}, true},
        {"v", "self_attn.v_proj.weight", "attn_v.weight", Group::Always, {Size::Keys, Size::Hidden}},
        {"o", "self_attn.o_proj.weight", "attn_output.weight", Group::Always, {Size::Hidden, Size::Queries}},
        {"mlp_norm", "post_attention_layernorm.weight", "ffn_norm.weight", Group::Always, {Size::Hidden}},
        {"gate", "mlp.gate_proj.weight", "ffn_gate.weight", Group::Always, {Size::Inner, Size::Hidden}},
        {"up", "mlp.up_proj.weight", "ffn_up.weight", Group::Always, {Size::Inner, Size::Hidden}},
        {"down", "mlp.down_proj.weight", "ffn_down.weight", Group::Always, {Size::Hidden, Size::Inner}},
        {"q_bias", "self_attn.q_proj.bias", "attn_q.bias", Group::QkvBias, {Size::Queries}, true},
        {"k_bias", "self_attn.k_proj.bias", "attn_k.bias", Group::QkvBias, {Size::Keys}, true},
        {"v_bias", "self_attn.v_proj.bias", "attn_v.bias", Group::QkvBias, {Size::Keys}},
        {"o_bias", "self_attn.o_proj.bias", "attn_output.bias", Group::OutputBias, {Size::Hidden}},
        {"gate_bias", "mlp.gate_proj.bias", "ffn_gate.bias", Group::MlpBias, {Size::Inner}},
        {"up_bias", "mlp.up_proj.bias", "ffn_up.bias", Group::MlpBias, {Size::Inner}},
        {"down_bias", "mlp.down_proj.bias", "ffn_down.bias", Group::MlpBias, {Size::Hidden}},
    };
    return kKinds;
}

std::string canonicalName(const TensorKind& kind, int layer) {
    return layer < 0 ? kind.canonical : fmt::format("layer.{}.{}", layer, kind.canonical);
}

std::string storedName(const TensorKind& kind, int layer, Naming naming) {
    if (naming == Naming::Gguf) return layer < 0 ? kind.gguf : fmt::format("blk.{}.{}", layer, kind.gguf);
    return layer < 0 ? kind.huggingFace : fmt::format("model.layers.{}.{}", layer, kind.huggingFace);
}

std::vector<std::int64_t> neededShape(const TensorKind& kind, const ModelConfig& config) {
    std::vector<std::int64_t> shape;
    for (const Size size : kind.shape) {
        switch (size) {
            case Size::Vocabulary:
                shape.push_back(config.vocabSize);
                break;
            case Size::Hidden:
                shape.push_back(config.hiddenSize);
                break;
            case Size::Queries:
                shape.push_back(std::int64_t{config.numHeads} * config.headDim);
                break;
            case Size::Keys:
                shape.push_back(std::int64_t{config.numKvHeads} * config.headDim);
                break;
            case Size::Inner:
                shape.push_back(config.intermediateSize);
                break;
        }
    }
    return shape;
}

}  // namespace lpes::model
