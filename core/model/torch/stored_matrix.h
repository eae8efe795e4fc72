#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/formats/weight_source.h"

namespace lpes::model {

/// A matrix that stays in its file as it is stored (quantised, mapped) and is dequantised block by block whenever it is
/// used: for models whose weights would not fit into memory otherwise. Several tensors with rows of one length stand
/// one below the other. immutable, thread-safe; every call that computes works with the calling thread's OpenMP
/// threads.
class StoredMatrix {
  public:
    /// The tensors exist (WeightSource::find).
    StoredMatrix(std::shared_ptr<const WeightSource> source, std::vector<std::string> names, ComputeType type);

    [[nodiscard]] std::int64_t rows() const { return m_rows; }
    [[nodiscard]] std::int64_t columns() const { return m_columns; }

    /// x·Wᵀ: x [N, columns] → out [N, rows], both of the compute type. Throws c10::Error with the reader's words where
    /// the file's values cannot be read.
    void product(const at::Tensor& x, const at::Tensor& out) const;
    /// The rows of these ids [N, columns].
    [[nodiscard]] at::Tensor gather(std::span<const std::int64_t> ids) const;
    /// All of it at once.
    [[nodiscard]] at::Tensor dense() const;

  private:
    struct Part {
        std::string name;
        std::int64_t firstRow = 0, rows = 0;
    };
    void read(std::int64_t firstRow, std::int64_t count, std::byte* out) const;

    std::shared_ptr<const WeightSource> m_source;
    std::vector<Part> m_parts;
    ComputeType m_type;
    std::int64_t m_rows = 0, m_columns = 0;
};

}  // namespace lpes::model
