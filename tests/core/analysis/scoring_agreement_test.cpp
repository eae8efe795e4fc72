#include "core/analysis/scoring_agreement.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lpes::analysis {
namespace {

/// `count` prompts of an item.
void add(std::vector<ScoredTwice>& prompts, const std::string& item, int count, bool one, bool other) {
    for (int i = 0; i < count; ++i) prompts.push_back({item, one, other});
}

std::string nameOf(std::size_t item) {
    return "item/" + std::to_string(100 + item);
}

TEST(ScoringAgreement, KappaIsBootstrappedOverItems) {
    std::ifstream file(LPES_TEST_DATA "/golden/statistics.json");
    const auto golden = nlohmann::json::parse(file);
    int compared = 0;
    for (const auto& row : golden.at("figures")) {
        if (row.at("figure") != "kappa") continue;
        std::vector<ScoredTwice> prompts;
        for (std::size_t item = 0; item < row.at("rows").size(); ++item) {
            const auto counts = row.at("rows")[item].get<std::vector<int>>();
            add(prompts, nameOf(item), counts[0], false, false);
            add(prompts, nameOf(item), counts[1], false, true);
            add(prompts, nameOf(item), counts[2], true, false);
            add(prompts, nameOf(item), counts[3], true, true);
        }
        const auto agreement = scoringAgreement(prompts, std::stoull(row.at("seed").get<std::string>()));
        ASSERT_TRUE(agreement.kappaInterval);
        EXPECT_NEAR(agreement.kappaInterval->low, row.at("low").get<double>(), 1e-12);
        EXPECT_NEAR(agreement.kappaInterval->high, row.at("high").get<double>(), 1e-12);
        EXPECT_LT(agreement.kappaInterval->low, agreement.kappa.value());
        EXPECT_GT(agreement.kappaInterval->high, agreement.kappa.value());
        ++compared;
    }
    EXPECT_EQ(compared, 1);
}

TEST(ScoringAgreement, ThePositionsOfAnItemAreNoDrawsOfTheirOwn) {
    std::vector<ScoredTwice> together, apart;
    for (std::size_t item = 0; item < 12; ++item) {
        const bool one = item % 2 == 0, other = item % 3 != 0;
        for (std::size_t position = 0; position < 4; ++position) {
            together.push_back({nameOf(item), one, other});
            apart.push_back({nameOf(100 * position + item), one, other});
        }
    }
    const auto items = scoringAgreement(together, 1), prompts = scoringAgreement(apart, 1);
    EXPECT_EQ(items.kappa, prompts.kappa);
    EXPECT_EQ(items.equal, 0.5);
    ASSERT_TRUE(items.kappaInterval && prompts.kappaInterval);
    EXPECT_GT(items.kappaInterval->high - items.kappaInterval->low,
              1.5 * (prompts.kappaInterval->high - prompts.kappaInterval->low));
    EXPECT_GT(items.equalInterval.high - items.equalInterval.low,
              1.5 * (prompts.equalInterval.high - prompts.equalInterval.low));
}

TEST(ScoringAgreement, WhereBothAlwaysAgreeTheShareHasTheExactBound) {
    std::vector<ScoredTwice> prompts;
    for (std::size_t item = 0; item < 12; ++item) add(prompts, nameOf(item), 1, item < 6, item < 6);
    const auto agreement = scoringAgreement(prompts, 1);
    EXPECT_EQ(agreement.prompts, 12);
    EXPECT_EQ(agreement.kappa, 1.0);
    EXPECT_FALSE(agreement.kappaInterval) << "no resample says anything else";
    EXPECT_NEAR(agreement.equalInterval.low, 0.779078, 1e-6);
    EXPECT_NEAR(agreement.equalInterval.high, 1.0, 1e-12);
}

TEST(ScoringAgreement, OfFewItemsOrOneAnswerThereIsLessToSay) {
    std::vector<ScoredTwice> prompts;
    for (std::size_t item = 0; item < 9; ++item) add(prompts, nameOf(item), 3, item < 6, item < 5);
    EXPECT_TRUE(scoringAgreement(prompts, 1).kappa);
    EXPECT_FALSE(scoringAgreement(prompts, 1).kappaInterval) << "nine items";
    prompts.clear();
    for (std::size_t item = 0; item < 12; ++item) add(prompts, nameOf(item), 1, true, true);
    EXPECT_FALSE(scoringAgreement(prompts, 1).kappa) << "nothing differs: not defined";
    EXPECT_EQ(scoringAgreement(prompts, 1).equal, 1.0);
    EXPECT_EQ(scoringAgreement({}, 1).prompts, 0);
    EXPECT_FALSE(scoringAgreement({}, 1).kappa);
}

}  // namespace
}  // namespace lpes::analysis
