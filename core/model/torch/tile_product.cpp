#include "core/model/torch/tile_product.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "core/model/torch/processor.h"
#include "core/model/torch/product_kernels.h"

namespace lpes::model {
namespace {

/// Weights that a task keeps in the second-level cache, and the rows it takes through them.
constexpr std::int64_t kTaskBytes = std::int64_t{768} << 10;
constexpr std::int64_t kTaskRows = 128;
constexpr std::int64_t kTasksPerThread = 4;

/// Linux hands the tiles' registers out on request only (arch_prctl(2), ARCH_REQ_XCOMP_PERM of XTILEDATA).
bool requestTiles() {
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

const std::uint16_t* halves(const at::Tensor& tensor) {
    return static_cast<const std::uint16_t*>(tensor.const_data_ptr());
}

}  // namespace

bool hasTiles() {
    static const bool has = processor().amxBf16 && processor().avx512 && processor().avx512Bf16 && requestTiles();
    return has;
}

bool fitsTiles(const at::Tensor& weight) {
    return weight.size(0) % kPanelColumns == 0 && weight.size(1) % kPanelDepth == 0;
}

std::array<std::int64_t, 5> tileShape(const at::Tensor& weight) {
    return {weight.size(0) / kPanelColumns, weight.size(1) / kPanelDepth, 2, 16, kPanelDepth};
}

void packTiles(const at::Tensor& weight, const at::Tensor& packed) {
    const auto shape = tileShape(weight);
    // Pairs of inputs are moved as one word: [panel, tile, output, step, pair] → [panel, step, tile, pair, output].
    packed.view(at::kInt).copy_(
        weight.contiguous().view(at::kInt).view({shape[0], 2, 16, shape[1], 16}).permute({0, 3, 1, 4, 2}));
}

at::Tensor packTiles(const at::Tensor& weight) {
    at::Tensor packed = at::empty(tileShape(weight), at::kBFloat16);
    packTiles(weight, packed);
    return packed;
}

at::Tensor unpackTiles(const at::Tensor& packed) {
    return packed.view(at::kInt)
        .permute({0, 2, 4, 1, 3})
        .contiguous()
        .view({packed.size(0) * kPanelColumns, -1})
        .view(at::kBFloat16);
}

std::int64_t tileOutputs(const at::Tensor& packed) {
    return packed.size(0) * kPanelColumns;
}

at::Tensor completedRows(const at::Tensor& x) {
    const std::int64_t rows = x.size(0), incomplete = rows % kPanelRows;
    if (incomplete == 0) return {};
    at::Tensor rest = at::zeros({kPanelRows, x.size(1)}, x.scalar_type());
    rest.narrow(0, 0, incomplete).copy_(x.narrow(0, rows - incomplete, incomplete));
    return rest;
}

void tileProduct(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias, const at::Tensor& out) {
    const ProductKernels& kernel = productKernels();
    const std::int64_t rows = x.size(0), panels = packed.size(0), depth = packed.size(1) * kPanelDepth;
    const std::int64_t panelHalves = depth * kPanelColumns, outStride = panels * kPanelColumns;
    auto* target = static_cast<std::uint16_t*>(out.data_ptr());
    const auto workOf = [&](std::int64_t row, std::int64_t rowCount, std::int64_t panel, std::int64_t count) {
        return TileProduct{halves(x) + row * x.stride(0),
                           x.stride(0),
                           depth,
                           rowCount,
                           nullptr,
                           halves(packed) + panel * panelHalves,
                           count,
                           bias.defined() ? halves(bias) + panel * kPanelColumns : nullptr,
                           target + row * outStride + panel * kPanelColumns,
                           outStride};
    };
    if (rows == 1) {
        at::parallel_for(0, panels, 1, [&](std::int64_t begin, std::int64_t end) {
            kernel.rowProduct(workOf(0, 1, begin, end - begin));
        });
        return;
    }
    const at::Tensor rest = completedRows(x);
    const std::int64_t rowTasks = (rows + kTaskRows - 1) / kTaskRows, threads = at::get_num_threads();
    const std::int64_t most = std::max<std::int64_t>(1, kTaskBytes / (panelHalves * 2));
    const std::int64_t together =
        std::clamp<std::int64_t>(panels * rowTasks / (kTasksPerThread * threads), 1, std::min(most, panels));
    const std::int64_t panelTasks = (panels + together - 1) / together;
    std::atomic<std::int64_t> next = 0;
    at::parallel_for(0, std::min(threads, panelTasks * rowTasks), 1, [&](std::int64_t, std::int64_t) {
        kernel.begin();
        for (std::int64_t task = next++; task < panelTasks * rowTasks; task = next++) {
            const std::int64_t panel = task / rowTasks * together, row = task % rowTasks * kTaskRows;
            TileProduct work = workOf(row, std::min(kTaskRows, rows - row), panel, std::min(together, panels - panel));
            if (rest.defined()) work.rest = halves(rest);
            kernel.product(work);
        }
        kernel.end();
    });
}

}  // namespace lpes::model
