#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_config.h"

namespace lpes::model {

/// One family of models, declared: what readers and decoder need to know beyond what a file says. A new family is a row
/// in families.cpp, not a decoder of its own. Sources: transformers' configuration and modelling file of each family,
/// and llama.cpp's converter for what GGUF leaves out.
struct Family {
    Architecture architecture = Architecture::Llama;
    std::string_view name;                     ///< transformers' model_type
    std::vector<std::string_view> classNames;  ///< config.json architectures
    /// Keys that published config.json files leave out, with transformers' defaults (a JSON object).
    std::string_view configDefaults = "{}";
    bool keyHeadsDefaultToHeads = false;  ///< num_key_value_heads likewise
    std::string_view ggufName;            ///< general.architecture; empty where the format writes it as another family

    enum class Biases { AsStored, QueryKeyValue, AttentionFlag, None };
    Biases biases = Biases::AsStored;  ///< AttentionFlag: all four attention projections where attention_bias says so
    bool fusedProjections = false;     ///< q, k, v are rows of one tensor, gate and up of another
    bool queryKeyNorm = false;
    bool gemmaNorms = false;  ///< post norms, norm weights stored as w − 1 (GGUF: as w), scaled embeddings
    Activation activation = Activation::Silu;
    enum class Sliding {
        None,
        EveryLayer,   ///< where sliding_window is there
        UpperLayers,  ///< use_sliding_window, from layer max_window_layers on
        Alternating   ///< every layer but each slidingPeriod-th
    };
    Sliding sliding = Sliding::None;
    int slidingPeriod = 0;

    bool ggufInterleavesHeads = false;  ///< GGUF reorders the rows of q and k for ggml's "normal" rotary kernel
    bool ggufOmitsDefaults = false;     ///< GGUF files may leave out caps and window that configDefaults has
    bool capsAttention = false;         ///< a soft cap on attention is part of the family
    double ggufTheta = 0.0;             ///< RoPE base that the family's GGUF files do not write; 0: they do
    double localTheta = 0.0;  ///< RoPE base of sliding layers where the file leaves it out; 0: one base for all
    double fullTheta = 0.0;   ///< the same for the other layers, in config.json
};

[[nodiscard]] const std::vector<Family>& families();
[[nodiscard]] const Family& familyOf(Architecture architecture);
/// nullptr for a name of no family.
[[nodiscard]] const Family* familyByClass(std::string_view className);
[[nodiscard]] const Family* familyByName(std::string_view modelType);
[[nodiscard]] const Family* familyByGgufName(std::string_view name);
/// "LlamaForCausalLM (llama), …", for messages.
[[nodiscard]] std::string knownFamilies();
[[nodiscard]] std::string knownGgufFamilies();

}  // namespace lpes::model
