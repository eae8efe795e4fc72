#include "core/model/torch/representation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lpes::model {
namespace {

constexpr double kSinkFactor = 10.0;
constexpr std::int64_t kRowBlock = 256;
constexpr double kBinsPerUnit = 1 << 19;
constexpr std::size_t kBins = (2u << 19) + 1;  // distances lie in 0 … 2

double squaredNorm(const at::Tensor& matrix) {
    return matrix.pow(2).sum().item<double>();
}

at::Tensor normalizedRows(const at::Tensor& x) {
    const at::Tensor wide = x.to(at::kDouble);
    return (wide / wide.norm(2, {1}, true).clamp_min(1e-300)).to(at::kFloat);
}

std::size_t binOf(float cosine) {
    const double distance = std::clamp(1.0 - static_cast<double>(cosine), 0.0, 2.0);
    return static_cast<std::size_t>(distance * kBinsPerUnit + 0.5);
}

/// Calls body(x distance's bin, y distance's bin) for every pair of rows i < j.
template <class Body>
void forPairs(const at::Tensor& x, const at::Tensor& y, const Body& body) {
    const std::int64_t rows = x.size(0);
    for (std::int64_t first = 0; first < rows; first += kRowBlock) {
        const std::int64_t count = std::min(kRowBlock, rows - first);
        const at::Tensor left = at::mm(x.narrow(0, first, count), x.t());
        const at::Tensor right = at::mm(y.narrow(0, first, count), y.t());
        const float* a = left.const_data_ptr<float>();
        const float* b = right.const_data_ptr<float>();
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = first + i + 1; j < rows; ++j) body(binOf(a[i * rows + j]), binOf(b[i * rows + j]));
        }
    }
}

/// Counts → average rank minus the mean rank, per bin; answers the sum of squares over all entries.
double centredRanks(std::vector<double>& bins, double pairs) {
    double before = 0.0, squares = 0.0;
    const double mean = (pairs + 1.0) / 2.0;
    for (double& bin : bins) {
        const double count = bin;
        bin = before + (count + 1.0) / 2.0 - mean;
        before += count;
        squares += count * bin * bin;
    }
    return squares;
}

}  // namespace

at::Tensor comparedRows(const at::Tensor& hidden) {
    const at::Tensor norms = hidden.to(at::kDouble).norm(2, {1});
    at::Tensor kept = norms <= kSinkFactor * norms.median();
    kept[0] = false;
    return kept.nonzero().squeeze(1);
}

double linearCka(const at::Tensor& x, const at::Tensor& y) {
    const at::Tensor a = x.to(at::kDouble) - x.to(at::kDouble).mean(0, true);
    const at::Tensor b = y.to(at::kDouble) - y.to(at::kDouble).mean(0, true);
    double cross = 0.0, left = 0.0, right = 0.0;
    if (x.size(0) < x.size(1)) {
        const at::Tensor gramA = at::mm(a, a.t()), gramB = at::mm(b, b.t());
        cross = (gramA * gramB).sum().item<double>();
        left = squaredNorm(gramA);
        right = squaredNorm(gramB);
    } else {
        cross = squaredNorm(at::mm(b.t(), a));
        left = squaredNorm(at::mm(a.t(), a));
        right = squaredNorm(at::mm(b.t(), b));
    }
    if (left == 0.0 || right == 0.0) return left == right ? 1.0 : 0.0;
    return cross / std::sqrt(left * right);
}

double distanceRankCorrelation(const at::Tensor& x, const at::Tensor& y) {
    const at::Tensor a = normalizedRows(x), b = normalizedRows(y);
    std::vector<double> binsX(kBins, 0.0), binsY(kBins, 0.0);
    forPairs(a, b, [&](std::size_t binX, std::size_t binY) {
        binsX[binX] += 1.0;
        binsY[binY] += 1.0;
    });
    const double rows = static_cast<double>(x.size(0)), pairs = rows * (rows - 1.0) / 2.0;
    const double squaresX = centredRanks(binsX, pairs), squaresY = centredRanks(binsY, pairs);
    if (squaresX == 0.0 || squaresY == 0.0) return squaresX == squaresY ? 1.0 : 0.0;
    double products = 0.0;
    forPairs(a, b, [&](std::size_t binX, std::size_t binY) { products += binsX[binX] * binsY[binY]; });
    return products / std::sqrt(squaresX * squaresY);
}

double meanCosine(const at::Tensor& x, const at::Tensor& y) {
    const at::Tensor a = x.to(at::kDouble), b = y.to(at::kDouble);
    const at::Tensor lengths = (a.norm(2, {1}) * b.norm(2, {1})).clamp_min(1e-300);
    return ((a * b).sum(1) / lengths).mean().item<double>();
}

}  // namespace lpes::model
