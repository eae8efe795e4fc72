#include "core/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace lpes {
namespace {

using Counter = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

// kat_vectors of the Random123 library of the paper's authors.
TEST(Philox4x32, AgreesWithThePublishedVectors) {
    EXPECT_EQ(philox4x32(Counter{}, Key{}), (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint32_t kOnes = 0xffffffff;
    EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The layout is stored behaviour: word 0 counts blocks, then purpose, a, b; the key is the seed, low word first.
TEST(RandomStream, IsPhiloxOfItsName) {
    RandomStream random(0x299f31d0a4093822, 3, 4, 5);
    for (std::uint32_t block = 0; block < 3; ++block) {
        for (const std::uint32_t word : philox4x32({block, 3, 4, 5}, {0xa4093822, 0x299f31d0})) {
            EXPECT_EQ(random.next(), word);
        }
    }
}

TEST(RandomStream, RepeatsItselfAndDiffersInEveryPartOfItsName) {
    const auto first = [](RandomStream random) { return std::array{random.next(), random.next(), random.next()}; };
    EXPECT_EQ(first(RandomStream(1, 2, 3, 4)), first(RandomStream(1, 2, 3, 4)));
    std::set<std::array<std::uint32_t, 3>> all;
    for (const auto& random :
         {RandomStream(1, 2, 3, 4), RandomStream(2, 2, 3, 4), RandomStream(1, 3, 3, 4), RandomStream(1, 2, 4, 4),
          RandomStream(1, 2, 3, 5), RandomStream(std::uint64_t{1} << 32, 2, 3, 4), RandomStream(1, 2, 4, 3)}) {
        all.insert(first(random));
    }
    EXPECT_EQ(all.size(), 7u);
}

TEST(RandomStream, HasNoCommonNumbersBetweenNeighbours) {
    double products = 0.0;
    constexpr int kDraws = 20'000;
    RandomStream a(9, kStreamTests, 0, 0), b(9, kStreamTests, 0, 1);
    for (int i = 0; i < kDraws; ++i) products += (a.uniform() - 0.5) * (b.uniform() - 0.5);
    // Correlation of independent uniform numbers: standard deviation 1/√n.
    EXPECT_LT(std::abs(products / kDraws * 12.0), 4.0 / std::sqrt(kDraws));
}

TEST(RandomStream, IsUniform) {
    RandomStream random(4, kStreamTests);
    constexpr int kCells = 100, kDraws = 200'000;
    std::array<int, kCells> counts{};
    for (int i = 0; i < kDraws; ++i) {
        const double value = random.uniform();
        ASSERT_GE(value, 0.0);
        ASSERT_LT(value, 1.0);
        ++counts[static_cast<std::size_t>(value * kCells)];
    }
    double chiSquare = 0.0;
    for (const int count : counts) chiSquare += std::pow(count - kDraws / kCells, 2) / (kDraws / kCells);
    // 99 degrees of freedom: 99.9 % lie below 148.2, 0.1 % below 60.
    EXPECT_LT(chiSquare, 148.2);
    EXPECT_GT(chiSquare, 60.0);
}

TEST(RandomStream, UsesAll53Bits) {
    RandomStream random(4, kStreamTests);
    bool lowestBit = false;
    for (int i = 0; i < 100; ++i) {
        const double scaled = random.uniform() * 0x1.0p53;
        ASSERT_EQ(scaled, std::floor(scaled));
        lowestBit |= std::fmod(scaled, 2.0) == 1.0;
    }
    EXPECT_TRUE(lowestBit);
}

TEST(RandomStream, KeepsToARange) {
    RandomStream random(4, kStreamTests, 1);
    double lowest = 10, highest = -10;
    for (int i = 0; i < 10'000; ++i) {
        const double value = random.uniform(-0.2, 0.3);
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
    }
    EXPECT_GE(lowest, -0.2);
    EXPECT_LT(highest, 0.3);
    EXPECT_LT(lowest, -0.199);
    EXPECT_GT(highest, 0.299);
}

TEST(RandomStream, BelowHasNoBias) {
    // With 3·2^62 a plain remainder would give the lower third twice as often as the others.
    constexpr std::uint64_t kCount = std::uint64_t{3} << 62;
    RandomStream random(5, kStreamTests);
    std::array<int, 3> thirds{};
    constexpr int kDraws = 30'000;
    for (int i = 0; i < kDraws; ++i) {
        const std::uint64_t value = random.below(kCount);
        ASSERT_LT(value, kCount);
        ++thirds[value >> 62];
    }
    for (const int count : thirds) EXPECT_NEAR(count, kDraws / 3, 5 * std::sqrt(kDraws * 2.0 / 9.0));
}

TEST(RandomStream, BelowReachesEveryValueAndNoOther) {
    RandomStream random(5, kStreamTests, 1);
    std::map<std::uint64_t, int> counts;
    for (int i = 0; i < 7000; ++i) ++counts[random.below(7)];
    ASSERT_EQ(counts.size(), 7u);
    EXPECT_EQ(counts.rbegin()->first, 6u);
    for (const auto& [value, count] : counts) EXPECT_NEAR(count, 1000, 150);
    EXPECT_EQ(random.below(1), 0u);
    EXPECT_LT(random.below(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(RandomStream, IsNormal) {
    RandomStream random(6, kStreamTests);
    constexpr int kDraws = 100'000;
    double sum = 0, squares = 0, fourth = 0, product = 0, last = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double value = random.normal();
        ASSERT_TRUE(std::isfinite(value));
        sum += value;
        squares += value * value;
        fourth += std::pow(value, 4);
        product += value * last;
        last = value;
    }
    EXPECT_NEAR(sum / kDraws, 0.0, 0.015);
    EXPECT_NEAR(squares / kDraws, 1.0, 0.02);
    EXPECT_NEAR(fourth / kDraws, 3.0, 0.15);
    EXPECT_NEAR(product / kDraws, 0.0, 0.015);  // the two numbers of one Box–Muller pair are independent
}

TEST(RandomStream, ShuffleIsAPermutationAndEveryOrderIsEquallyLikely) {
    std::map<std::vector<int>, int> orders;
    RandomStream random(7, kStreamTests);
    for (int i = 0; i < 24'000; ++i) {
        std::vector<int> values{0, 1, 2, 3};
        random.shuffle(values);
        ++orders[values];
    }
    ASSERT_EQ(orders.size(), 24u);
    for (const auto& [order, count] : orders) {
        EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), std::vector{0, 1, 2, 3}.begin()));
        EXPECT_NEAR(count, 1000, 160);
    }
}

TEST(RandomStream, ShufflesNothingAndOne) {
    RandomStream random(7, kStreamTests);
    std::vector<int> none, one{4};
    random.shuffle(none);
    random.shuffle(one);
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(one, std::vector{4});
}

}  // namespace
}  // namespace lpes
