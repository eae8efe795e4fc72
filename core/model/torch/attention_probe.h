#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <stop_token>

#include "core/model/causal_lm.h"
#include "core/model/torch/attention_rule.h"

namespace lpes::model {

/// Adds one layer's last-row attention to the probe: queries [H, T, D] and keys [K, T, D] after rotation,
/// and the layer's rule.
void probeLastRow(const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                  std::span<const TokenSpan> spans, AttentionProbe& probe);

/// The same for the mean over all queries from each key on (ModelSession::attentionOfAllTokens): queries and keys of
/// the same T tokens. Throws StopRequested.
void probeAllRows(const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                  std::span<const TokenSpan> spans, const std::stop_token& stop, AttentionProbe& probe);

}  // namespace lpes::model
