#include "core/model/torch/attention_probe.h"

#include "core/model/torch/attention.h"

namespace lpes::model {

void probeLastRow(const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                  std::span<const TokenSpan> spans, AttentionProbe& probe) {
    const at::Tensor row = lastRowProbabilities(queries.select(1, queries.size(1) - 1), keys, rule)
                               .mean(0, false, at::kDouble)
                               .contiguous();
    const double* share = row.const_data_ptr<double>();
    std::vector<double>& shares = probe.shareByLayer.emplace_back();
    for (const TokenSpan& span : spans) {
        double sum = 0.0;
        for (int token = span.begin; token < span.end; ++token) sum += share[token];
        shares.push_back(sum);
    }
    probe.sinkByLayer.push_back(share[0]);
}

}  // namespace lpes::model
