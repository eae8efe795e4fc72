#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_config.h"
#include "core/rope/position_method.h"

/// Routers of MoICE (arXiv 2406.19598) as files; README.md, "Router files", describes the format.
namespace lpes::model {

/// What a file of routers is: what a training wrote at its end, or its checkpoint (core/model/moice_training.h).
enum class MoiceFile { Router, Checkpoint };
/// Nothing for a file that is none of ours: missing, something else, or matrices without our metadata.
[[nodiscard]] std::optional<MoiceFile> moiceFileAt(const std::filesystem::path& path);

/// Reads a router file and checks that it fits the model. Tensors may be float32, float16 or bfloat16 and are widened.
/// A file without our metadata (only the matrices, as training code saves them) has the published bases for this
/// model's own (rope::moiceBases) and keeps every expert.
///
/// BadInput, naming the file and what is wrong: missing or damaged file; a layer's matrix that is missing, has another
/// shape or dtype, or holds a value that is not finite; metadata of another model (layers, head_dim, fingerprint), with
/// a value that makes no sense, or of a newer version; a checkpoint where a router is wanted. Unsupported where the
/// model's RoPE takes no other base. thread-safe.
[[nodiscard]] Result<std::shared_ptr<const rope::MoiceRouters>> readMoiceRouters(const std::filesystem::path& path,
                                                                                 const ModelConfig& config,
                                                                                 MoiceFile wanted = MoiceFile::Router);

/// What stands in a router file beside the matrices: texts by key, kept as they are ("training": how it was made).
using MoiceNotes = std::map<std::string, std::string>;

/// Writes routers of this model atomically (core/base/files.h); the fingerprint is the model's. BadInput when they do
/// not fit the model, as rope::checkMethod says; Failed when the file cannot be written.
[[nodiscard]] Result<void> writeMoiceRouters(const std::filesystem::path& path, const rope::MoiceRouters& routers,
                                             const ModelConfig& config, const MoiceNotes& notes = {});

/// One matrix of a router: its name in the file, its shape and its values.
struct MoiceMatrix {
    std::string name;  ///< "model.layers.0.self_attn.gate.w1.weight"
    std::vector<std::int64_t> shape;
    std::vector<float>* values = nullptr;
};
/// Every matrix of the routers in the order of the file: w1, w2 and w3 of layer 0, of layer 1 and so on. `values` point
/// into `routers`.
[[nodiscard]] std::vector<MoiceMatrix> moiceMatrices(rope::MoiceRouters& routers);
/// Keys of the metadata that a checkpoint has beside those of a router.
inline constexpr const char* kMoiceIdentity = "identity";
inline constexpr const char* kMoiceCurve = "curve";
/// The metadata of a router file, without notes.
[[nodiscard]] std::map<std::string, std::string> moiceMetadata(const rope::MoiceRouters& routers,
                                                               const ModelConfig& config);
/// Routers of the right size with zeros in them.
[[nodiscard]] rope::MoiceRouters emptyRouters(const ModelConfig& config, std::vector<double> bases, int topK);

}  // namespace lpes::model
