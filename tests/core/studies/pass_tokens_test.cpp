#include "core/studies/pass_tokens.h"

#include <gtest/gtest.h>

#include <set>

#include "core/studies/model_setup.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::PassTokens;

class PassTokensOfPlans : public testing::Test {
  protected:
    PassTokensOfPlans() {
        opened = take(studies::openModel(folder.model(), true));
        keyValues.limit = 4;
    }
    [[nodiscard]] studies::PromptPlan plan(const studies::TaskSpec& spec, studies::PassSize pass) const {
        const auto task = take(studies::prepareTask(spec, 10));
        return take(studies::PromptPlan::make(task, task.ids(), *opened.tokenizer, 4096, pass));
    }
    [[nodiscard]] std::vector<PassTokens> passes(const studies::PromptPlan& plan) const {
        return take(studies::passTokens(plan, {}, opened.config()));
    }

    const StudyFolder folder{withContext(4096)};
    studies::OpenedModel opened;
    studies::TaskSpec keyValues = smallSearch(folder).task;
};

TEST_F(PassTokensOfPlans, CountACommonBeginningOncePerPass) {
    const auto sharing = plan(keyValues, {3, {}, true});
    const std::vector<PassTokens> counted = passes(sharing);
    ASSERT_EQ(counted.size(), sharing.chunks().size());
    for (std::size_t pass = 0; pass < counted.size(); ++pass) {
        std::int64_t all = 0;
        std::set<std::vector<text::TokenId>> beginnings;
        const std::vector<std::size_t>& entries = sharing.chunks()[pass];
        for (const std::size_t entry : entries) {
            const auto tokens = take(sharing.tokens(entry));
            std::vector<text::TokenId> ids = tokens->prompt;
            ids.insert(ids.end(), tokens->answer.begin(), tokens->answer.end() - 1);
            all += std::ssize(ids);
            for (; !ids.empty(); ids.pop_back()) beginnings.insert(ids);
        }
        EXPECT_EQ(counted[pass].all, all);
        EXPECT_GE(counted[pass].computed, std::ssize(beginnings));
        EXPECT_LE(counted[pass].computed, std::ssize(beginnings) + 15 * std::ssize(entries)) << "too short to share";
        EXPECT_LT(counted[pass].computed, counted[pass].all);
    }
}

TEST_F(PassTokensOfPlans, CountEveryPromptWholeWhereNoneShares) {
    for (const studies::PassSize pass : {studies::PassSize{3, {}, false}, studies::PassSize{1, {}, true}}) {
        for (const PassTokens& one : passes(plan(keyValues, pass))) {
            EXPECT_GT(one.all, 0);
            EXPECT_EQ(one.computed, one.all) << pass.prompts << " a pass";
        }
    }
}

TEST_F(PassTokensOfPlans, CountAPromptWithEachOfItsChoices) {
    const auto choosing = plan(mmluTask(1), {1, {}, true});
    const std::vector<PassTokens> counted = passes(choosing);
    ASSERT_FALSE(counted.empty());
    for (std::size_t pass = 0; pass < counted.size(); ++pass) {
        const auto tokens = take(choosing.tokens(choosing.chunks()[pass][0]));
        const auto prompt = std::ssize(tokens->prompt);
        EXPECT_GE(counted[pass].all, 4 * prompt);
        EXPECT_GE(counted[pass].computed, prompt);
        EXPECT_LT(counted[pass].computed, 2 * prompt);
    }
}

search::CandidateRecord recordOf(std::size_t items) {
    search::CandidateRecord made;
    made.evaluation.byItem.resize(items);
    return made;
}

TEST_F(PassTokensOfPlans, OfASearchAreThoseOfWhatItsEvaluationsWereAsked) {
    const auto searched = plan(keyValues, {3, {}, false});  // a pass has one item at its three positions
    const std::vector<PassTokens> each{{100, 60}, {10, 6}, {1000, 600}, {10000, 6000}};
    ASSERT_EQ(searched.chunks().size(), each.size());
    search::SearchOutcome outcome;
    const auto sum = [&] { return studies::evaluatedTokens(outcome, searched, each); };
    EXPECT_EQ(sum().all, 0);
    outcome.candidates.push_back(recordOf(4));
    EXPECT_EQ(sum().all, 11110);
    EXPECT_EQ(sum().computed, 6666);
    outcome.candidates.push_back(recordOf(2));
    outcome.candidates.back().evaluation.givenUp = true;
    EXPECT_EQ(sum().all, 11220) << "a race looked at two items";
    EXPECT_EQ(sum().computed, 6732);
    outcome.candidates.push_back(recordOf(4));
    outcome.candidates.back().duplicateOf = {0, 0};
    outcome.candidates.push_back(recordOf(0));
    outcome.candidates.back().evaluation.failed = true;
    outcome.candidates.push_back(recordOf(0));
    outcome.candidates.back().evaluation.violation = 0.1;
    EXPECT_EQ(sum().all, 11220) << "nothing more was asked, or it is not known what";
}

TEST(PrefixesShared, AreThePassesOfAllEvaluationsWhicheverSittingPaidForThem) {
    const StudyFolder folder;
    const studies::SearchRunSettings settings = smallSearch(folder);
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const json whole = take(studies::runSearch(settings, *store, observer, {})).result;
    const json shared = whole["prefixes_shared"];
    ASSERT_TRUE(shared.is_object());
    EXPECT_GT(shared["tokens"], shared["computed"]);
    const auto evaluations = whole["evaluations"].get<std::int64_t>();
    EXPECT_EQ(shared["tokens"].get<std::int64_t>() % evaluations, 0);
    EXPECT_EQ(shared["computed"].get<std::int64_t>() % evaluations, 0);

    StopAfter stop(30);
    const auto stopped = take(studies::runSearch(settings, *store, stop, stop.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    EXPECT_LT(stopped.result["prefixes_shared"]["tokens"], shared["tokens"]);
    EXPECT_EQ(take(studies::resumeSearch(stopped.runId, 2, *store, observer, {})).result["prefixes_shared"], shared);
}

TEST(PrefixesShared, AreNotSaidWhereEveryPromptIsComputedForItself) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.search.maxGenerations = 1;
    settings.compute.sharePrefixes = false;
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    const json result = take(studies::runSearch(settings, *store, observer, {})).result;
    ASSERT_TRUE(result.contains("prefixes_shared"));
    EXPECT_TRUE(result["prefixes_shared"].is_null());
}

}  // namespace
}  // namespace lpes::test
