#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lpes::model {

/// Defaults of transformers' TrainingArguments.
struct AdamWSettings {
    double learningRate = 1e-4;
    double beta1 = 0.9, beta2 = 0.999;
    double epsilon = 1e-8;
    double weightDecay = 0.0;  ///< decoupled: parameters shrink by learningRate · weightDecay
};

/// What the optimiser remembers: running means of the gradient and of its square, one value per parameter.
struct AdamWState {
    std::int64_t step = 0;
    std::vector<float> mean, square;
};

/// One step of AdamW (Loshchilov and Hutter, arXiv 1711.05101, as torch.optim.AdamW does it): with t = ++state.step,
/// p ← p·(1 − lr·wd); m ← β1·m + (1−β1)·g; v ← β2·v + (1−β2)·g²; p ← p − lr/(1−β1^t) · m / (√v/√(1−β2^t) + ε).
/// Computed in double, kept in float32. An empty state begins with zeros; otherwise all sizes must be the same.
void adamWStep(std::span<float> parameters, std::span<const double> gradient, const AdamWSettings& settings,
               AdamWState& state);

}  // namespace lpes::model
