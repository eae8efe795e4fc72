#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "core/model/model_config.h"
#include "core/model/torch/position_tables.h"

/// The steps of kernels.h for tensors that do not live on the CPU, out of LibTorch's operators and, where they run, our
/// own CUDA kernels: the same shapes and the same roundings.
namespace lpes::model::device_kernels {

/// kernels::rmsNorm of the last dimension as a new tensor; differentiable, and for the CPU as well.
[[nodiscard]] at::Tensor normed(const at::Tensor& x, const at::Tensor& weight, double eps);

/// Heads [H, N, D] turned by cos and sin [N, R/2] as kernels::rotateAndSplit turns them, every step rounded to their
/// type, as a new tensor; differentiable, and for the CPU as well.
[[nodiscard]] at::Tensor rotated(const at::Tensor& heads, const at::Tensor& cos, const at::Tensor& sin);

void addRmsNorm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double eps,
                const at::Tensor& out);
void normHeads(const at::Tensor& x, const at::Tensor& weight, double eps);
void gatedActivation(Activation activation, const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out);
/// Our kernel where it runs, else `rotated`: the same bits.
void rotateAndSplit(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const RotaryTable& table,
                    std::span<const std::int32_t> tableRows, const at::Tensor& qOut, const at::Tensor& kOut,
                    const at::Tensor& vOut);

}  // namespace lpes::model::device_kernels
