#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/model/causal_lm.h"
#include "core/model/formats/weight_source.h"

namespace lpes::model {

class StoredMatrix;

/// x·Wᵀ + b. One of weight, packed and stored is there.
struct Projection {
    at::Tensor weight;                           ///< [out, in] compute type; undefined where `packed` is there instead
    at::Tensor packed;                           ///< the same in the order that the matrix units read (packed_weight.h)
    at::Tensor bias;                             ///< [out] compute type; undefined where the model has none
    std::shared_ptr<const StoredMatrix> stored;  ///< weights that stay quantised in their file

    /// [out, in] as it is, unpacked or dequantised: a copy in the latter cases.
    [[nodiscard]] at::Tensor dense() const;
};

/// One layer; norm weights are float32 where ModelConfig::wideNorms says so. Where the file's bytes are used as they
/// are (zero-copy) q, k, v and gate, up stay matrices of their own; where they have to be converted anyway they are
/// written into one matrix each, so that one product does the work of three or two: `qkv` has one or three entries and
/// `gateUp` one or two. Such matrices are also packed where the processor gains from it.
struct LayerWeights {
    at::Tensor attentionNorm;        ///< [E]
    std::vector<Projection> qkv;     ///< {[(H+2K)·D, E]} or {[H·D, E], [K·D, E], [K·D, E]}
    at::Tensor queryNorm, keyNorm;   ///< [D] where the model norms queries and keys, else undefined
    Projection output;               ///< [E, H·D]
    at::Tensor postAttentionNorm;    ///< [E] where the model has post norms, else undefined
    at::Tensor mlpNorm;              ///< [E]
    std::vector<Projection> gateUp;  ///< {[2·I, E]} or {[I, E], [I, E]}
    Projection down;                 ///< [E, I]
    at::Tensor postMlpNorm;          ///< [E] where the model has post norms, else undefined
};

/// immutable after loading, hence thread-safe. No tensor was made inside InferenceMode, so all of them may take part in
/// autograd (as constants).
struct DecoderWeights {
    at::Tensor embedding;  ///< [V, E]; undefined where storedEmbedding is there
    std::shared_ptr<const StoredMatrix> storedEmbedding;
    at::Tensor finalNorm;  ///< [E]
    Projection head;       ///< [V, E]; the embedding itself when tied
    std::vector<LayerWeights> layers;
    std::int64_t residentBytes = 0;  ///< of distinct tensors, mapped ones included
    bool asStored = false;           ///< matrices stay as their file has them
    /// [L] where each layer is; the embedding is with the first, the final norm and the head with the last.
    std::vector<at::Device> devices;
};

[[nodiscard]] at::ScalarType scalarType(ComputeType type);

/// Reads every tensor, rows of large ones on all cores, and sends it to its layer's device. kStoppedMessage when
/// stopped between tensors; otherwise what WeightSource::read answers. The mapped file stays open as long as a tensor
/// uses it.
///
/// `devices` has one entry per layer; beside the CPU nothing stays as stored. `residency`: Dequantised is OutOfMemory
/// before anything is allocated when what has to be copied is more than the memory that is available, naming both
/// numbers; Automatic leaves the matrices as they are stored in that case, and says so to the observer; AsStored always
/// leaves them.
[[nodiscard]] Result<DecoderWeights> loadDecoderWeights(const std::shared_ptr<const WeightSource>& source,
                                                        ComputeType type, Residency residency,
                                                        const std::vector<at::Device>& devices,
                                                        ProgressObserver& observer, const std::stop_token& stop);

/// Bytes of every tensor in the compute type by the layer that it is with (as in DecoderWeights::devices): [L].
[[nodiscard]] std::vector<std::int64_t> bytesByLayer(const WeightSource& source, ComputeType type,
                                                     bool onSeveralDevices);

}  // namespace lpes::model
