#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/search/genetic_search.h"

namespace lpes::search {
namespace {

TEST(CheckSettings, AcceptsTheDefaultsAndTheSmallest) {
    EXPECT_TRUE(checkSettings({}, 30));
    SearchSettings smallest;
    smallest.population = 4;
    smallest.maxGenerations = 0;
    smallest.points = 2;
    smallest.maxEvals = 1;
    smallest.patience = 1;
    EXPECT_TRUE(checkSettings(smallest, 1));
    SearchSettings free;
    free.curve = curve::CurveKind::Free;
    free.points = 999;  // ignored
    EXPECT_TRUE(checkSettings(free, 2));
}

TEST(UnusedOptions, AreThoseOfOtherOptimizers) {
    const auto names = [](OptimizerKind optimizer, int refined) {
        SearchSettings settings;
        settings.optimizer = optimizer;
        settings.gradient.refined = refined;
        settings.patience = 2;
        std::vector<std::string> options;
        for (const UnusedOption& unused : unusedOptions(settings)) options.push_back(unused.key);
        return options;
    };
    using testing::ElementsAre;
    EXPECT_THAT(names(OptimizerKind::Genetic, 0),
                ElementsAre("gradient_starts", "gradient_steps", "gradient_items", "gradient_rate"));
    EXPECT_THAT(names(OptimizerKind::Genetic, 1), ElementsAre("gradient_starts"));
    EXPECT_THAT(names(OptimizerKind::Gradient, 0), ElementsAre("population", "mutation_rate", "max_dx", "max_dy"));
    EXPECT_THAT(names(OptimizerKind::Gradient, 2),
                ElementsAre("population", "mutation_rate", "max_dx", "max_dy", "refine"));
    for (const auto kind : {OptimizerKind::CmaEs, OptimizerKind::Random, OptimizerKind::Exhaustive}) {
        EXPECT_THAT(names(kind, 1), ElementsAre("mutation_rate", "max_dx", "max_dy", "refine", "gradient_starts",
                                                "gradient_steps", "gradient_items", "gradient_rate"));
    }
}

TEST(UnusedOptions, AreThoseThatAnotherOptionIsMissingFor) {
    const auto unused = [](const SearchSettings& settings, const std::string& key) -> std::string {
        for (const UnusedOption& one : unusedOptions(settings)) {
            if (one.key == key) return one.option + " " + one.where + ": " + one.usedBy;
        }
        return {};
    };
    SearchSettings settings;
    EXPECT_EQ(unused(settings, "min_delta"), "--min-delta without --patience: --patience");
    settings.patience = 3;
    EXPECT_EQ(unused(settings, "min_delta"), "");
    EXPECT_EQ(unused(settings, "population"), "");
    settings.optimizer = OptimizerKind::Gradient;
    EXPECT_EQ(unused(settings, "population"), "--population with --optimizer gradient: --gradient-starts");
    settings.racing = 0.05;  // gives up what lies behind the half of the population that is kept
    EXPECT_EQ(unused(settings, "population"), "");
    settings.population = 12;
    settings.maxGenerations = 6;
    EXPECT_EQ(unused(settings, "racing"), "") << "seven candidates, six of which are kept";
    settings.population = 13;
    EXPECT_THAT(unused(settings, "racing"), testing::HasSubstr("more --gradient-starts"));
    settings.gradient.starts = 2;
    EXPECT_EQ(unused(settings, "racing"), "");
    settings.optimizer = OptimizerKind::CmaEs;
    settings.gradient.starts = 1;
    EXPECT_EQ(unused(settings, "racing"), "");
}

TEST(CheckSettings, NamesTheOptionAndItsValue) {
    const std::vector<std::pair<const char*, std::function<void(SearchSettings&)>>> cases{
        {"--population is 3", [](auto& s) { s.population = 3; }},
        {"--population is 1000000", [](auto& s) { s.population = 1000000; }},
        {"--max-generations is -1", [](auto& s) { s.maxGenerations = -1; }},
        {"--max-evals is 0", [](auto& s) { s.maxEvals = 0; }},
        {"--time-limit is 0", [](auto& s) { s.timeLimitSeconds = 0; }},
        {"--time-limit is nan", [](auto& s) { s.timeLimitSeconds = std::nan(""); }},
        {"--target is nan", [](auto& s) { s.target = std::nan(""); }},
        {"--patience is 0", [](auto& s) { s.patience = 0; }},
        {"--min-delta is -0.5", [](auto& s) { s.minDelta = -0.5; }},
        {"--points is 1", [](auto& s) { s.points = 1; }},
        {"--points is 9", [](auto& s) { s.points = 9; }},
        {"--scale-min is 0", [](auto& s) { s.constraints.scaleMin = 0; }},
        {"--scale-max is 101", [](auto& s) { s.constraints.scaleMax = 101; }},
        {"--scale-max is 0.4", [](auto& s) { s.constraints.scaleMax = 0.4; }},
        {"--grid-step is 0", [](auto& s) { s.constraints.gridStep = 0.0; }},
        {"--grid-step is 3", [](auto& s) { s.constraints.gridStep = 3.0; }},
        {"--mutation-rate is 1.5", [](auto& s) { s.mutationRate = 1.5; }},
        {"--max-dx is -1", [](auto& s) { s.maxDx = -1; }},
        {"--max-dy is nan", [](auto& s) { s.maxDy = std::nan(""); }},
        {"failures in a row", [](auto& s) { s.maxConsecutiveFailures = 0; }},
        {"drawn again is -1", [](auto& s) { s.duplicateRetries = -1; }},
    };
    for (const auto& [words, spoil] : cases) {
        SearchSettings settings;
        spoil(settings);
        const auto checked = checkSettings(settings, 30);
        ASSERT_FALSE(checked) << words;
        EXPECT_EQ(checked.error().code, ErrorCode::Usage);
        EXPECT_THAT(checked.error().message, testing::HasSubstr(words));
    }
    EXPECT_FALSE(checkSettings({}, 0));
    SearchSettings free;
    free.curve = curve::CurveKind::Free;
    EXPECT_FALSE(checkSettings(free, 1));
}

}  // namespace
}  // namespace lpes::search
