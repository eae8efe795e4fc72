#include "core/studies/guardrail_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/analysis/verdict.h"
#include "core/studies/plot_queries.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::GuardrailSide;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Of texts of 100 tokens and of questions, of which every second one is right.
GuardrailSide side(int texts, int questions, double perplexity = 10.0) {
    GuardrailSide out;
    out.textNll.assign(static_cast<std::size_t>(texts), 100.0 * std::log(perplexity));
    out.textTokens.assign(static_cast<std::size_t>(texts), 100);
    GuardrailSide::Exam exam{"short questions", {}, {}};
    for (int question = 0; question < questions; ++question) {
        exam.right.push_back(question % 2 == 0);
        exam.choiceNll.push_back(1.0);
    }
    out.exams.push_back(std::move(exam));
    return out;
}

/// Every value differs from `mean` by the same `spread`, upwards and downwards in turn.
double scattered(double mean, double spread, std::size_t i) {
    return mean + (i % 2 == 0 ? spread : -spread);
}

/// 100 texts and 100 questions, whose perplexity and answers change so much on average.
GuardrailSide changed(double ratio, double nll, double spread = 0.1) {
    GuardrailSide out = side(100, 100, 10.0 * ratio);
    for (std::size_t i = 0; i < out.textNll.size(); ++i) out.textNll[i] += scattered(0.0, 100.0 * spread, i);
    for (std::size_t i = 0; i < out.exams[0].choiceNll.size(); ++i)
        out.exams[0].choiceNll[i] += scattered(nll, spread, i);
    return out;
}

/// The first `lost` right answers become wrong, and the first `won` wrong ones right.
GuardrailSide answered(int questions, int lost, int won) {
    GuardrailSide out = side(100, questions);
    for (std::size_t i = 0; i < out.exams[0].right.size(); ++i) {
        int& left = out.exams[0].right[i] ? lost : won;
        if (left-- > 0) out.exams[0].right[i] = !out.exams[0].right[i];
    }
    return out;
}

std::string light(const GuardrailSide& before, const GuardrailSide& after) {
    return studies::judgeShortContexts(before, after)["light"];
}
std::string reason(const GuardrailSide& before, const GuardrailSide& after) {
    return studies::judgeShortContexts(before, after)["reason"];
}

TEST(GuardrailRules, WhatChangesNothingIsGreenAtTheBundledNumberOfQuestions) {
    const GuardrailSide before = side(100, 100);
    const json judged = studies::judgeShortContexts(before, before);
    EXPECT_EQ(judged["light"], "green");
    EXPECT_THAT(judged["reason"].get<std::string>(), StartsWith("no harm beyond the limits; short-context perplexity"));
    EXPECT_EQ(judged["perplexity"]["ratio"], 1.0);
    EXPECT_EQ(judged["perplexity"]["ci_low"], 1.0);
    EXPECT_EQ(judged["perplexity"]["ci_high"], 1.0);
    EXPECT_EQ(judged, studies::judgeShortContexts(before, before)) << "the same every time";
}

TEST(GuardrailRules, AHarmlessMethodOfWhichAnswersChangeByChanceIsGreenToo) {
    const GuardrailSide before = side(100, 100);
    EXPECT_EQ(light(before, changed(1.002, 0.005)), "green");
    EXPECT_EQ(light(before, changed(0.9, -0.2)), "green") << "better";
    EXPECT_EQ(light(before, answered(100, 5, 5)), "green") << "ten of a hundred answers change";
    EXPECT_EQ(light(before, answered(100, 6, 4)), "green");
    EXPECT_EQ(light(before, answered(100, 0, 20)), "green") << "more are right";
}

TEST(GuardrailRules, PerplexityTurnsTheLightWithItsInterval) {
    const GuardrailSide before = side(100, 100);
    EXPECT_EQ(light(before, changed(1.10, 0.0, 0.1)), "red");
    EXPECT_EQ(light(before, changed(1.10, 0.0, 1.0)), "amber") << "the interval reaches below 1";
    EXPECT_EQ(light(before, changed(1.04, 0.0, 0.1)), "amber") << "5 % more is not excluded";
    EXPECT_EQ(light(before, changed(1.03, 0.0, 0.02)), "amber") << "excluded, but more than a small harm is certain";
    EXPECT_EQ(light(before, changed(1.008, 0.0, 0.02)), "green") << "a small one";
    EXPECT_THAT(reason(before, changed(1.10, 0.0, 0.1)),
                AllOf(HasSubstr("short-context perplexity rises to 1.1"), HasSubstr("times the baseline's (95 % 1.0"),
                      HasSubstr("a rise by more than 5 %"), Not(HasSubstr("excluded"))));
    EXPECT_THAT(reason(before, changed(1.04, 0.0, 0.1)), HasSubstr("a rise by more than 5 % is not excluded"));
    EXPECT_THAT(reason(before, changed(1.03, 0.0, 0.02)),
                HasSubstr("a harm, though a rise by more than 5 % is excluded"));
}

TEST(GuardrailRules, TheIntervalIsOfThePerplexityWhoseTextsWeighByTheirTokens) {
    GuardrailSide before = side(40, 100);
    for (std::size_t i = 0; i < before.textTokens.size(); ++i) {
        before.textTokens[i] = i % 4 == 0 ? 400 : 20;
        before.textNll[i] = static_cast<double>(before.textTokens[i]) * 2.0;
    }
    GuardrailSide after = before;
    for (std::size_t i = 0; i < after.textNll.size(); ++i)
        after.textNll[i] += static_cast<double>(after.textTokens[i]) * 0.1;  // every token loses as much
    const json perplexity = studies::judgeShortContexts(before, after)["perplexity"];
    EXPECT_NEAR(perplexity["ratio"].get<double>(), std::exp(0.1), 1e-12);
    EXPECT_LT(perplexity["ci_low"].get<double>(), std::exp(0.1));
    EXPECT_GT(perplexity["ci_low"].get<double>(), 1.0);
    EXPECT_GT(perplexity["ci_high"].get<double>(), std::exp(0.1));
    EXPECT_EQ(perplexity["tokens"], 10 * 400 + 30 * 20);
    EXPECT_EQ(perplexity["texts"], 40);
}

TEST(GuardrailRules, TheRightChoicesLikelihoodTurnsItWhereAccuracySeesNothing) {
    const GuardrailSide before = side(100, 100);
    EXPECT_EQ(light(before, changed(1.0, 0.2)), "red");
    EXPECT_THAT(reason(before, changed(1.0, 0.2)),
                AllOf(HasSubstr("short questions: NLL of the right choice rises by 0.200 nats (95 % 0.1"),
                      HasSubstr("0.1 nats")));
    EXPECT_EQ(light(before, changed(1.0, 0.05, 0.5)), "amber") << "0.1 more is not excluded";
    EXPECT_EQ(light(before, changed(1.0, 0.05, 0.05)), "amber") << "excluded, but half of it is certain";
    EXPECT_EQ(light(before, changed(1.0, 0.01, 0.05)), "green");
    const json exam = studies::judgeShortContexts(before, changed(1.0, 0.2))["exams"][0];
    EXPECT_EQ(exam["difference"], 0.0);
    EXPECT_NEAR(exam["choice_nll_difference"].get<double>(), 0.2, 1e-12);
    EXPECT_NEAR(exam["choice_nll_ci_low"].get<double>(), 0.18, 0.005);
    EXPECT_NEAR(exam["choice_nll_ci_high"].get<double>(), 0.22, 0.005);
}

TEST(GuardrailRules, AccuracyTurnsItWithThePairedInterval) {
    const GuardrailSide before = side(100, 100), many = side(100, 2000);
    EXPECT_EQ(light(before, answered(100, 20, 0)), "red") << "twenty points";
    EXPECT_EQ(light(before, answered(100, 25, 13)), "amber") << "twelve points that chance could explain";
    EXPECT_EQ(light(before, answered(100, 10, 5)), "amber") << "a fall by ten is not excluded";
    EXPECT_EQ(light(many, answered(2000, 120, 20)), "amber") << "five points, certain, and ten are excluded";
    EXPECT_EQ(light(many, answered(2000, 60, 40)), "green") << "one point";
    const json judged = studies::judgeShortContexts(before, answered(100, 20, 0));
    EXPECT_THAT(judged["reason"].get<std::string>(),
                AllOf(HasSubstr("short questions: accuracy falls by 20.0 points (95 % −2"),
                      HasSubstr("a fall by more than 10 points")));
    const json& exam = judged["exams"][0];
    EXPECT_EQ(exam["n"], 100);
    EXPECT_NEAR(exam["difference"].get<double>(), -0.2, 1e-12);
    EXPECT_LT(exam["ci_low"].get<double>(), -0.2);
    EXPECT_LT(exam["ci_high"].get<double>(), 0.0);
    EXPECT_LT(exam["p_value"].get<double>(), 1e-4);
}

TEST(GuardrailRules, FewTextsOrQuestionsAreAmberWhateverTheySay) {
    for (const int few : {0, 1, 2, 9}) {
        const std::string said = reason(side(100, few), side(100, few));
        EXPECT_EQ(light(side(100, few), side(100, few)), "amber") << few;
        EXPECT_THAT(said, StartsWith("too few questions to say, " + std::to_string(few) + " where 10 are needed"));
        EXPECT_THAT(said, Not(HasSubstr("nan"))) << few;
    }
    for (const int few : {1, 9}) {
        EXPECT_EQ(light(side(few, 100), side(few, 100, 20.0)), "amber") << "twice the perplexity";
        EXPECT_THAT(reason(side(few, 100), side(few, 100)), StartsWith("too few short texts to say"));
    }
    const json one = studies::judgeShortContexts(side(1, 1), side(1, 1, 11.0));
    EXPECT_TRUE(one["perplexity"]["ci_low"].is_null() || std::isnan(one["perplexity"]["ci_low"].get<double>()));
    EXPECT_TRUE(json::parse(one.dump())["exams"][0]["choice_nll_ci_high"].is_null());
    const json nine = json::parse(studies::judgeShortContexts(side(9, 9), side(9, 9, 11.0)).dump());
    for (const char* key : {"ci_low", "ci_high"}) EXPECT_TRUE(nine["perplexity"][key].is_null()) << key;
    EXPECT_TRUE(nine["exams"][0]["choice_nll_ci_low"].is_null());
}

TEST(GuardrailRules, AnswersThatAllStayProveNothingAboutAFewQuestions) {
    EXPECT_EQ(light(side(100, 12), side(100, 12)), "amber") << "a fall by ten points is not excluded by twelve";
    EXPECT_THAT(reason(side(100, 12), side(100, 12)),
                AllOf(HasSubstr("accuracy stays (95 % −19.8 to 19.8)"),
                      HasSubstr("a fall by more than 10 points is not excluded")));
    EXPECT_EQ(light(side(100, 30), side(100, 30)), "green");
}

TEST(GuardrailRules, WhatIsNoFiniteNumberIsRed) {
    const GuardrailSide before = side(100, 100);
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        GuardrailSide after = before;
        after.textNll[7] = value;
        EXPECT_EQ(light(before, after), "red");
        EXPECT_EQ(reason(before, after), "short-context perplexity is not a finite number");
        after = before;
        after.exams[0].choiceNll[7] = value;
        EXPECT_EQ(light(before, after), "red");
        EXPECT_EQ(reason(before, after), "short questions: NLL of the right choice is not a finite number");
    }
}

TEST(GuardrailRules, TheWorstMeasureGivesTheLightAndEachHasItsOwn) {
    const GuardrailSide before = side(100, 100);
    GuardrailSide after = changed(1.03, 0.0);
    after.exams[0].right.assign(100, false);
    const json exam = studies::judgeShortContexts(before, after);
    EXPECT_EQ(exam["light"], "red");
    EXPECT_THAT(exam["reason"].get<std::string>(), HasSubstr("accuracy falls by 50.0 points"));
    EXPECT_EQ(exam["perplexity"]["light"], "amber");
    EXPECT_EQ(exam["exams"][0]["light"], "red");
    const json perplexity = studies::judgeShortContexts(before, changed(1.2, 0.05, 0.05));
    EXPECT_THAT(perplexity["reason"].get<std::string>(), HasSubstr("perplexity rises to 1.2"));
    EXPECT_EQ(perplexity["exams"][0]["light"], "amber");
}

TEST(GuardrailRules, TheRulesInWordsAndTheResultSayTheLimits) {
    const json limits = studies::judgeShortContexts(side(100, 100), side(100, 100))["limits"];
    EXPECT_EQ(limits["perplexity_rise"], studies::kPerplexityRise.limit);
    EXPECT_EQ(limits["choice_nll_rise"], studies::kChoiceNllRise.limit);
    EXPECT_EQ(limits["accuracy_fall"], studies::kAccuracyFall.limit);
    EXPECT_EQ(limits["fewest_items"], analysis::kFewestItems);
    EXPECT_THAT(studies::guardrailRules(), AllOf(HasSubstr("rise by 5 %"), HasSubstr("0.1 nats"),
                                                 HasSubstr("10 points"), HasSubstr("fewer than 10")));
}

TEST(GuardrailRules, ALightJudgedOnTheTextsThatChoseTheProfileSaysSo) {
    json judged = studies::judgeShortContexts(side(100, 100), changed(1.0, 0.0));
    const json before = judged;
    studies::noteChosenBy(judged, "--guardrail-limit");
    EXPECT_EQ(judged["light"], before["light"]);
    EXPECT_EQ(judged["chosen_by"], "--guardrail-limit");
    EXPECT_EQ(judged["reason"], before["reason"].get<std::string>() +
                                    " (no independent check: under --guardrail-limit the same short texts chose the "
                                    "profile)");
}

TEST(GuardrailLines, HaveEveryIntervalAndLeaveOutWhatAnEarlierVersionDidNotStore) {
    const json judged = studies::judgeShortContexts(side(100, 100), changed(1.1, 0.2));
    const std::string lines = studies::guardrailLines(judged);
    EXPECT_THAT(lines, StartsWith("Perplexity of 100 short texts: 10.000 → 11.000 (× 1.100, 95 % 1.0"));
    EXPECT_THAT(lines,
                AllOf(HasSubstr("\nshort questions, 100 questions: accuracy 0.500 → 0.500 (change 0.000, 95 % −0.0"),
                      HasSubstr("NLL of the right choice changes by 0.200 nats, 95 % 0.1")));
    json earlier = judged;
    for (const char* key : {"ci_low", "ci_high"}) {
        earlier["perplexity"].erase(key);
        earlier["exams"][0].erase(key);
    }
    EXPECT_THAT(studies::guardrailLines(earlier), AllOf(HasSubstr("(× 1.100)"), Not(HasSubstr("nan"))));
    EXPECT_EQ(studies::guardrailLines(nullptr), "");
}

}  // namespace
}  // namespace lpes::test
