// The parts of a session that look at the attention of whole prompts.
#include <ATen/ATen.h>

#include "core/model/torch/attention_probe.h"
#include "core/model/torch/compute_scope.h"
#include "core/model/torch/request_checks.h"
#include "core/model/torch/torch_session.h"

namespace lpes::model {

Result<AttentionProbe> TorchSession::probeLayers(std::span<const TokenId> prompt, std::span<const TokenSpan> spans,
                                                 const PositionMethod& method, const std::stop_token& stop,
                                                 const LayerProbe& probeLayer) {
    if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(prompt.size(), "prompt", contextLength(method)); !r) return fail(r.error());
    if (auto r = checkSpans(spans, prompt.size()); !r) return fail(r.error());
    if (auto r = rope::requireOneAttention(method, "attention by position"); !r) return fail(r.error());
    if (auto r = checkPass(method, prompt.size(), false); !r) return fail(r.error());
    return computing("measuring attention", m_threads, [&]() -> Result<AttentionProbe> {
        AttentionProbe probe;
        (void)run(prompt, method, stop,
                  [&](int, const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule) {
                      probeLayer(queries, keys, rule, probe);
                  });
        return probe;
    });
}

Result<AttentionProbe> TorchSession::attentionOfLastToken(std::span<const TokenId> prompt,
                                                          std::span<const TokenSpan> spans,
                                                          const PositionMethod& method, std::stop_token stop) {
    return probeLayers(prompt, spans, method, stop,
                       [&](const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                           AttentionProbe& probe) { probeLastRow(queries, keys, rule, spans, probe); });
}

Result<AttentionProbe> TorchSession::attentionOfAllTokens(std::span<const TokenId> prompt,
                                                          std::span<const TokenSpan> spans,
                                                          const PositionMethod& method, std::stop_token stop) {
    return probeLayers(prompt, spans, method, stop,
                       [&](const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                           AttentionProbe& probe) { probeAllRows(queries, keys, rule, spans, stop, probe); });
}

}  // namespace lpes::model
