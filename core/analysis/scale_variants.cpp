#include "core/analysis/scale_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/analysis/statistics.h"
#include "core/base/random.h"

namespace lpes::analysis {

namespace {

// Stored behaviour: the numbers of the streams under kStreamVariants.
constexpr std::uint32_t kShuffledStream = 1, kNoisyStream = 2;

}  // namespace

std::string scaleVariantName(ScaleVariant variant) {
    switch (variant) {
        case ScaleVariant::Smooth:
            return "smooth";
        case ScaleVariant::Shuffled:
            return "shuffled";
        case ScaleVariant::Noisy:
            return "noisy";
    }
    return "smooth";
}

Result<std::vector<ScaleVariant>> parseScaleVariants(const std::string& text) {
    std::vector<ScaleVariant> variants;
    std::string_view rest = text;
    for (;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view name = rest.substr(0, comma);
        constexpr ScaleVariant kAll[] = {ScaleVariant::Smooth, ScaleVariant::Shuffled, ScaleVariant::Noisy};
        const auto* found = std::find_if(std::begin(kAll), std::end(kAll),
                                         [&](ScaleVariant variant) { return scaleVariantName(variant) == name; });
        if (found == std::end(kAll)) {
            return fail(ErrorCode::Usage,
                        fmt::format("variant '{}' is not known; use smooth, noisy or shuffled", name));
        }
        if (std::find(variants.begin(), variants.end(), *found) != variants.end()) {
            return fail(ErrorCode::Usage, fmt::format("variant '{}' is named twice in '{}'", name, text));
        }
        variants.push_back(*found);
        if (comma == std::string_view::npos) return variants;
        rest.remove_prefix(comma + 1);
    }
}

Result<std::vector<double>> scaleVariant(ScaleVariant variant, std::span<const double> profile, double scaleMin,
                                         double scaleMax, std::uint64_t seed) {
    if (profile.empty()) return fail(ErrorCode::Usage, "a variant needs a profile with at least one layer");
    if (!(scaleMin <= scaleMax)) {
        return fail(ErrorCode::Usage, fmt::format("the allowed scales {} to {} are no range", scaleMin, scaleMax));
    }
    std::vector<double> scales(profile.begin(), profile.end());
    if (variant == ScaleVariant::Shuffled) {
        RandomStream(seed, kStreamVariants, kShuffledStream).shuffle(scales);
    } else if (variant == ScaleVariant::Noisy) {
        const double centre = mean(profile);
        double squares = 0.0;
        for (const double scale : profile) squares += (scale - centre) * (scale - centre);
        const double deviation = std::sqrt(squares / static_cast<double>(profile.size()));
        RandomStream random(seed, kStreamVariants, kNoisyStream);
        for (double& scale : scales) scale = std::clamp(centre + deviation * random.normal(), scaleMin, scaleMax);
    }
    return scales;
}

}  // namespace lpes::analysis
