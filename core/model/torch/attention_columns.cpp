#include "core/model/torch/attention_columns.h"

#include <ATen/ATen.h>

#include "core/model/torch/own_kernels.h"
#include "core/model/torch/share_blocks.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {

at::Tensor columnSums(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule,
                      const std::stop_token& stop) {
    // On the CPU LibTorch's matrix products are faster than the kernel's reference.
    if (!q.is_cpu()) {
        if (auto sums = own_kernels::columnSums(q, k, rule)) return *sums;
    }
    return columnSumsInBlocks(q, k, rule, stop);
}

at::Tensor columnSumsInBlocks(const at::Tensor& q, const at::Tensor& k, const AttentionRule& rule,
                              const std::stop_token& stop) {
    const double perHead = 1.0 / static_cast<double>(q.size(0));
    at::Tensor sums = at::zeros({k.size(1)}, q.options().dtype(at::kDouble));
    forShareBlocks(q, k, rule, [&](const ShareBlock& block) {
        if (stop.stop_requested()) throw StopRequested{};
        sums.narrow(0, block.firstKey, block.keys).add_(block.shares.sum({0, 1}), perHead);
    });
    return sums;
}

}  // namespace lpes::model
