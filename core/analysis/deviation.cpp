#include "core/analysis/deviation.h"

#include <fmt/format.h>

#include <cmath>

namespace lpes::analysis {

namespace {

Result<void> checkPrompts(const std::string& variant, std::span<const PromptDeviation> prompts) {
    if (prompts.empty()) {
        return fail(ErrorCode::Failed,
                    fmt::format("no prompt was measured for the variant '{}'; every item may be too long for the model",
                                variant));
    }
    const std::size_t layers = prompts.front().deviation.size();
    if (layers == 0) return fail(ErrorCode::Failed, fmt::format("the variant '{}' has no layers", variant));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const PromptDeviation& prompt = prompts[i];
        if (prompt.deviation.size() != layers || prompt.rsa.size() != layers || prompt.meanCosine.size() != layers) {
            return fail(
                ErrorCode::Failed,
                fmt::format("prompt {} of the variant '{}' has {} deviations, {} correlations and {} cosines instead "
                            "of {} each",
                            i, variant, prompt.deviation.size(), prompt.rsa.size(), prompt.meanCosine.size(), layers));
        }
        for (std::size_t h = 0; h < layers; ++h) {
            if (std::isfinite(prompt.deviation[h]) && std::isfinite(prompt.rsa[h]) &&
                std::isfinite(prompt.meanCosine[h])) {
                continue;
            }
            return fail(
                ErrorCode::Failed,
                fmt::format("prompt {} of the variant '{}' has no finite deviation in layer {}", i, variant, h));
        }
    }
    return {};
}

}  // namespace

Result<DeviationSummary> summariseDeviation(const std::string& variant, std::span<const PromptDeviation> prompts,
                                            std::uint64_t seed) {
    if (auto checked = checkPrompts(variant, prompts); !checked) return fail(checked.error());
    DeviationSummary summary;
    summary.variant = variant;
    summary.prompts = static_cast<std::int64_t>(prompts.size());
    std::vector<double> column(prompts.size());
    const auto gather = [&](auto value) {
        for (std::size_t i = 0; i < prompts.size(); ++i) column[i] = value(prompts[i]);
        return std::span<const double>(column);
    };
    for (std::size_t h = 0; h < prompts.front().deviation.size(); ++h) {
        DeviationSummary::Layer layer;
        layer.layer = static_cast<int>(h);
        layer.rsa = mean(gather([h](const PromptDeviation& prompt) { return prompt.rsa[h]; }));
        layer.cosine = mean(gather([h](const PromptDeviation& prompt) { return prompt.meanCosine[h]; }));
        const auto deviations = gather([h](const PromptDeviation& prompt) { return prompt.deviation[h]; });
        layer.deviation = mean(deviations);
        layer.interval = bootstrapMeanInterval(deviations, seed);
        summary.layers.push_back(layer);
    }
    const auto byPrompt = gather([](const PromptDeviation& prompt) { return mean(prompt.deviation); });
    summary.meanDeviation = mean(byPrompt);
    summary.meanInterval = bootstrapMeanInterval(byPrompt, seed);
    return summary;
}

DeviationPlot::Series deviationSeries(const DeviationSummary& summary, SeriesRole role) {
    DeviationPlot::Series series;
    series.name = summary.variant;
    series.role = role;
    for (const auto& layer : summary.layers) {
        series.deviation.push_back(layer.deviation);
        series.low.push_back(layer.interval.low);
        series.high.push_back(layer.interval.high);
    }
    return series;
}

}  // namespace lpes::analysis
