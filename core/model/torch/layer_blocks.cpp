#include "core/model/torch/layer_blocks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

#include "core/model/torch/kernels.h"
#include "core/model/torch/product_kernels.h"
#include "core/model/torch/tile_product.h"

namespace lpes::model {
namespace {

using Halves = std::uint16_t;

/// The most rows of a block: then weights come from memory faster than they are used.
constexpr std::int64_t kMostRows = 256;
/// What a block's rows may take of the second-level cache, and the least rows that are worth it.
constexpr std::int64_t kBlockBytes = std::int64_t{1536} << 10;
constexpr std::int64_t kLeastRows = 128;

const Halves* halves(const at::Tensor& tensor) {
    return static_cast<const Halves*>(tensor.const_data_ptr());
}
Halves* writable(const at::Tensor& tensor) {
    return static_cast<Halves*>(tensor.data_ptr());
}

/// The residual's change, the normed rows and the activated ones.
std::int64_t valuesPerRow(const ModelConfig& config) {
    return 2 * config.hiddenSize + config.intermediateSize;
}

std::int64_t mostRows(const ModelConfig& config) {
    return std::min(kMostRows, kBlockBytes / (2 * valuesPerRow(config)) / kPanelRows * kPanelRows);
}

/// Rows of each block: as many for each thread.
std::int64_t rowsOf(const ModelConfig& config, std::int64_t rows) {
    const std::int64_t threads = at::get_num_threads(), most = mostRows(config);
    const std::int64_t rounds = (rows + most * threads - 1) / (most * threads);
    const std::int64_t each = (rows + rounds * threads - 1) / (rounds * threads);
    return (each + kPanelRows - 1) / kPanelRows * kPanelRows;
}

struct Matrix {
    explicit Matrix(const Projection& projection)
        : panels(halves(projection.packed)),
          count(projection.packed.size(0)),
          depth(projection.packed.size(1) * kPanelDepth),
          bias(projection.bias.defined() ? halves(projection.bias) : nullptr) {}
    const Halves* panels;
    std::int64_t count, depth;
    const Halves* bias;
};

/// x·Wᵀ + b of `rows` rows of x into out. rest: as TileProduct::rest.
TileProduct productOf(const Halves* x, std::int64_t rows, const Halves* rest, const Matrix& matrix, std::int64_t panels,
                      Halves* out) {
    return {x, matrix.depth, matrix.depth, rows, rest, matrix.panels, panels, matrix.bias, out, panels * kPanelColumns};
}

void multiply(const Halves* x, std::int64_t rows, const Halves* rest, const Matrix& matrix, Halves* out) {
    productKernels().product(productOf(x, rows, rest, matrix, matrix.count, out));
}

void multiplyGated(const Halves* x, std::int64_t rows, const Matrix& matrix, Activation activation, Halves* out) {
    const std::int64_t columns = matrix.count / 2 * kPanelColumns;
    const GatedTileProduct work{productOf(x, rows, nullptr, matrix, matrix.count / 2, out),
                                matrix.panels + columns * matrix.depth, matrix.bias ? matrix.bias + columns : nullptr};
    (activation == Activation::Silu ? productKernels().siluProduct : productKernels().geluProduct)(work);
}

void norm(Halves* x, const Halves* delta, const at::Tensor& weight, double eps, std::int64_t rows, Halves* out) {
    const RowKernels<Bf16>& kernel = kernels::rowKernels<Bf16>();
    auto* const values = reinterpret_cast<Bf16*>(x);
    const auto* const added = reinterpret_cast<const Bf16*>(delta);
    auto* const normed = reinterpret_cast<Bf16*>(out);
    const std::int64_t size = weight.size(0);
    if (weight.scalar_type() == at::kFloat) {
        kernel.wideNorm(values, added, weight.const_data_ptr<float>(), static_cast<float>(eps), size, normed, 0, rows);
    } else {
        kernel.norm(values, added, reinterpret_cast<const Bf16*>(halves(weight)), static_cast<float>(eps), size, normed,
                    0, rows);
    }
}

/// x += delta, as it is rounded in a norm.
void add(Halves* x, const Halves* delta, std::int64_t count) {
    kernels::rowKernels<Bf16>().add(reinterpret_cast<Bf16*>(x), reinterpret_cast<const Bf16*>(delta), count);
}

/// Calls body(first, count, memory) for every block of rows, on all threads.
template <class Body>
void forBlocks(const ModelConfig& config, std::int64_t rows, const at::Tensor& scratch, const Body& body) {
    const ProductKernels& kernel = productKernels();
    const std::int64_t blockRows = rowsOf(config, rows), blocks = (rows + blockRows - 1) / blockRows;
    const std::int64_t each = blockRows * valuesPerRow(config);
    std::atomic<std::int64_t> next = 0;
    const auto work = [&](std::int64_t thread, std::int64_t) {
        kernel.begin();
        for (std::int64_t block = next++; block < blocks; block = next++) {
            const std::int64_t first = block * blockRows;
            body(first, std::min(blockRows, rows - first), writable(scratch) + thread * each);
        }
        kernel.end();
    };
    at::parallel_for(0, std::min<std::int64_t>(at::get_num_threads(), blocks), 1, work);
}

bool inTiles(const Projection& projection) {
    return projection.packed.defined() && !projection.packed.is_mkldnn();
}

}  // namespace

bool worthBlocks(const ModelConfig& config, const LayerWeights& weights, std::int64_t rows) {
    return hasTiles() && rows >= kLeastRows * at::get_num_threads() && mostRows(config) >= kLeastRows &&
           weights.qkv.size() == 1 && inTiles(weights.qkv[0]) && inTiles(weights.output) && inTiles(weights.down) &&
           weights.gateUp.size() == 1 && inTiles(weights.gateUp[0]) && config.intermediateSize % kPanelColumns == 0;
}

std::int64_t blockScratch(const ModelConfig& config, std::int64_t rows) {
    return at::get_num_threads() * rowsOf(config, rows) * valuesPerRow(config);
}

void startLayer(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& hidden,
                const at::Tensor& pending, const at::Tensor& qkv, const at::Tensor& scratch) {
    const std::int64_t size = config.hiddenSize, columns = qkv.size(1);
    const Matrix matrix(weights.qkv[0]);
    forBlocks(config, hidden.size(0), scratch, [&](std::int64_t first, std::int64_t count, Halves* normed) {
        norm(writable(hidden) + first * size, pending.defined() ? halves(pending) + first * size : nullptr,
             weights.attentionNorm, config.rmsNormEps, count, normed);
        multiply(normed, count, nullptr, matrix, writable(qkv) + first * columns);
    });
}

void finishLayer(const ModelConfig& config, const LayerWeights& weights, const at::Tensor& context,
                 const at::Tensor& hidden, const at::Tensor& scratch) {
    const std::int64_t rows = hidden.size(0), size = config.hiddenSize, contextSize = context.size(1);
    const Matrix output(weights.output), gateUp(weights.gateUp[0]), down(weights.down);
    const at::Tensor rest = completedRows(context);
    forBlocks(config, rows, scratch, [&](std::int64_t first, std::int64_t count, Halves* delta) {
        Halves* const normed = delta + rowsOf(config, rows) * size;
        Halves* const activated = normed + rowsOf(config, rows) * size;
        Halves* const x = writable(hidden) + first * size;
        multiply(halves(context) + first * contextSize, count, rest.defined() ? halves(rest) : nullptr, output, delta);
        if (config.postNorms) norm(delta, nullptr, weights.postAttentionNorm, config.rmsNormEps, count, delta);
        norm(x, delta, weights.mlpNorm, config.rmsNormEps, count, normed);
        multiplyGated(normed, count, gateUp, config.activation, activated);
        multiply(activated, count, nullptr, down, delta);
        if (config.postNorms) norm(delta, nullptr, weights.postMlpNorm, config.rmsNormEps, count, delta);
        add(x, delta, count * size);
    });
}

}  // namespace lpes::model
