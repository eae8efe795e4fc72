// The parts of a session that look at the attention of whole prompts.
#include <ATen/ATen.h>

#include "core/model/torch/attention_probe.h"
#include "core/model/torch/compute_scope.h"
#include "core/model/torch/request_checks.h"
#include "core/model/torch/torch_session.h"

namespace lpes::model {

Result<AttentionProbe> TorchSession::attentionOfAllTokens(std::span<const TokenId> prompt,
                                                          std::span<const TokenSpan> spans,
                                                          const PositionMethod& method, std::stop_token stop) {
    if (auto r = checkIds(prompt, "prompt", config()); !r) return fail(r.error());
    if (auto r = checkLength(prompt.size(), "prompt", contextLength(method)); !r) return fail(r.error());
    if (auto r = checkSpans(spans, prompt.size()); !r) return fail(r.error());
    if (auto r = checkOneAttention(method, "attention by position"); !r) return fail(r.error());
    if (auto r = checkPass(method, prompt.size(), false); !r) return fail(r.error());
    return computing("measuring attention", m_threads, [&]() -> Result<AttentionProbe> {
        AttentionProbe probe;
        (void)run(prompt, method, stop,
                  [&](int, const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule) {
                      probeAllRows(queries, keys, rule, spans, stop, probe);
                  });
        return probe;
    });
}

}  // namespace lpes::model
