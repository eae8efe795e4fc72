#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/plot_data.h"
#include "core/analysis/statistics.h"
#include "core/base/result.h"

namespace lpes::analysis {

/// How far one prompt's hidden states lie from the baseline's under a variant, layer by layer (methods.md §4): what the
/// model's probe gives for it. All of size [L].
struct PromptDeviation {
    std::vector<double> deviation;   ///< 1 − linear CKA
    std::vector<double> rsa;         ///< Spearman of the distance matrices
    std::vector<double> meanCosine;  ///< mean over tokens of cos(x_i, y_i)
};

/// A variant over all prompts.
struct DeviationSummary {
    std::string variant;  ///< "smooth", "noisy", "shuffled"
    std::int64_t prompts = 0;
    double meanDeviation = 0.0;  ///< mean over layers and prompts
    Interval meanInterval;       ///< bootstrap over prompts of each prompt's mean over layers, 95 %
    struct Layer {
        int layer = 0;
        double deviation = 0.0;
        Interval interval;  ///< bootstrap over prompts, 95 %
        double rsa = 0.0;
        double cosine = 0.0;
    };
    std::vector<Layer> layers;
};

/// Means over prompts, with the same resamples of prompts in every layer. Failed when there is no prompt, no layer,
/// when prompts have unequal numbers of layers, or when a value is not finite (names prompt and layer).
[[nodiscard]] Result<DeviationSummary> summariseDeviation(const std::string& variant,
                                                          std::span<const PromptDeviation> prompts, std::uint64_t seed);

/// The summary as a series of the deviation plot.
[[nodiscard]] DeviationPlot::Series deviationSeries(const DeviationSummary& summary, SeriesRole role);

}  // namespace lpes::analysis
