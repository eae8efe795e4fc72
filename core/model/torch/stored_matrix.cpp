#include "core/model/torch/stored_matrix.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/model/torch/decoder_weights.h"

namespace lpes::model {
namespace {

/// A block of rows stays in the second-level cache between being dequantised and being multiplied.
constexpr std::int64_t kBlockBytes = 2 << 20;

}  // namespace

StoredMatrix::StoredMatrix(std::shared_ptr<const WeightSource> source, std::vector<std::string> names, ComputeType type)
    : m_source(std::move(source)), m_type(type) {
    for (std::string& name : names) {
        const TensorView* view = m_source->find(name);
        const std::int64_t rows = rowCountOf(*view);
        m_columns = view->shape.back();
        m_parts.push_back({std::move(name), m_rows, rows});
        m_rows += rows;
    }
}

void StoredMatrix::read(std::int64_t firstRow, std::int64_t count, std::byte* out) const {
    const std::int64_t rowBytes = m_columns * static_cast<std::int64_t>(c10::elementSize(scalarType(m_type)));
    at::parallel_for(0, count, 16, [&](std::int64_t begin, std::int64_t end) {
        for (const Part& part : m_parts) {
            const std::int64_t from = std::max(firstRow + begin, part.firstRow);
            const std::int64_t to = std::min(firstRow + end, part.firstRow + part.rows);
            if (from >= to) continue;
            const auto done = m_source->readRows(
                part.name, m_type, from - part.firstRow, to - from,
                {out + (from - firstRow) * rowBytes, static_cast<std::size_t>((to - from) * rowBytes)});
            TORCH_CHECK(done.has_value(), done.error().message);
        }
    });
}

void StoredMatrix::product(const at::Tensor& x, const at::Tensor& out) const {
    const std::int64_t rowBytes = m_columns * static_cast<std::int64_t>(c10::elementSize(scalarType(m_type)));
    const std::int64_t blockRows = std::clamp<std::int64_t>(kBlockBytes / rowBytes, 1, m_rows);
    const at::Tensor block = at::empty({blockRows, m_columns}, scalarType(m_type));
    for (std::int64_t first = 0; first < m_rows; first += blockRows) {
        const std::int64_t count = std::min(blockRows, m_rows - first);
        read(first, count, static_cast<std::byte*>(block.data_ptr()));
        out.narrow(1, first, count).copy_(at::mm(x, block.narrow(0, 0, count).t()));
    }
}

at::Tensor StoredMatrix::gather(std::span<const std::int64_t> ids) const {
    at::Tensor out = at::empty({static_cast<std::int64_t>(ids.size()), m_columns}, scalarType(m_type));
    const std::int64_t rowBytes = m_columns * out.element_size();
    auto* target = static_cast<std::byte*>(out.data_ptr());
    for (std::size_t i = 0; i < ids.size(); ++i) read(ids[i], 1, target + static_cast<std::int64_t>(i) * rowBytes);
    return out;
}

at::Tensor StoredMatrix::dense() const {
    at::Tensor out = at::empty({m_rows, m_columns}, scalarType(m_type));
    read(0, m_rows, static_cast<std::byte*>(out.data_ptr()));
    return out;
}

}  // namespace lpes::model
