#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/formats/bind_tensors.h"

namespace lpes::model {

/// Sizes that shapes are made of.
enum class Size { Vocabulary, Hidden, Queries, Keys, Inner };

/// Which part of the configuration asks for a tensor.
enum class Group { Always, Head, QkvBias, OutputBias, MlpBias };

/// One kind of tensor: canonical name, its spelling in either format, and its shape.
struct TensorKind {
    const char* canonical;
    const char* huggingFace;
    const char* gguf;
    Group group;
    std::vector<Size> shape;
    bool rotated = false;  ///< rows belong to rotated heads (q and k), which GGUF-llama reorders
};

/// Kinds outside the layers, and kinds of which every layer has one.
[[nodiscard]] const std::vector<TensorKind>& globalKinds();
[[nodiscard]] const std::vector<TensorKind>& layerKinds();

/// layer < 0: outside the layers.
[[nodiscard]] std::string canonicalName(const TensorKind& kind, int layer);
[[nodiscard]] std::string storedName(const TensorKind& kind, int layer, Naming naming);
[[nodiscard]] std::vector<std::int64_t> neededShape(const TensorKind& kind, const ModelConfig& config);

}  // namespace lpes::model
