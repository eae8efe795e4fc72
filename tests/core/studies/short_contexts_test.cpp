#include "core/studies/short_contexts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/studies/model_setup.h"
#include "core/studies/plot_queries.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::Guardrail;
using studies::ShortContexts;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(HeldAgainst, IsTheRiseOfPerplexityInPercent) {
    const auto even = studies::heldAgainst(2.0, 2.0, 0.0);
    EXPECT_EQ(even.rise, 0.0);
    EXPECT_EQ(even.violation, 0.0);
    EXPECT_THAT(even.reason, IsEmpty());
    const auto risen = studies::heldAgainst(2.0 + std::log(1.08), 2.0, 5.0);
    EXPECT_NEAR(risen.rise, 8.0, 1e-9);
    EXPECT_NEAR(risen.violation, 3.0, 1e-9);
    EXPECT_EQ(
        risen.reason,
        "short-context perplexity rises by 8.00 % against the model as it is, 3.00 points beyond the limit of 5 %");
    EXPECT_EQ(studies::heldAgainst(2.0 + std::log(1.04), 2.0, 5.0).violation, 0.0);
    EXPECT_LT(studies::heldAgainst(1.5, 2.0, 0.0).rise, 0.0) << "better";
    EXPECT_EQ(studies::heldAgainst(9.0, 2.0, std::nullopt).violation, 0.0) << "there is no limit";
    for (const double broken : {kNaN, std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(studies::heldAgainst(broken, 2.0, 5.0).violation, std::numeric_limits<double>::infinity());
        EXPECT_THAT(studies::heldAgainst(broken, 2.0, 5.0).reason, HasSubstr("not a finite number"));
    }
}

class ShortContextsTest : public testing::Test {
  protected:
    ShortContextsTest() {
        settings.guardrail.items = 11;
        settings.guardrailLimit = 0.0;
    }
    /// Outcomes of the short texts by variant.
    [[nodiscard]] std::map<std::string, std::size_t> textsByScales(store::StoreReader& reader, std::int64_t run) const {
        std::map<std::string, std::size_t> counts;
        for (const store::VariantRow& variant : take(reader.variants(run)))
            counts[json(variant.scales).dump()] = take(reader.outcomes(variant.id, "guardrail")).size();
        return counts;
    }
    void refused(const studies::SearchRunSettings& wrong, const char* words) {
        const auto plan = studies::planSearch(wrong);
        ASSERT_FALSE(plan);
        EXPECT_THAT(plan.error().message, HasSubstr(words));
    }
    const StudyFolder folder{withContext(2048)};
    studies::SearchRunSettings settings = smallSearch(folder);
    NullObserver observer;
};

TEST_F(ShortContextsTest, MeasureWhatTheGuardrailMeasuresAndKeepIt) {
    const auto loaded = take(studies::loadModel({folder.model(), "float32", "cpu", true}, observer, {}));
    const auto session = loaded.lm->newSession(1);
    const auto guardrail = take(Guardrail::make(settings.guardrail, loaded.tokenizer(), 2048));
    ASSERT_EQ(guardrail.texts().size(), 11u) << "more than one pass";

    class Counting final : public studies::ChunkObserver {
      public:
        Result<void> chunkDone(std::int64_t now, std::int64_t before) override {
            computed += now;
            reused += before;
            return {};
        }
        std::int64_t computed = 0, reused = 0;
    } counting;
    const auto side = take(guardrail.measure(*session, {}, counting, {}));
    model::LocalSession local(*session);
    const auto nlls = take(studies::shortTextNlls(local, {}, guardrail.texts(), {}));
    double sum = 0.0, tokens = 0.0;
    for (std::size_t i = 0; i < nlls.size(); ++i) {
        const auto scored = static_cast<double>(guardrail.texts()[i].size() - 1);
        sum += scored * nlls[i];
        tokens += scored;
    }
    EXPECT_EQ(static_cast<std::int64_t>(tokens), side.tokens());
    EXPECT_NEAR(std::exp(sum / tokens) / side.perplexity(), 1.0, 1e-4);
}

TEST_F(ShortContextsTest, OfEveryCandidateAreMeasuredOnceAndThoseBeyondTheLimitAskedNoItem) {
    auto store = openStore(folder / "lpes.db");
    const auto outcome = take(studies::runSearch(settings, *store, observer, {}));
    EXPECT_EQ(outcome.result["state"], "finished");
    store::StoreReader& reader = store->reader();
    const auto texts = textsByScales(reader, outcome.runId);
    EXPECT_EQ(texts.at("[]"), 11u) << "the baseline";
    std::map<std::int64_t, std::vector<double>> scales;
    for (const auto& variant : take(reader.variants(outcome.runId))) scales[variant.id] = variant.scales;
    int infeasible = 0;
    std::set<std::vector<double>> allowed;
    for (const store::CandidateRow& row : take(reader.candidates(outcome.runId))) {
        EXPECT_EQ(texts.at(json(scales[row.variantId]).dump()), 11u);
        if (row.state == store::CandidateRow::State::Infeasible) {
            infeasible += row.duplicateGeneration < 0 ? 1 : 0;
            EXPECT_THAT(row.reason, HasSubstr("beyond the limit of 0 %"));
            EXPECT_TRUE(std::isnan(row.fitness));
            EXPECT_THAT(take(reader.outcomes(row.variantId, "search")), IsEmpty());
        } else {
            allowed.insert(scales[row.variantId]);
        }
    }
    EXPECT_GT(infeasible, 0) << "nobody broke the limit, so the test says nothing";
    EXPECT_EQ(outcome.result["infeasible"], infeasible);
    EXPECT_TRUE(allowed.contains({1.0, 1.0})) << "what changes nothing keeps every limit";
    EXPECT_TRUE(allowed.contains(outcome.result["best"]["scales"].get<std::vector<double>>()));
    const json described = take(studies::describeRun(reader, take(reader.run(outcome.runId))));
    EXPECT_GE(described["infeasible"].size(), static_cast<std::size_t>(infeasible));
}

TEST_F(ShortContextsTest, StoppedAnywhereAndResumedEndInTheSameHistory) {
    for (const bool races : {false, true}) {
        SCOPED_TRACE(races ? "racing" : "plain");
        studies::SearchRunSettings own = settings;
        if (races) own.search.racing = 0.4;
        if (races) own.searchItems = 8;
        const std::string name = races ? "raced" : "plain";
        auto whole = openStore(folder / (name + "-whole.db"));
        const auto full = take(studies::runSearch(own, *whole, observer, {}));
        EXPECT_EQ(full.result["guardrail"]["chosen_by"], "--guardrail-limit");
        EXPECT_THAT(full.result["guardrail"]["reason"], HasSubstr("no independent check"));
        const std::string expected = historyOf(whole->reader(), full.runId).dump();
        for (const int prompts : {5, 30, 90}) {
            auto store = openStore(folder / (name + std::to_string(prompts) + ".db"));
            StopAfter stop(prompts);
            const auto first = take(studies::runSearch(own, *store, stop, stop.token()));
            ASSERT_TRUE(first.stoppedEarly) << prompts;
            const auto second = studies::resumeSearch(first.runId, prompts % 2 + 1, *store, observer, {});
            ASSERT_TRUE(second) << second.error().text();
            EXPECT_EQ(historyOf(store->reader(), first.runId).dump(), expected) << prompts;
        }
    }
}

TEST_F(ShortContextsTest, AreInThePlanAndTheForecast) {
    studies::SearchRunSettings free = settings;
    free.guardrailLimit.reset();
    const auto with = take(studies::planSearch(settings)), without = take(studies::planSearch(free));
    const auto candidates = with["candidates"].get<std::int64_t>();
    EXPECT_EQ(with["prompts"].get<std::int64_t>(), without["prompts"].get<std::int64_t>() + (candidates + 1) * 11);
    EXPECT_GT(with["tokens"], without["tokens"]);
    const json forecast = take(studies::forecastSearch(settings, observer, {}));
    EXPECT_EQ(forecast["prompts"].get<std::int64_t>(),
              take(studies::forecastSearch(free, observer, {}))["prompts"].get<std::int64_t>() + (candidates + 1) * 11);
    bool found = false;
    for (const json& stage : forecast["stages"]) {
        if (stage["stage"] != "guardrail limit") continue;
        found = true;
        EXPECT_EQ(stage["prompts"], (candidates + 1) * 11);
        EXPECT_GT(stage["seconds"].get<double>(), 0.0);
    }
    EXPECT_TRUE(found);
}

TEST_F(ShortContextsTest, AreRefusedWhereThereAreNone) {
    studies::SearchRunSettings wrong = settings;
    wrong.guardrail.items = 0;
    refused(wrong, "--guardrail 0 leaves no short text");
    wrong = settings;
    wrong.guardrailLimit = -1.0;
    refused(wrong, "--guardrail-limit -1");
    wrong.guardrailLimit = kNaN;
    refused(wrong, "--guardrail-limit");
    const StudyFolder narrow(withContext(40));
    wrong = settings;
    wrong.compute.model = narrow.model();
    std::vector<json> items;
    for (int item = 0; item < 12; ++item)
        items.push_back({{"question", std::to_string(item)}, {"answers", {"b"}}, {"template", "{question}"}});
    wrong.task = ownTask(narrow / "own.jsonl", items);
    refused(wrong, "no short text of the guardrail fits");
    EXPECT_EQ(take(studies::searchSettingsFromJson(studies::toJson(settings))).guardrailLimit, 0.0);
}

}  // namespace
}  // namespace lpes::test
