#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "core/model/model_config.h"

/// A Llama's prefill in LibTorch's own operations, written out plainly: what the decoder is measured against, and what
/// carries our kernels before and beside it.
namespace lpes::bench {

struct PlainLayer {
    at::Tensor attentionNorm, qkv, output, mlpNorm, gateUp, down;
};

struct PlainModel {
    model::ModelConfig config;
    std::vector<PlainLayer> layers;
    at::Tensor embedding, finalNorm;
};

/// Random weights on `device`, drawn on the CPU so that they are the same everywhere.
[[nodiscard]] PlainModel randomModel(const model::ModelConfig& config, at::ScalarType type, at::Device device);

/// Rotates the first H + K heads of qkv [N, (H + 2K)·D] in place.
using Rotation = std::function<void(at::Tensor& qkv, double scale)>;

/// LibTorch's operations, with tables of cos and sin for every scale that comes.
[[nodiscard]] Rotation plainRotation(const model::ModelConfig& config, std::int64_t tokens, at::ScalarType type,
                                     at::Device device);
/// Our kernel on a GPU, its reference on the CPU.
[[nodiscard]] Rotation ownRotation(const model::ModelConfig& config, std::int64_t tokens, at::ScalarType type,
                                   at::Device device);

/// ids [N] int64 → logits of the last `rows` tokens [rows, V]. Layer h uses scale 1 + h/100.
[[nodiscard]] at::Tensor plainPrefill(const PlainModel& model, const at::Tensor& ids, const Rotation& rotate,
                                      std::int64_t rows);

}  // namespace lpes::bench
