#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::analysis {

/// Which scales the representation structure deviation is measured for (methods.md §2).
enum class ScaleVariant {
    Smooth,    ///< the profile itself
    Shuffled,  ///< its values in a seeded order
    Noisy,     ///< independent Gaussian values with its mean and variance
};

[[nodiscard]] std::string scaleVariantName(ScaleVariant variant);  ///< "smooth", "shuffled", "noisy"

/// "smooth,noisy,shuffled" in the order given. Usage for an unknown name, one named twice, or none.
[[nodiscard]] Result<std::vector<ScaleVariant>> parseScaleVariants(const std::string& text);

/// Scales [L] of the variant. Each variant has a random stream of its own under `seed`, so that asking for one does not
/// change another. Noisy: mean and variance are those of the L values (divided by L); what falls outside
/// [scaleMin, scaleMax] is clamped. Usage for an empty profile or scaleMin > scaleMax.
[[nodiscard]] Result<std::vector<double>> scaleVariant(ScaleVariant variant, std::span<const double> profile,
                                                       double scaleMin, double scaleMax, std::uint64_t seed);

}  // namespace lpes::analysis
