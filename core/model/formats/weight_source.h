#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_config.h"
#include "core/text/tokenizer.h"

namespace lpes::model {

/// How numbers are stored in a file. Q8_0 … Q5_1 and IQ4_NL are GGUF's blocks of 32, the others its blocks of 256.
enum class StorageType { F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS };

[[nodiscard]] std::string storageTypeName(StorageType type);

/// What the decoder computes in. Float16 is for GPUs; readers of files know the other two.
enum class ComputeType { Float32, BFloat16, Float16 };

/// A tensor in a mapped file, or some rows of one that holds several. `bytes` stays valid as long as the WeightSource.
struct TensorView {
    std::string name;                 ///< the file's own name
    std::vector<std::int64_t> shape;  ///< row major, as PyTorch writes it ([out, in] for a projection)
    StorageType type = StorageType::F32;
    std::span<const std::byte> bytes;
    std::filesystem::path file;
};

/// Rows of a matrix; 1 for a vector.
[[nodiscard]] inline std::int64_t rowCountOf(const TensorView& view) {
    return view.shape.size() > 1 ? view.shape.front() : 1;
}

/// One model's weights under one set of names, whatever the format:
///   embedding [V,E] · final_norm [E] · head [V,E] (absent when tied)
///   layer.N.{attention_norm [E], q [H·D,E], k [K·D,E], v [K·D,E], o [E,H·D], mlp_norm [E], gate [I,E], up [I,E], down
///   [E,I]} layer.N.{q,k,v,o,gate,up,down}_bias where the configuration says so
/// Rows of q and k are in half-split order (GGUF-llama's interleaving is undone by `read`).
/// Every needed tensor was found with the right shape before this object exists. immutable, thread-safe.
class WeightSource {
  public:
    virtual ~WeightSource() = default;

    [[nodiscard]] virtual const ModelConfig& config() const = 0;
    /// Canonical names present.
    [[nodiscard]] virtual std::vector<std::string> names() const = 0;
    /// nullptr when there is no such tensor.
    [[nodiscard]] virtual const TensorView* find(const std::string& canonicalName) const = 0;

    /// The mapped bytes themselves when they already are what the decoder wants: stored as `type`, no row order to
    /// undo, aligned for the type. Empty otherwise; then call read.
    [[nodiscard]] virtual std::span<const std::byte> direct(const std::string& canonicalName,
                                                            ComputeType type) const = 0;
    /// Dequantises or converts rows `firstRow` … `firstRow + rowCount` − 1 of a matrix (shape[0] rows; a vector is one
    /// row) into `out`, which has rowCount × row length × 4 or 2 bytes. Rows of q and k count in half-split order.
    /// Quantised values are computed in float32 and rounded to bfloat16 (nearest even) last; each row comes out the
    /// same whatever other rows are asked for. May be called from several threads, for one tensor too: that is how a
    /// large one is read with several cores, or a projection block by block while it stays quantised in its file.
    /// BadInput when a value of the file is not finite. Usage: no such tensor or rows, another size of `out`.
    [[nodiscard]] virtual Result<void> readRows(const std::string& canonicalName, ComputeType type,
                                                std::int64_t firstRow, std::int64_t rowCount,
                                                std::span<std::byte> out) const = 0;
    /// All rows.
    [[nodiscard]] Result<void> read(const std::string& canonicalName, ComputeType type, std::span<std::byte> out) const;
    /// Says that the tensor's bytes will not be read soon: pages of the mapped file leave this process's memory (not
    /// the system's cache), so that a loader which converts holds one tensor of the file at a time. What `direct` gave
    /// stays valid and is read again when touched.
    virtual void release(const std::string& canonicalName) const = 0;
    /// The check that `read` makes, for a tensor whose mapped bytes are used through `direct`: BadInput when a value is
    /// not finite. Touches every page of the tensor.
    [[nodiscard]] virtual Result<void> checkFinite(const std::string& canonicalName) const = 0;

    /// Tokenizer files of the model; BadInput / Unsupported as core/text says, BadInput when the model has none.
    [[nodiscard]] virtual Result<text::TokenizerSpec> tokenizerSpec() const = 0;
};

/// Opens a Hugging Face folder (config.json; model.safetensors, or model.safetensors.index.json with its shards; else
/// pytorch_model.bin, or pytorch_model.bin.index.json with its shards) or a .gguf file, of a split set any of its
/// files. Memory stays small however large the numbers in a header are: every count, offset and size is checked against
/// the file's length before anything is allocated.
///
/// BadInput (file, field, value, remedy): missing folder, file or shard; damaged or truncated file; a header number
/// that does not fit; a missing or misshaped tensor. Unsupported by name: architecture, rope type, activation,
/// quantisation, tensor type, GGUF version, a big-endian file, a checkpoint that wants to call something.
/// Tied head: tie=true without lm_head uses the embedding; tie=true with an lm_head that differs uses lm_head and
/// warns; tie=false without lm_head is an error.
[[nodiscard]] Result<std::shared_ptr<const WeightSource>> openWeights(const std::filesystem::path& path);

}  // namespace lpes::model
