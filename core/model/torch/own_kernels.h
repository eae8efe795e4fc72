#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/model/torch/attention_rule.h"
#include "core/model/torch/position_tables.h"

/// The kernels of core/model/cuda on LibTorch's tensors. On a GPU they run on LibTorch's current stream of the tensors'
/// device, so that they wait for what was put there before and are waited for by what comes after; on the CPU their
/// references run, which is how the way from a tensor to a kernel's arguments is tested without a GPU. What does not
/// fit is for the caller to do with LibTorch's operators. A kernel that fails throws std::runtime_error.
namespace lpes::model::own_kernels {

/// Why they do not run on the device, as a part of a sentence; empty where they do. Looked into once per device.
/// thread-safe.
[[nodiscard]] std::string problem(at::Device device);

/// kernels::rotateAndSplit. False, with nothing done, where the kernels do not run or types or layouts are not theirs
/// (float32, bfloat16 or float16, all of one type, rows of contiguous values).
[[nodiscard]] bool rotateAndSplit(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const RotaryTable& table, std::span<const std::int32_t> tableRows,
                                  const at::Tensor& qOut, const at::Tensor& kOut, const at::Tensor& vOut);

/// columnSums (attention_columns.h): q [H, N, D], k [K, S, D] → [S] float64 on their device. Empty where the kernels do
/// not run or types or layouts are not theirs.
[[nodiscard]] std::optional<at::Tensor> columnSums(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule);

}  // namespace lpes::model::own_kernels
