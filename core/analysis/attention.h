#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/base/result.h"

namespace lpes::analysis {

/// The attention of a prompt's last token, or of all, as the model's probe gives it (methods.md §4). The spans are the
/// records in prompt order, then the instruction, then the question: K + 2 columns.
struct PromptAttention {
    int position = 0;                               ///< ordinal in the run's list of positions
    int goldIndex = 0;                              ///< record that holds the evidence
    std::vector<std::vector<double>> shareByLayer;  ///< [L][K + 2], attention on the span, mean over heads
    std::vector<int> tokensPerSpan;                 ///< [K + 2], each ≥ 1
    std::vector<double> sinkByLayer;                ///< [L], attention on token 0, mean over heads
};

/// Means over layers and prompts. The instruction's share includes the sink when the prompt begins with the
/// instruction.
struct AttentionSummary {
    std::vector<AttentionPlot::Position> positions;  ///< in the order of the labels; means over the prompts there
    std::vector<std::int64_t> promptsByPosition;
    double sink = 0.0;  ///< over all prompts of all positions
    double instructionShare = 0.0;
    double questionShare = 0.0;
};

/// share: mean over prompts of the share on the record; meanPerToken: mean over prompts of share / tokens of the record
/// (Hsieh et al., arXiv 2406.16008, Attn(k)). Failed when a position has no prompt, when prompts differ in layers or
/// records, when a prompt's position has no label or its gold index differs from that of others at the position, when a
/// span has no tokens, or when a value is not finite (names the prompt).
[[nodiscard]] Result<AttentionSummary> summariseAttention(std::span<const PromptAttention> prompts,
                                                          std::span<const std::string> positionLabels);

/// The summary as a series of the attention plot.
[[nodiscard]] AttentionPlot::Series attentionSeries(const AttentionSummary& summary, const std::string& name,
                                                    SeriesRole role);

}  // namespace lpes::analysis
