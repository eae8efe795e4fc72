#pragma once

#include <cstdint>

namespace lpes::model {

/// What a layer does with its scores before the softmax, beside the causal mask.
struct AttentionRule {
    /// Multiplies q·k: 1/√D in most families, 1/√query_pre_attn_scalar in Gemma.
    double scale = 1.0;
    /// 0: none. Otherwise scores become cap · tanh(scores / cap), after scaling and before masking (Gemma 2).
    double softcap = 0.0;
    /// 0: every earlier key. Otherwise query i sees the keys j with i − window < j ≤ i, as in the overlay that
    /// transformers makes for `sliding_window`.
    std::int64_t window = 0;

    /// The first key that a query at `position` sees.
    [[nodiscard]] std::int64_t firstKey(std::int64_t position) const {
        return window > 0 && position >= window ? position - window + 1 : 0;
    }
};

}  // namespace lpes::model
