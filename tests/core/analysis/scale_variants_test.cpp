#include "core/analysis/scale_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/analysis/statistics.h"

namespace lpes::analysis {
namespace {

std::vector<double> line(std::size_t layers) {
    std::vector<double> scales(layers);
    for (std::size_t h = 0; h < layers; ++h) {
        scales[h] = 1.55 - 1.05 * static_cast<double>(h) / static_cast<double>(layers - 1);
    }
    return scales;
}

double variance(std::span<const double> values) {
    const double centre = mean(values);
    double sum = 0.0;
    for (const double value : values) sum += (value - centre) * (value - centre);
    return sum / static_cast<double>(values.size());
}

TEST(ScaleVariants, ReadTheirNames) {
    using enum ScaleVariant;
    EXPECT_THAT(parseScaleVariants("smooth,noisy,shuffled").value(), ::testing::ElementsAre(Smooth, Noisy, Shuffled));
    EXPECT_THAT(parseScaleVariants("shuffled").value(), ::testing::ElementsAre(Shuffled));
    for (const std::string text : {"", "rough", "smooth,", "smooth,smooth", "Smooth"}) {
        const auto variants = parseScaleVariants(text);
        ASSERT_FALSE(variants) << text;
        EXPECT_EQ(variants.error().code, ErrorCode::Usage);
    }
}

TEST(ScaleVariants, SmoothIsTheProfile) {
    EXPECT_EQ(scaleVariant(ScaleVariant::Smooth, line(30), 0.5, 2.5, 1).value(), line(30));
}

TEST(ScaleVariants, ShuffledHasTheSameValuesInAnotherOrder) {
    const auto profile = line(30);
    auto shuffled = scaleVariant(ScaleVariant::Shuffled, profile, 0.5, 2.5, 1).value();
    EXPECT_NE(shuffled, profile);
    EXPECT_EQ(shuffled, scaleVariant(ScaleVariant::Shuffled, profile, 0.5, 2.5, 1).value());
    EXPECT_NE(shuffled, scaleVariant(ScaleVariant::Shuffled, profile, 0.5, 2.5, 2).value());
    std::sort(shuffled.begin(), shuffled.end(), std::greater<>());
    EXPECT_EQ(shuffled, profile);
}

TEST(ScaleVariants, NoisyHasTheProfilesMeanAndVariance) {
    const auto profile = line(20'000);
    const auto noisy = scaleVariant(ScaleVariant::Noisy, profile, -100.0, 100.0, 1).value();
    EXPECT_NEAR(mean(noisy), mean(profile), 0.01);
    EXPECT_NEAR(variance(noisy), variance(profile), 0.003);
    const double centre = mean(profile);
    double product = 0.0;
    for (std::size_t h = 1; h < noisy.size(); ++h) product += (noisy[h] - centre) * (noisy[h - 1] - centre);
    EXPECT_NEAR(product / static_cast<double>(noisy.size()) / variance(profile), 0.0, 0.03) << "layers are independent";
}

TEST(ScaleVariants, NoisyStaysInTheAllowedRange) {
    const auto noisy = scaleVariant(ScaleVariant::Noisy, line(2000), 0.9, 1.2, 1).value();
    EXPECT_EQ(*std::min_element(noisy.begin(), noisy.end()), 0.9);
    EXPECT_EQ(*std::max_element(noisy.begin(), noisy.end()), 1.2);
}

TEST(ScaleVariants, NoisyOfAConstantProfileIsConstant) {
    const std::vector<double> profile(5, 1.25);
    EXPECT_EQ(scaleVariant(ScaleVariant::Noisy, profile, 0.5, 2.5, 1).value(), profile);
}

TEST(ScaleVariants, RefuseWhatMakesNoSense) {
    EXPECT_FALSE(scaleVariant(ScaleVariant::Smooth, {}, 0.5, 2.5, 1));
    EXPECT_FALSE(scaleVariant(ScaleVariant::Noisy, line(3), 2.5, 0.5, 1));
    EXPECT_FALSE(scaleVariant(ScaleVariant::Noisy, line(3), std::nan(""), 2.5, 1));
}

}  // namespace
}  // namespace lpes::analysis
