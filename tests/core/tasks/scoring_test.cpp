#include "core/tasks/scoring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace lpes::tasks {
namespace {

using testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr double kTolerance = 1e-9;

const nlohmann::json& golden() {
    static const auto kGolden = [] {
        std::ifstream file(LPES_TEST_DATA "/golden/metric_scores.json");
        return nlohmann::json::parse(file);
    }();
    return kGolden;
}

double score(Metric metric, const Texts& references, std::string_view generated) {
    return scoreAnswer(metric, references, generated);
}

Metric metricOf(const nlohmann::json& name) {
    const auto metric = parseMetric(name.get<std::string>());
    EXPECT_TRUE(metric) << name;
    return metric.value_or(Metric::Likeliest);
}

TEST(Scoring, TextsScoreAsWithTheOfficialPackages) {
    const auto& metrics = golden().at("metrics");
    ASSERT_GE(golden().at("texts").size(), 700u);
    for (const auto& one : golden().at("texts")) {
        for (std::size_t m = 0; m < metrics.size(); ++m) {
            EXPECT_NEAR(score(metricOf(metrics[m]), one[0].get<Texts>(), one[1].get<std::string>()),
                        one[2][m].get<double>(), kTolerance)
                << metrics[m] << " of " << one;
        }
    }
}

TEST(Scoring, ChoicesNumbersAndListsScoreAsTheOfficialScriptsSay) {
    std::map<std::string, int> cases;
    for (const auto& one : golden().at("special")) {
        EXPECT_NEAR(score(metricOf(one[0]), one[1].get<Texts>(), one[2].get<std::string>()), one[3].get<double>(),
                    kTolerance)
            << one;
        ++cases[one[0].get<std::string>()];
    }
    ASSERT_EQ(cases.size(), 8u);
    for (const auto& [name, count] : cases) EXPECT_GE(count, 200) << name;
}

TEST(Scoring, BestSubspanLooksAtTheFirstLineAlone) {
    EXPECT_EQ(score(Metric::BestSubspan, {"Paris"}, "It is paris.\nNo, London"), 1.0);
    EXPECT_EQ(score(Metric::BestSubspan, {"London"}, "It is paris.\nNo, London"), 0.0);
    EXPECT_EQ(score(Metric::BestSubspan, {"Paris"}, "\nParis"), 0.0);
}

TEST(Scoring, ReferenceThatNormalisesToNothingAlwaysScores) {
    EXPECT_EQ(score(Metric::BestSubspan, {"The"}, "whatever"), 1.0);
    EXPECT_EQ(score(Metric::BestSubspan, {"?!"}, ""), 1.0);
    EXPECT_EQ(score(Metric::F1, {"The"}, "the"), 0.0);
}

TEST(Scoring, BestReferenceCountsExceptWhereAllAreWanted) {
    EXPECT_EQ(score(Metric::Contains, {"x1", "x2"}, "here is X2"), 1.0);
    EXPECT_EQ(score(Metric::ContainsAll, {"x1", "x2"}, "here is X2"), 0.5);
    EXPECT_EQ(score(Metric::ContainsAll, {"x1", "x2"}, "X2x1"), 1.0);
    EXPECT_EQ(score(Metric::F1, {"red", "blue cat"}, "the blue cat"), 1.0);
}

TEST(Scoring, EachRougeTakesItsOwnBestReference) {
    // R1 and R2 from the second reference, RL from the first.
    const Texts references{"p a q b r c s d", "c d a b"};
    const double both = score(Metric::RougeGeometric, references, "a b c d");
    EXPECT_GT(both, score(Metric::RougeGeometric, {references[0]}, "a b c d"));
    EXPECT_GT(both, score(Metric::RougeGeometric, {references[1]}, "a b c d"));
}

TEST(Scoring, SixtyPercentForFiftyIsHalf) {
    EXPECT_NEAR(score(Metric::ExpSimilarity, {"50%"}, "About 60% of them"), 0.5, kTolerance);
    EXPECT_EQ(score(Metric::ExpSimilarity, {"50%"}, "fifty"), 0.0);
    EXPECT_EQ(score(Metric::ExpSimilarity, {"50%"}, std::string(400, '9') + "%"), 0.0);
}

TEST(Scoring, ListThatIsNoPermutationScoresNothing) {
    EXPECT_EQ(score(Metric::Concordance, {"1, 2, 3"}, "3, 2, 1"), 0.0);
    EXPECT_EQ(score(Metric::Concordance, {"1, 2, 3"}, "Order: 1, 2, 3."), 1.0);
    EXPECT_NEAR(score(Metric::Concordance, {"3, 1, 2"}, "1, 3, 2"), 2.0 / 3.0, kTolerance);
    EXPECT_EQ(score(Metric::Concordance, {"1, 2, 3"}, "1, 2"), 0.0);
    EXPECT_EQ(score(Metric::Concordance, {"1, 2, 3"}, "1, 2, 2"), 0.0);
    EXPECT_EQ(score(Metric::Concordance, {"1, 2, 3"}, ""), 0.0);
}

TEST(Scoring, PartOfTheRightLettersGivesAQuarter) {
    EXPECT_EQ(score(Metric::ExamSomeLetters, {"ACD"}, "ACD"), 1.0);
    EXPECT_EQ(score(Metric::ExamSomeLetters, {"ACD"}, "A. and C) Question 2: B."), 0.25);
    EXPECT_EQ(score(Metric::ExamSomeLetters, {"ACD"}, "AB"), 0.0);
    EXPECT_EQ(score(Metric::ExamOneLetter, {"(B) Their subconscious knew"}, "the answer is B"), 1.0);
    EXPECT_EQ(score(Metric::ExamOneLetter, {"(B) Their subconscious knew"}, "Actually B"), 0.0);
}

TEST(Scoring, JudgementWithoutAFactCountsHalfOfThePair) {
    EXPECT_EQ(score(Metric::ExamJudgement, {"True [fact: False]"}, "True [fact: It is false]"), 1.0);
    EXPECT_EQ(score(Metric::ExamJudgement, {"True [fact: False]"}, "It is true."), 0.5);
    EXPECT_EQ(score(Metric::ExamJudgement, {"true"}, "It is true."), 1.0);
}

TEST(Scoring, EveryMetricTakesAnyBytes) {
    const std::string bytes("\xff\xfe\0 A\xc3 5\xe2\x82% true [fact:\xf0\x9f", 22);
    for (int m = 0; m <= static_cast<int>(Metric::Likeliest); ++m) {
        const auto metric = static_cast<Metric>(m);
        for (const auto& [reference, answer] : {std::pair{bytes, bytes}, {bytes, ""}, {"", bytes}, {"", ""}}) {
            const double given = score(metric, {reference}, answer);
            EXPECT_TRUE(given >= 0.0 && given <= 1.0) << metricName(metric) << " gives " << given;
        }
    }
    EXPECT_EQ(score(Metric::Contains, {"\xff"}, "a\xff"), 1.0);
    EXPECT_EQ(score(Metric::BestSubspan, {"\xff"}, "\xfe"), 0.0);
}

TEST(Scoring, LongAnswersAreScoredWhole) {
    const Texts references{"needle in the last place, 42%, A"};
    for (const std::string_view unit :
         {"y", "7", "7.", "alli", "word ", "A ", "\u0663", "\xff", "  ", "[ [", "The answer is "}) {
        std::string answer;
        while (answer.size() < 100'000) answer += unit;
        answer += " needle";
        for (int m = 0; m <= static_cast<int>(Metric::Likeliest); ++m) {
            const double given = score(static_cast<Metric>(m), references, answer);
            EXPECT_TRUE(given >= 0.0 && given <= 1.0);
        }
        EXPECT_EQ(score(Metric::Contains, {"needle"}, answer), 1.0);
    }
}

TEST(Scoring, NamesAreReadBack) {
    std::set<std::string_view> names;
    for (int m = 0; m <= static_cast<int>(Metric::Likeliest); ++m) {
        const auto metric = static_cast<Metric>(m);
        names.insert(metricName(metric));
        EXPECT_EQ(parseMetric(std::string(metricName(metric))).value(), metric);
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(Metric::Likeliest) + 1);
    const auto unknown = parseMetric("bleu");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::Usage);
    EXPECT_THAT(unknown.error().text(), AllOf(HasSubstr("'bleu'"), HasSubstr("best_subspan_em, ")));
}

TEST(Scoring, BinaryMetricsGiveNothingBetween) {
    for (const auto& one : golden().at("special")) {
        const double given = one[3];
        EXPECT_TRUE(!isBinary(metricOf(one[0])) || given == 0.0 || given == 1.0) << one;
    }
    EXPECT_TRUE(isBinary(Metric::Contains));
    EXPECT_FALSE(isBinary(Metric::ContainsAll));
    EXPECT_FALSE(isBinary(Metric::ExamSomeLetters));
}

TEST(Scoring, LikelihoodIsNoMatterOfText) {
    EXPECT_EQ(score(Metric::Likeliest, {"A"}, "A"), 0.0);
}

}  // namespace
}  // namespace lpes::tasks
