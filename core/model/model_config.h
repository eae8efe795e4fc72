#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/rope/rope_config.h"

namespace lpes::model {

enum class Architecture { Llama, Qwen2 };

[[nodiscard]] std::string architectureName(Architecture architecture);  ///< "llama", "qwen2"

/// A decoder-only transformer: RMSNorm, SwiGLU, grouped-query attention, half-split RoPE.
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
    bool tiedHead = false;      ///< logits use the embedding
    bool qkvBias = false;       ///< q, k and v projections have a bias
    bool outputBias = false;    ///< o projection has a bias
    bool mlpBias = false;       ///< gate, up and down projections have a bias
    rope::RopeConfig rope;
    std::string weightTypes;    ///< storage types found, most bytes first: "Q4_1, F32"
    std::int64_t parameters = 0;
    std::int64_t weightBytes = 0;  ///< as stored
    /// SHA-256 over the configuration and the table of tensors (names, shapes, types, sizes): identity of a model in
    /// profiles and in the data base. Two files of the same weights in another format differ.
    std::string fingerprint;
    /// field → where its value comes from, for fields where that can be asked ("head_dim" → "hidden_size / num_attention_heads")
    std::map<std::string, std::string> origins;
    std::vector<std::string> warnings;
};

}  // namespace lpes::model
