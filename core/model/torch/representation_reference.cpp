#include "core/model/torch/representation_reference.h"

#include <ATen/ATen.h>

#include <cmath>

#include "core/model/torch/representation.h"

namespace lpes::model {
namespace {

/// Σ a·b over all entries, products and sum in double. One pass of our own: a handful of library calls would cost more
/// than the matrix product before it.
double sumOfProducts(const at::Tensor& left, const at::Tensor& right) {
    const float* a = left.const_data_ptr<float>();
    const float* b = right.const_data_ptr<float>();
    double sum = 0.0;
    for (std::int64_t i = 0; i < left.numel(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

double squaredNorm(const at::Tensor& matrix) {
    return sumOfProducts(matrix, matrix);
}

}  // namespace

at::Tensor KernelSide::centred(const at::Tensor& hidden) const {
    const at::Tensor rows = hidden.index_select(0, m_rows).to(at::kFloat);
    return rows - rows.mean(0, true);
}

KernelSide::KernelSide(const at::Tensor& hidden) : m_rows(comparedRows(hidden)) {
    const at::Tensor rows = centred(hidden);
    m_gram = rows.size(0) < rows.size(1);
    m_kernel = m_gram ? at::mm(rows, rows.t()) : rows;
    m_square = m_gram ? squaredNorm(m_kernel) : squaredNorm(at::mm(rows.t(), rows));
}

double KernelSide::deviation(const at::Tensor& hidden) const {
    const at::Tensor rows = centred(hidden);
    double cross = 0.0, square = 0.0;
    if (m_gram) {
        const at::Tensor other = at::mm(rows, rows.t());
        cross = sumOfProducts(m_kernel, other);
        square = squaredNorm(other);
    } else {
        cross = squaredNorm(at::mm(rows.t(), m_kernel));
        square = squaredNorm(at::mm(rows.t(), rows));
    }
    if (m_square == 0.0 || square == 0.0) return m_square == square ? 0.0 : 1.0;
    const double deviation = 1.0 - cross / std::sqrt(m_square * square);
    return deviation < 0.0 ? 0.0 : deviation;  // rounding; what is not a number stays so
}

std::int64_t KernelSide::bytes() const {
    return static_cast<std::int64_t>(m_kernel.nbytes() + m_rows.nbytes());
}

std::int64_t TorchReference::bytes() const {
    std::int64_t sum = 0;
    for (const KernelSide& layer : m_layers) sum += layer.bytes();
    return sum;
}

}  // namespace lpes::model
