#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/formats/model_draft.h"
#include "core/model/formats/storage.h"

namespace lpes::model {

enum class Naming { HuggingFace, Gguf };

struct BoundTensor {
    TensorView view;               ///< of a fused tensor: the rows of this part alone
    bool interleavedRows = false;  ///< rows (or a bias's elements) of each head are in GGUF-llama's order
    bool lessOne = false;          ///< stored as w − 1
};

/// A model whose every tensor was found with the right shape and a type that can be read.
struct BoundModel {
    ModelConfig config;
    std::map<std::string, BoundTensor> tensors;  ///< canonical name →
};

/// Looks up what the draft needs among the stored tensors, settles biases and the tied head by what is there, and
/// fills in parameters, weight bytes, types, fingerprint and warnings. `path` is the model's, for messages.
///
/// BadInput: a missing or misshaped tensor; no head although the model is not tied. Unsupported by name: a needed
/// tensor of a type that no weight may have.
[[nodiscard]] Result<BoundModel> bindTensors(ModelDraft draft, const std::vector<StoredTensor>& stored, Naming naming,
                                             const std::filesystem::path& path);

}  // namespace lpes::model
