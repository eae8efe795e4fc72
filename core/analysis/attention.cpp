#include "core/analysis/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/analysis/statistics.h"

namespace lpes::analysis {

namespace {

constexpr std::size_t kOtherSpans = 2;  // instruction and question, behind the records

Result<void> checkPrompt(std::size_t number, const PromptAttention& prompt, const PromptAttention& first,
                         std::size_t positions) {
    const auto refuse = [number](const std::string& what) {
        return fail(ErrorCode::Failed, fmt::format("attention of prompt {} {}", number, what));
    };
    const std::size_t layers = first.shareByLayer.size(), spans = first.tokensPerSpan.size();
    if (prompt.position < 0 || static_cast<std::size_t>(prompt.position) >= positions) {
        return refuse(fmt::format("belongs to position {} of {}", prompt.position, positions));
    }
    if (layers == 0 || spans <= kOtherSpans) return refuse("has no layers or no records");
    if (prompt.shareByLayer.size() != layers || prompt.sinkByLayer.size() != layers) {
        return refuse(fmt::format("has {} layers of shares and {} of sinks instead of {}", prompt.shareByLayer.size(),
                                  prompt.sinkByLayer.size(), layers));
    }
    if (prompt.tokensPerSpan.size() != spans) {
        return refuse(fmt::format("has {} spans instead of {}", prompt.tokensPerSpan.size(), spans));
    }
    if (std::any_of(prompt.tokensPerSpan.begin(), prompt.tokensPerSpan.end(), [](int tokens) { return tokens < 1; })) {
        return refuse("has a span without tokens");
    }
    for (std::size_t h = 0; h < layers; ++h) {
        const auto& shares = prompt.shareByLayer[h];
        if (shares.size() != spans)
            return refuse(fmt::format("has {} spans in layer {} instead of {}", shares.size(), h, spans));
        const bool finite =
            std::all_of(shares.begin(), shares.end(), [](double share) { return std::isfinite(share); });
        if (!finite || !std::isfinite(prompt.sinkByLayer[h]))
            return refuse(fmt::format("is not finite in layer {}", h));
    }
    return {};
}

void divide(std::vector<double>& values, double by) {
    for (double& value : values) value /= by;
}

}  // namespace

Result<AttentionSummary> summariseAttention(std::span<const PromptAttention> prompts,
                                            std::span<const std::string> positionLabels) {
    if (prompts.empty()) {
        return fail(ErrorCode::Failed, "no prompt's attention was measured; every item may be too long for the model");
    }
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        if (auto checked = checkPrompt(i, prompts[i], prompts.front(), positionLabels.size()); !checked) {
            return fail(checked.error());
        }
    }
    const std::size_t layers = prompts.front().shareByLayer.size();
    const std::size_t records = prompts.front().tokensPerSpan.size() - kOtherSpans;
    const double numLayers = static_cast<double>(layers), numPrompts = static_cast<double>(prompts.size());

    AttentionSummary summary;
    summary.promptsByPosition.resize(positionLabels.size());
    for (const std::string& label : positionLabels) {
        AttentionPlot::Position position;
        position.label = label;
        position.share.resize(records);
        position.meanPerToken.resize(records);
        position.shareByLayer.assign(layers, std::vector<double>(records));
        summary.positions.push_back(std::move(position));
    }
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const PromptAttention& prompt = prompts[i];
        const auto p = static_cast<std::size_t>(prompt.position);
        AttentionPlot::Position& position = summary.positions[p];
        if (summary.promptsByPosition[p]++ == 0) position.goldIndex = prompt.goldIndex;
        if (position.goldIndex != prompt.goldIndex) {
            return fail(ErrorCode::Failed,
                        fmt::format("attention of prompt {} has gold index {}, others at position '{}' have {}", i,
                                    prompt.goldIndex, position.label, position.goldIndex));
        }
        summary.sink += mean(prompt.sinkByLayer) / numPrompts;
        for (std::size_t h = 0; h < layers; ++h) {
            const auto& shares = prompt.shareByLayer[h];
            for (std::size_t k = 0; k < records; ++k) {
                position.shareByLayer[h][k] += shares[k];
                position.share[k] += shares[k] / numLayers;
                position.meanPerToken[k] += shares[k] / numLayers / prompt.tokensPerSpan[k];
            }
            summary.instructionShare += shares[records] / numLayers / numPrompts;
            summary.questionShare += shares[records + 1] / numLayers / numPrompts;
        }
    }
    for (std::size_t p = 0; p < summary.positions.size(); ++p) {
        AttentionPlot::Position& position = summary.positions[p];
        const auto count = static_cast<double>(summary.promptsByPosition[p]);
        if (summary.promptsByPosition[p] == 0) {
            return fail(ErrorCode::Failed,
                        fmt::format("no prompt's attention was measured at position '{}'", position.label));
        }
        divide(position.share, count);
        divide(position.meanPerToken, count);
        for (auto& layer : position.shareByLayer) divide(layer, count);
    }
    return summary;
}

AttentionPlot::Series attentionSeries(const AttentionSummary& summary, const std::string& name, SeriesRole role) {
    return {name, role, summary.positions};
}

}  // namespace lpes::analysis
