#include "core/model/torch/table_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <vector>

namespace lpes::model {
namespace {

struct Kept {
    std::vector<std::int32_t> rows;
    at::Tensor onDevice;
};

}  // namespace

std::optional<std::int64_t> firstOfConsecutive(std::span<const std::int32_t> rows) {
    if (rows.empty()) return std::nullopt;
    // All of them: the ends alone look consecutive when prompts of several lengths share a table in another order.
    const auto gap = std::adjacent_find(rows.begin(), rows.end(),
                                        [](std::int32_t row, std::int32_t next) { return next != row + 1; });
    if (gap != rows.end()) return std::nullopt;
    return rows.front();
}

at::Tensor rowsOn(at::Device device, std::span<const std::int32_t> rows) {
    thread_local std::map<int, Kept> keptByDevice;
    Kept& kept = keptByDevice[device.is_cpu() ? -1 : device.index()];
    if (!kept.onDevice.defined() || !std::equal(rows.begin(), rows.end(), kept.rows.begin(), kept.rows.end())) {
        kept.rows.assign(rows.begin(), rows.end());
        kept.onDevice = at::tensor(kept.rows, at::kInt).to(device);
    }
    return kept.onDevice;
}

}  // namespace lpes::model
