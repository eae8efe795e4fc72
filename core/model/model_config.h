#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/rope/position_method.h"
#include "core/rope/rope_config.h"

namespace lpes::model {

enum class Architecture { Llama, Mistral, Qwen2, Qwen3, Phi3, Gemma2, Gemma3 };

[[nodiscard]] std::string architectureName(Architecture architecture);  ///< "llama", "gemma3": transformers' model_type

/// What gates the MLP: x·sigmoid(x), or GELU in its tanh form.
enum class Activation { Silu, GeluTanh };

/// A decoder-only transformer with RMSNorm, a gated MLP, grouped-query attention and half-split RoPE. Every difference
/// between the families is a field here; the decoder knows no family (families.h says which family has which).
struct ModelConfig {
    Architecture architecture = Architecture::Llama;
    std::string format;  ///< "safetensors", "pytorch" or "gguf"
    std::string name;    ///< general.name, or the folder's name
    int numLayers = 0;
    int hiddenSize = 0;
    int numHeads = 0;
    int numKvHeads = 0;
    int headDim = 0;
    int intermediateSize = 0;
    int vocabSize = 0;
    int contextLength = 0;  ///< longest input that the model was made for
    double rmsNormEps = 0.0;
    bool tiedHead = false;    ///< logits use the embedding
    bool qkvBias = false;     ///< q, k and v projections have a bias
    bool outputBias = false;  ///< o projection has a bias
    bool mlpBias = false;     ///< gate, up and down projections have a bias
    Activation activation = Activation::Silu;
    bool queryKeyNorm = false;        ///< RMSNorm over each head of q and k, before the rotation
    bool postNorms = false;           ///< attention's and MLP's outputs are normed before they are added
    bool wideNorms = false;           ///< norm weights are float32 and applied before the one rounding (Gemma)
    double embeddingScale = 1.0;      ///< embeddings are multiplied by it, rounded to the compute type
    double attentionScale = 0.0;      ///< multiplies q·k; usually 1/√headDim
    double attentionSoftcap = 0.0;    ///< 0: none; else scores become cap·tanh(score/cap)
    double logitSoftcap = 0.0;        ///< 0: none; the same for logits
    int slidingWindow = 0;            ///< keys that a query of a sliding layer sees, itself included; 0: no such layer
    std::vector<bool> slidingLayers;  ///< [L] which layers slide; empty: none
    rope::RopeConfig rope;            ///< of every layer, but for sliding ones where slidingRope is there
    std::optional<rope::RopeConfig> slidingRope;
    std::string weightTypes;  ///< storage types found, most bytes first: "Q4_1, F32"
    std::int64_t parameters = 0;
    std::int64_t weightBytes = 0;  ///< as stored
    /// SHA-256 over the configuration and the table of tensors (names, shapes, types, sizes): identity of a model in
    /// profiles and in the data base. Two files of the same weights in another format differ.
    std::string fingerprint;
    /// field → where its value comes from, for fields where that can be asked ("head_dim" → "hidden_size /
    /// num_attention_heads")
    std::map<std::string, std::string> origins;
    std::vector<std::string> warnings;

    [[nodiscard]] bool slides(int layer) const {
        return !slidingLayers.empty() && slidingLayers[static_cast<std::size_t>(layer)];
    }
    [[nodiscard]] const rope::RopeConfig& ropeOf(int layer) const {
        return slidingRope && slides(layer) ? *slidingRope : rope;
    }
};

/// What position methods have to know of a model.
[[nodiscard]] rope::MethodModel methodModel(const ModelConfig& config);

}  // namespace lpes::model
