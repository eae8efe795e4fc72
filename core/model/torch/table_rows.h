#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

namespace lpes::model {

/// The first of rows that follow each other one by one; empty where they do not.
[[nodiscard]] std::optional<std::int64_t> firstOfConsecutive(std::span<const std::int32_t> rows);

/// [N] int32 on the device. The thread's last rows on each device are kept: the layers of a pass ask for the same ones,
/// and each copy to a GPU would wait for it.
[[nodiscard]] at::Tensor rowsOn(at::Device device, std::span<const std::int32_t> rows);

}  // namespace lpes::model
