#include "core/model/torch/attention_probe.h"

#include "core/model/torch/attention.h"
#include "core/model/torch/attention_columns.h"

namespace lpes::model {
namespace {

/// One layer's shares of the tokens, summed by span.
void addLayer(const at::Tensor& shareByToken, std::span<const TokenSpan> spans, AttentionProbe& probe) {
    const at::Tensor row = shareByToken.cpu().contiguous();
    const double* share = row.const_data_ptr<double>();
    std::vector<double>& shares = probe.shareByLayer.emplace_back();
    for (const TokenSpan& span : spans) {
        double sum = 0.0;
        for (int token = span.begin; token < span.end; ++token) sum += share[token];
        shares.push_back(sum);
    }
    probe.sinkByLayer.push_back(share[0]);
}

}  // namespace

void probeLastRow(const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                  std::span<const TokenSpan> spans, AttentionProbe& probe) {
    addLayer(lastRowProbabilities(queries.select(1, queries.size(1) - 1), keys, rule).mean(0, false, at::kDouble),
             spans, probe);
}

void probeAllRows(const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                  std::span<const TokenSpan> spans, const std::stop_token& stop, AttentionProbe& probe) {
    const at::Tensor sums = columnSums(queries, keys, rule, stop);
    // Key k may be seen by the queries k … T−1.
    const at::Tensor queriesFrom = at::arange(sums.size(0), 0, -1, sums.options());
    addLayer(sums / queriesFrom, spans, probe);
}

}  // namespace lpes::model
