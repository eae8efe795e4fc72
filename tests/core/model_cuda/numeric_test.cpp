#include "core/model/cuda/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lpes::cuda {
namespace {

/// What the bits of a binary16 mean, from the definition.
double meaning(int bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

TEST(Float16, EveryFiniteValueMeansWhatItsBitsSayAndSurvivesTheRoundTrip) {
    for (int bits = 0; bits < 0x10000; ++bits) {
        if ((bits >> 10 & 31) == 31) continue;
        const Float16 half{static_cast<std::uint16_t>(bits)};
        ASSERT_EQ(toFloat(half), static_cast<float>(meaning(bits))) << bits;
        ASSERT_EQ(fromFloat<Float16>(toFloat(half)).bits, bits);
    }
}

TEST(Float16, RoundsToTheNearestAndTiesToEven) {
    for (int bits = 0; bits < 0x7bff; ++bits) {
        const double low = meaning(bits), high = meaning(bits + 1), middle = (low + high) / 2;
        const int even = bits % 2 == 0 ? bits : bits + 1;
        const auto rounded = [](double value) { return int{fromFloat<Float16>(static_cast<float>(value)).bits}; };
        ASSERT_EQ(rounded(middle), even);
        ASSERT_EQ(rounded(std::nextafter(static_cast<float>(middle), 0.0f)), bits);
        ASSERT_EQ(rounded(std::nextafter(static_cast<float>(middle), 1e9f)), bits + 1);
        ASSERT_EQ(rounded(-middle), even | 0x8000);
    }
    EXPECT_EQ(fromFloat<Float16>(65519.0f).bits, 0x7bff);
    EXPECT_EQ(fromFloat<Float16>(65520.0f).bits, 0x7c00);
    EXPECT_TRUE(std::isnan(roundTo<Float16>(std::numeric_limits<float>::quiet_NaN())));
}

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
    EXPECT_EQ(fromFloat<BFloat16>(1.0f).bits, 0x3f80);
    EXPECT_EQ(roundTo<BFloat16>(1.0f + 0x1p-8f), 1.0f);
    EXPECT_EQ(roundTo<BFloat16>(1.0f + 0x1.8p-7f), 1.0f + 0x1p-6f);
    EXPECT_EQ(roundTo<BFloat16>(-1.0f - 0x1.01p-8f), -1.0f - 0x1p-7f);
    EXPECT_EQ(roundTo<BFloat16>(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(roundTo<BFloat16>(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace lpes::cuda
