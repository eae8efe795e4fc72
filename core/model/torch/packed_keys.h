#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/torch/attention_step.h"
#include "core/model/torch/block_attention.h"

namespace lpes::model {

/// Where the sequences of a pass without a cache have their keys and values: each one's stand together, the beginning
/// that it shares with another included, as attention wants them. A copy per layer is cheap beside the attention.
struct PackedKeys {
    std::vector<AttentionPart> parts;  ///< [segments]
    std::int64_t rows = 0;             ///< of all sequences together

    explicit PackedKeys(std::span<const Segment> segments, std::span<const std::int32_t> positions);

    /// Rows of a segment's own tokens in keys or values [K, rows, D].
    [[nodiscard]] at::Tensor own(const at::Tensor& all, std::size_t segment) const;
    /// Fills the rows ahead of them in order of the segments, each from one that is complete.
    void fetchBeginning(const at::Tensor& all, std::span<const Segment> segments, std::size_t segment) const;
};

}  // namespace lpes::model
