#include "core/model/adamw.h"

#include <cmath>

namespace lpes::model {

void adamWStep(std::span<float> parameters, std::span<const double> gradient, const AdamWSettings& settings,
               AdamWState& state) {
    state.mean.resize(parameters.size());
    state.square.resize(parameters.size());
    ++state.step;
    const auto t = static_cast<double>(state.step);
    const double stepSize = settings.learningRate / (1.0 - std::pow(settings.beta1, t));
    const double correction = std::sqrt(1.0 - std::pow(settings.beta2, t));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const double g = gradient[i];
        const double mean = settings.beta1 * state.mean[i] + (1.0 - settings.beta1) * g;
        const double square = settings.beta2 * state.square[i] + (1.0 - settings.beta2) * g * g;
        const double kept = parameters[i] * (1.0 - settings.learningRate * settings.weightDecay);
        parameters[i] =
            static_cast<float>(kept - stepSize * mean / (std::sqrt(square) / correction + settings.epsilon));
        state.mean[i] = static_cast<float>(mean);
        state.square[i] = static_cast<float>(square);
    }
}

}  // namespace lpes::model
