#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/model_config.h"

namespace lpes::model {

/// What a model's metadata says, before its tensors were looked at. Empty options: the tensors decide.
struct ModelDraft {
    ModelConfig config;
    std::optional<bool> tied;
    std::optional<bool> qkvBias;
    std::optional<bool> outputBias;
    std::optional<bool> mlpBias;
    bool interleavedQk = false;  ///< rows of q and k are stored in GGUF-llama's order
    bool normsLessOne = false;   ///< norm weights are stored as w − 1
    /// What may stand before the names of a Hugging Face folder's tensors; the first under which the embedding is
    /// found.
    std::vector<std::string> prefixes{"model."};
};

// Ranges that metadata must keep. They are far above any model, and keep every product of shapes inside 64 bits.
inline constexpr int kMaxLayers = 4096;
inline constexpr int kMaxWidth = 1 << 20;  ///< hidden size, heads × head dim
inline constexpr int kMaxInnerWidth = 1 << 23;
inline constexpr int kMaxVocabulary = 1 << 24;
inline constexpr int kMaxContext = 1 << 30;
inline constexpr double kMinEps = 1e-12;
inline constexpr double kMaxEps = 1e-1;
inline constexpr double kMinTheta = 1.0 + 1e-6;
inline constexpr double kMaxTheta = 1e15;
inline constexpr double kMinRopeFactor = 1e-3;
inline constexpr double kMaxRopeFactor = 1e6;

}  // namespace lpes::model
