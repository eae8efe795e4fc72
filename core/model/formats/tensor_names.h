#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/families.h"
#include "core/model/formats/bind_tensors.h"

namespace lpes::model {

/// Sizes that shapes are made of.
enum class Size { Vocabulary, Hidden, Queries, Keys, Inner, HeadDim };

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
    bool norm = false;     ///< a norm's weight, which Gemma's Hugging Face files store less one
    /// The stored tensor is several kinds one below the other: their row counts in order, and which of them this is.
    std::vector<Size> fusedRows{};
    std::size_t fusedPart = 0;
};

/// Kinds outside the layers.
[[nodiscard]] const std::vector<TensorKind>& globalKinds();
/// Kinds of which every layer of the family has one.
[[nodiscard]] std::vector<TensorKind> layerKinds(const Family& family);

/// layer < 0: outside the layers.
[[nodiscard]] std::string canonicalName(const TensorKind& kind, int layer);
/// `prefix` stands before Hugging Face names ("model."); the head's stands outside the last part of it.
[[nodiscard]] std::string storedName(const TensorKind& kind, int layer, Naming naming,
                                     const std::string& prefix = "model.");
[[nodiscard]] std::int64_t extent(Size size, const ModelConfig& config);
[[nodiscard]] std::vector<std::int64_t> neededShape(const TensorKind& kind, const ModelConfig& config);

}  // namespace lpes::model
