#include "core/analysis/statistics.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace lpes::analysis {
namespace {

/// Processor time of this thread: other programs do not count.
double threadSeconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

const nlohmann::json& golden() {
    static const nlohmann::json values = [] {
        std::ifstream file(LPES_TEST_DATA "/golden/statistics.json");
        return nlohmann::json::parse(file);
    }();
    return values;
}

TEST(WilsonInterval, AgreesWithScipy) {
    ASSERT_FALSE(golden().at("wilson").empty());
    const auto cases = golden();
    for (const auto& row : cases.at("wilson")) {
        const Interval interval = wilsonInterval(row.at("successes"), row.at("n"), row.at("confidence"));
        EXPECT_NEAR(interval.low, row.at("low").get<double>(), 1e-12) << row;
        EXPECT_NEAR(interval.high, row.at("high").get<double>(), 1e-12) << row;
    }
}

TEST(WilsonInterval, HasExactEndsAndKnowsNothingWithoutItems) {
    EXPECT_EQ(wilsonInterval(0, 7).low, 0.0);
    EXPECT_EQ(wilsonInterval(7, 7).high, 1.0);
    EXPECT_EQ(wilsonInterval(0, 0).low, 0.0);
    EXPECT_EQ(wilsonInterval(0, 0).high, 1.0);
    EXPECT_EQ(wilsonInterval(3, 7, 1.0).high, 1.0);
    EXPECT_DOUBLE_EQ(wilsonInterval(3, 7, 0.0).low, 3.0 / 7.0);
}

TEST(WilsonInterval, IsSymmetric) {
    for (std::int64_t k = 0; k <= 40; ++k) {
        EXPECT_NEAR(wilsonInterval(k, 40).low, 1.0 - wilsonInterval(40 - k, 40).high, 1e-15);
    }
}

TEST(McNemar, AgreesWithScipy) {
    ASSERT_FALSE(golden().at("mcnemar").empty());
    const auto cases = golden();
    for (const auto& row : cases.at("mcnemar")) {
        EXPECT_NEAR(mcnemarExact(row.at("only_a"), row.at("only_b")), row.at("p").get<double>(), 1e-12) << row;
    }
}

TEST(McNemar, IsSymmetricAndNeverAboveOne) {
    EXPECT_EQ(mcnemarExact(0, 0), 1.0);
    EXPECT_EQ(mcnemarExact(5, 5), 1.0);
    EXPECT_EQ(mcnemarExact(2, 9), mcnemarExact(9, 2));
    EXPECT_GT(mcnemarExact(0, 5000), -1e-300);
}

TEST(PairedShareInterval, CoversTheTruthInNineteenOfTwentySamples) {
    // All samples of n items of which a share is lost and a share is won: no simulation, and not the formula again.
    const auto coverage = [](int n, double lost, double won) {
        double covered = 0.0;
        for (int l = 0; l <= n; ++l) {
            for (int w = 0; l + w <= n; ++w) {
                const double logWays =
                    std::lgamma(n + 1.0) - std::lgamma(l + 1.0) - std::lgamma(w + 1.0) - std::lgamma(n - l - w + 1.0);
                const double logProbability =
                    logWays + l * std::log(lost) + w * std::log(won) + (n - l - w) * std::log(1.0 - lost - won);
                const Interval interval = pairedShareInterval(l, w, n);
                const double truth = won - lost;
                if (interval.low <= truth && truth <= interval.high) covered += std::exp(logProbability);
            }
        }
        return covered;
    };
    for (const int n : {20, 100}) {
        for (const auto& [lost, won] : {std::pair{0.05, 0.05}, std::pair{0.15, 0.05}, std::pair{0.2, 0.2},
                                        std::pair{0.02, 0.1}, std::pair{0.4, 0.3}}) {
            EXPECT_GT(coverage(n, lost, won), 0.935) << n << " " << lost << " " << won;
        }
    }
}

TEST(PairedShareInterval, HasWidthWhereNothingChangesAndKnowsNothingWithoutItems) {
    const Interval none = pairedShareInterval(0, 0, 100);
    EXPECT_NEAR(none.high, 0.0272, 5e-5);  // 1.96·√(2/102)/√102
    EXPECT_DOUBLE_EQ(none.low, -none.high);
    EXPECT_GT(pairedShareInterval(0, 0, 10).high, 0.2);
    const Interval worked = pairedShareInterval(7, 1, 21);  // −6/23 ± 1.96·√((10/23 − (6/23)²)/23)
    EXPECT_NEAR(worked.low, -0.5084, 1e-4);
    EXPECT_NEAR(worked.high, -0.0134, 1e-4);
    EXPECT_DOUBLE_EQ(pairedShareInterval(1, 7, 21).high, -worked.low);
    EXPECT_EQ(pairedShareInterval(0, 0, 0).low, -1.0);
    EXPECT_EQ(pairedShareInterval(0, 0, 0).high, 1.0);
    EXPECT_EQ(pairedShareInterval(3, 0, 3).low, -1.0);
}

TEST(PairedBootstrap, AgreesWithAnImplementationInPython) {
    ASSERT_FALSE(golden().at("bootstrap").empty());
    const auto cases = golden();
    for (const auto& row : cases.at("bootstrap")) {
        const auto a = row.at("a").get<std::vector<double>>(), b = row.at("b").get<std::vector<double>>();
        const std::uint64_t seed = std::stoull(row.at("seed").get<std::string>());
        const PairedBootstrap result = pairedBootstrap(a, b, seed, row.at("resamples"));
        EXPECT_DOUBLE_EQ(result.meanDifference, row.at("mean_difference").get<double>()) << row.at("name");
        ASSERT_EQ(result.interval.has_value(), row.at("low") != row.at("high")) << row.at("name");
        ASSERT_TRUE(result.pValue) << row.at("name");
        EXPECT_DOUBLE_EQ(*result.pValue, row.at("p").get<double>()) << row.at("name");
        if (!result.interval) continue;
        EXPECT_DOUBLE_EQ(result.interval->low, row.at("low").get<double>()) << row.at("name");
        EXPECT_DOUBLE_EQ(result.interval->high, row.at("high").get<double>()) << row.at("name");
    }
}

TEST(PairedBootstrap, DependsOnTheSeedAlone) {
    std::vector<double> a(40), b(40);
    for (std::size_t i = 0; i < a.size(); ++i) b[i] = std::sin(static_cast<double>(i)) + 0.2;
    const auto first = pairedBootstrap(a, b, 1), again = pairedBootstrap(a, b, 1), other = pairedBootstrap(a, b, 2);
    EXPECT_EQ(first.pValue, again.pValue);
    ASSERT_TRUE(first.interval && again.interval && other.interval);
    EXPECT_EQ(first.interval->low, again.interval->low);
    EXPECT_NE(first.interval->low, other.interval->low);
    EXPECT_NEAR(first.interval->low, other.interval->low, 0.02);
}

TEST(PairedBootstrap, ChangesSignWithItsSides) {
    const std::vector<double> a{1.0, 2.0, 3.0, 4.0, 5.0}, b{1.5, 2.25, 3.5, 4.125, 5.5};
    const auto forth = pairedBootstrap(a, b, 9), back = pairedBootstrap(b, a, 9);
    EXPECT_EQ(forth.meanDifference, -back.meanDifference);
    EXPECT_EQ(forth.pValue, back.pValue);
    ASSERT_TRUE(forth.interval && back.interval);
    EXPECT_NEAR(forth.interval->low, -back.interval->high, 1e-15);
}

TEST(PairedBootstrap, NeverClaimsMoreThanItsResamplesAllow) {
    const std::vector<double> a(40, 2.0), b(40, 1.0);
    const auto result = pairedBootstrap(a, b, 3);
    ASSERT_TRUE(result.pValue);
    EXPECT_DOUBLE_EQ(*result.pValue, 2.0 / 10'001.0);
    EXPECT_FALSE(result.interval) << "forty times the same says nothing of how far the mean may lie";
}

TEST(PairedBootstrap, HasNoIntervalOfDifferencesThatOnlyRoundingTellsApart) {
    std::vector<double> a, b;
    for (int i = 0; i < 20; ++i) {
        a.push_back(0.1 * i);
        b.push_back(0.1 * i + 0.3);
    }
    EXPECT_FALSE(pairedBootstrap(a, b, 1).interval);
    b.back() += 1e-6;
    EXPECT_TRUE(pairedBootstrap(a, b, 1).interval);
}

TEST(PairedBootstrap, HasNoVerdictOnTooFewItems) {
    EXPECT_FALSE(pairedBootstrap({}, {}, 1).pValue);
    const std::vector<double> a{1.0}, b{0.5};
    const auto one = pairedBootstrap(a, b, 1);
    EXPECT_FALSE(one.pValue);
    EXPECT_FALSE(one.interval);
    EXPECT_EQ(one.meanDifference, -0.5);
}

TEST(PairedBootstrap, ANumberThatIsNoneIsNeverSignificant) {
    const std::vector<double> a{1.0, 2.0, 3.0};
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        const auto result = pairedBootstrap(a, std::vector<double>{1.0, bad, 3.0}, 1);
        EXPECT_FALSE(result.pValue);
        EXPECT_FALSE(std::isfinite(result.meanDifference));
        EXPECT_FALSE(result.interval);
    }
}

TEST(PairedBootstrap, KeepsItsErrorRate) {
    // Without any difference, about 5 % of the tests may come out below 0.05.
    int significant = 0;
    constexpr int kTrials = 400;
    std::uint64_t state = 1;
    const auto noise = [&state] {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(state >> 11) * 0x1.0p-53;
    };
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> a(40), b(40);
        for (double& value : a) value = noise();
        for (double& value : b) value = noise();
        significant += pairedBootstrap(a, b, 5, 1000).pValue.value() < 0.05 ? 1 : 0;
    }
    EXPECT_GT(significant, 5);
    EXPECT_LT(significant, 44);
}

// The limit is ten times what an optimised build needs: only a change of order is meant to be seen.
TEST(PairedBootstrap, IsQuick) {
    std::vector<double> a(500), b(500);
    for (std::size_t i = 0; i < a.size(); ++i) b[i] = std::sin(static_cast<double>(i));
    const double start = threadSeconds();
    const auto result = pairedBootstrap(a, b, 5);
    const double seconds = threadSeconds() - start;
    RecordProperty("seconds", std::to_string(seconds));
    EXPECT_GT(result.pValue.value(), 0.0);
    EXPECT_LT(seconds, 2.0);
}

TEST(BootstrapMeanInterval, CoversTheMeanAndNarrowsWithTheNumberOfValues) {
    std::vector<double> few, many;
    for (int i = 0; i < 400; ++i) (i < 25 ? few : many).push_back(std::sin(i));
    const Interval wide = bootstrapMeanInterval(few, 1), narrow = bootstrapMeanInterval(many, 1);
    EXPECT_LT(wide.low, mean(few));
    EXPECT_GT(wide.high, mean(few));
    EXPECT_LT(narrow.high - narrow.low, (wide.high - wide.low) / 2.5);
    // Half width of the normal approximation: 1.96·σ/√n.
    EXPECT_NEAR((narrow.high - narrow.low) / 2.0, 1.96 * std::sqrt(0.5 / static_cast<double>(many.size())), 0.01);
}

TEST(BootstrapMeanInterval, IsAPointForOneValue) {
    EXPECT_EQ(bootstrapMeanInterval(std::vector<double>{3.0}, 1).low, 3.0);
    EXPECT_EQ(bootstrapMeanInterval(std::vector<double>{3.0}, 1).high, 3.0);
    EXPECT_EQ(bootstrapMeanInterval({}, 1).high, 0.0);
}

// 0.05^(1/12) = 0.779078…, 0.05^(1/40) = 0.927842…: what is left of 1 is near 3/12 and 3/40, the rule of three.
TEST(BoundedMeanInterval, OfEqualValuesIsTheExactBoundOfWhatWasNotSeen) {
    const double twelve = std::exp(std::log(0.05) / 12);
    ASSERT_NEAR(twelve, 0.779078, 1e-6);
    const Interval zeros = boundedMeanInterval(std::vector<double>(12, 0.0), 1);
    EXPECT_EQ(zeros.low, 0.0);
    EXPECT_NEAR(zeros.high, 1.0 - twelve, 1e-12);
    const Interval ones = boundedMeanInterval(std::vector<double>(12, 1.0), 1);
    EXPECT_NEAR(ones.low, twelve, 1e-12);
    EXPECT_NEAR(ones.high, 1.0, 1e-12);
    const Interval quarters = boundedMeanInterval(std::vector<double>(12, 0.25), 1);
    EXPECT_NEAR(quarters.low, 0.25 * twelve, 1e-12);
    EXPECT_NEAR(quarters.high, 0.25 * twelve + 1.0 - twelve, 1e-12);
    EXPECT_NEAR(boundedMeanInterval(std::vector<double>(40, 0.0), 1).high, 0.072158, 1e-6);
    const Interval differences = boundedMeanInterval(std::vector<double>(12, 0.0), 1, {-1.0, 1.0});
    EXPECT_NEAR(differences.low, twelve - 1.0, 1e-12);
    EXPECT_NEAR(differences.high, 1.0 - twelve, 1e-12);
}

TEST(BoundedMeanInterval, HoldsAMeanThatTheValuesDoNotShow) {
    // The longer all draws are alike, the less else there can be: a share q of them gives n like ones in q^n of all
    // cases.
    for (const int n : {1, 3, 10, 100}) {
        const double high = boundedMeanInterval(std::vector<double>(static_cast<std::size_t>(n), 0.0), 1).high;
        EXPECT_NEAR(std::pow(1.0 - high, n), 0.05, 1e-12) << n;
    }
}

// By hand, of 0.5 and 0.51: 0.05^(1/2) = 0.223607 of the mean 0.505, and what is left of the range on either side.
TEST(BoundedMeanInterval, OfFewUnlikeValuesIsNoNarrowerThanThatOfEqualOnes) {
    const Interval two = boundedMeanInterval(std::vector<double>{0.5, 0.51}, 1);
    EXPECT_NEAR(two.low, 0.112921, 1e-6);
    EXPECT_NEAR(two.high, 0.889315, 1e-6);
    EXPECT_EQ(boundedMeanInterval(std::vector<double>{0.0, 1.0}, 1).low, 0.0) << "the bootstrap is the wider one";
    for (const std::size_t n : {2, 5, 9}) {
        std::vector<double> unlike(n, 0.5);
        unlike.front() = 0.4;
        const Interval equal = boundedMeanInterval(std::vector<double>(n, mean(unlike)), 1);
        const Interval interval = boundedMeanInterval(unlike, 1);
        EXPECT_LE(interval.low, equal.low + 1e-12) << n;
        EXPECT_GE(interval.high, equal.high - 1e-12) << n;
    }
}

TEST(BoundedMeanInterval, IsTheBootstrapWhereTenValuesDifferAndTheRangeWithoutAny) {
    const std::vector<double> values{0.0, 0.25, 1.0, 0.5, 0.25, 0.0, 0.25, 1.0, 0.5, 0.25};
    EXPECT_EQ(boundedMeanInterval(values, 7).low, bootstrapMeanInterval(values, 7).low);
    EXPECT_EQ(boundedMeanInterval(values, 7).high, bootstrapMeanInterval(values, 7).high);
    EXPECT_EQ(boundedMeanInterval({}, 1).low, 0.0);
    EXPECT_EQ(boundedMeanInterval({}, 1, {-1.0, 1.0}).low, -1.0);
    EXPECT_EQ(boundedMeanInterval({}, 1).high, 1.0);
    const std::vector<double> bad{0.0, std::numeric_limits<double>::quiet_NaN()};
    EXPECT_TRUE(std::isnan(boundedMeanInterval(bad, 1).low));
}

double gapOfMeans(std::span<const double> means) {
    const auto [low, high] = std::ranges::minmax(means);
    return high - low;
}

double sensitivityOfMeans(std::span<const double> means) {
    const auto [low, high] = std::ranges::minmax(means);
    return high > 0.0 ? 1.0 - low / high : std::numeric_limits<double>::quiet_NaN();
}

std::optional<Interval> bootstrapped(const std::vector<std::vector<double>>& rows,
                                     const std::function<double(std::span<const double>)>& figure,
                                     std::uint64_t seed = 1, int resamples = 10'000) {
    const auto resampled = resampledRows(rows, seed, resamples);
    return resampled ? figureInterval(*resampled, figure, {0.0, 1.0}) : std::nullopt;
}

TEST(FigureInterval, AgreesWithNumpyOverTheSameDraws) {
    int compared = 0;
    const auto cases = golden();
    for (const auto& row : cases.at("figures")) {
        if (row.at("figure") == "kappa") continue;
        const auto figure = row.at("figure") == "gap" ? gapOfMeans : sensitivityOfMeans;
        const auto interval =
            bootstrapped(row.at("rows"), figure, std::stoull(row.at("seed").get<std::string>()), row.at("resamples"));
        ASSERT_TRUE(interval) << row.at("name");
        EXPECT_NEAR(interval->low, row.at("low").get<double>(), 1e-12) << row.at("name");
        EXPECT_NEAR(interval->high, row.at("high").get<double>(), 1e-12) << row.at("name");
        ++compared;
    }
    EXPECT_EQ(compared, 4);
}

TEST(FigureInterval, OfOneColumnsMeanIsTheBootstrapOfItsMean) {
    std::vector<double> values;
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < 12; ++i) rows.push_back({values.emplace_back(std::sqrt(i))});
    const auto interval = bootstrapped(
        rows, [](std::span<const double> means) { return means.front(); }, 3);
    ASSERT_TRUE(interval);
    EXPECT_EQ(interval->low, bootstrapMeanInterval(values, 3).low) << "the same draws";
    EXPECT_EQ(interval->high, bootstrapMeanInterval(values, 3).high);
}

TEST(FigureInterval, IsNotMadeOfFewItemsOrWhereNothingMoves) {
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < 9; ++i) rows.push_back({0.1 * i, 0.5});
    EXPECT_FALSE(bootstrapped(rows, gapOfMeans)) << "nine items";
    rows.push_back({0.9, 0.5});
    EXPECT_TRUE(bootstrapped(rows, gapOfMeans));
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        rows.back()[0] = bad;
        EXPECT_FALSE(bootstrapped(rows, gapOfMeans));
    }
    const std::vector<std::vector<double>> equal(12, {1.0, 0.0}), wrong(12, {0.0, 0.0});
    EXPECT_FALSE(bootstrapped(equal, gapOfMeans));
    EXPECT_FALSE(bootstrapped(wrong, sensitivityOfMeans)) << "no resample has an index";
    EXPECT_FALSE(bootstrapped({}, gapOfMeans));
}

// By hand, of 0.25 [0.125, 0.375] and 0.5 [0.25, 0.75]: √(0.125² + 0.25²) / 2 = 0.139754.
TEST(MeanOfEstimatesInterval, AddsTheVariancesThatTheIntervalsShow) {
    const std::vector<double> estimates{0.25, 0.5};
    const std::vector<Interval> intervals{{0.125, 0.375}, {0.25, 0.75}};
    const auto both = meanOfEstimatesInterval(estimates, intervals);
    ASSERT_TRUE(both);
    EXPECT_NEAR(both->low, 0.375 - 0.139754, 1e-6);
    EXPECT_NEAR(both->high, 0.375 + 0.139754, 1e-6);
    const auto one = meanOfEstimatesInterval(std::span(estimates).first(1), std::span(intervals).first(1));
    ASSERT_TRUE(one);
    EXPECT_DOUBLE_EQ(one->low, 0.125) << "one alone keeps its own";
    EXPECT_DOUBLE_EQ(one->high, 0.375);
    EXPECT_FALSE(meanOfEstimatesInterval({}, {}));
}

TEST(Mean, OfNothingIsZero) {
    EXPECT_EQ(mean({}), 0.0);
    EXPECT_EQ(mean(std::vector<double>{1.0, 2.0, 6.0}), 3.0);
}

// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
TEST(Statistics, HolmsAdjustmentStepsDown) {
    const std::vector<double> adjusted = holmAdjusted(std::vector<double>{0.01, 0.04, 0.03, 0.005});
    const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};
    ASSERT_EQ(adjusted.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15) << i;
    EXPECT_EQ(holmAdjusted(std::vector<double>{0.7, 0.9}), (std::vector<double>{1.0, 1.0}));
    EXPECT_TRUE(holmAdjusted(std::vector<double>{}).empty());
    const auto gap = holmAdjusted(std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 0.01});
    EXPECT_TRUE(std::isnan(gap[0]));
    EXPECT_NEAR(gap[1], 0.02, 1e-15);
}

}  // namespace
}  // namespace lpes::analysis
