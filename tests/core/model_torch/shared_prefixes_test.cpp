#include "core/model/torch/shared_prefixes.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

using test::randomIds;
using text::TokenId;
using Sequences = std::vector<std::vector<TokenId>>;

std::vector<TokenId> joined(std::initializer_list<std::vector<TokenId>> parts) {
    std::vector<TokenId> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

SharedPrefixes found(const Sequences& sequences) {
    return SharedPrefixes::find(sequences, std::vector<std::vector<int>>(sequences.size(), std::vector<int>{0}));
}

/// Every token of every sequence stands at its row with its position, and behind a beginning that is its own.
void expectComplete(const SharedPrefixes& shared, const Sequences& sequences) {
    std::vector<std::pair<int, TokenId>> rows;
    std::vector<std::size_t> promptOf;
    for (const PackedPrompt& prompt : shared.prompts()) {
        EXPECT_FALSE(prompt.ids.empty());
        EXPECT_EQ(prompt.continues >= 0, prompt.firstPosition > 0);
        EXPECT_LT(prompt.continues, std::ssize(promptOf) == 0 ? 1 : static_cast<std::int64_t>(promptOf.back()) + 1);
        for (std::size_t i = 0; i < prompt.ids.size(); ++i) {
            rows.emplace_back(prompt.firstPosition + static_cast<int>(i), prompt.ids[i]);
            promptOf.push_back(static_cast<std::size_t>(&prompt - shared.prompts().data()));
        }
    }
    ASSERT_EQ(std::ssize(rows), shared.rows());
    const auto sequenceOf = [&](std::size_t index) {  // all tokens ahead of a prompt's end
        std::vector<TokenId> ids;
        for (std::int64_t prompt = static_cast<std::int64_t>(index), end = -1; prompt >= 0;) {
            const PackedPrompt& one = shared.prompts()[static_cast<std::size_t>(prompt)];
            const std::int64_t own = (end < 0 ? one.length() : end) - one.firstPosition;
            if (own > 0) ids.insert(ids.begin(), one.ids.begin(), one.ids.begin() + own);
            end = end < 0 ? one.firstPosition : std::min<std::int64_t>(end, one.firstPosition);
            prompt = one.continues;
        }
        return ids;
    };
    for (std::size_t s = 0; s < sequences.size(); ++s) {
        for (std::size_t p = 0; p < sequences[s].size(); ++p) {
            const auto row = static_cast<std::size_t>(shared.row(s, p));
            ASSERT_LT(row, rows.size());
            EXPECT_EQ(rows[row], (std::pair{static_cast<int>(p), sequences[s][p]})) << s << " " << p;
            const std::vector<TokenId> ahead = sequenceOf(promptOf[row]);
            ASSERT_GT(ahead.size(), p);
            EXPECT_TRUE(
                std::equal(ahead.begin(), ahead.begin() + static_cast<std::ptrdiff_t>(p) + 1, sequences[s].begin()));
        }
    }
}

TEST(SharedPrefixes, NothingIsSharedUnlessAskedFor) {
    const Sequences sequences{randomIds(30, 1), randomIds(30, 1), randomIds(5, 2)};
    const SharedPrefixes shared = SharedPrefixes::none(sequences);
    EXPECT_EQ(shared.rows(), 65);
    EXPECT_EQ(shared.keys(), 65);
    EXPECT_EQ(shared.row(1, 0), 30);
    EXPECT_EQ(shared.row(2, 4), 64);
    expectComplete(shared, sequences);
}

TEST(SharedPrefixes, ATrunkAndItsBranchesAreComputedOnce) {
    const auto trunk = randomIds(40, 1), bough = randomIds(20, 2);
    const Sequences sequences{joined({trunk, {1}, randomIds(9, 3)}), joined({trunk, {2}, bough, randomIds(7, 4)}),
                              randomIds(33, 5), joined({trunk, {2}, bough, {250}, randomIds(3, 6)})};
    const SharedPrefixes shared = found(sequences);
    EXPECT_EQ(shared.prompts().size(), 4u);
    EXPECT_GE(shared.rows(), 40 + 10 + 21 + 7 + 33 + 3);
    EXPECT_LE(shared.rows(), 40 + 10 + 21 + 7 + 33 + 4);
    EXPECT_EQ(shared.keys(), 50 + 68 + 33 + 65);
    expectComplete(shared, sequences);
}

TEST(SharedPrefixes, EqualSequencesAndBeginningsOfOthersHaveNoPromptOfTheirOwn) {
    const auto longest = randomIds(60, 1);
    const std::vector<TokenId> beginning(longest.begin(), longest.begin() + 25);
    const Sequences sequences{longest, beginning, longest, beginning};
    const SharedPrefixes shared = found(sequences);
    EXPECT_EQ(shared.prompts().size(), 2u);
    EXPECT_EQ(shared.rows(), 60);
    EXPECT_EQ(shared.row(0, 59), shared.row(2, 59));
    EXPECT_EQ(shared.row(1, 24), shared.row(0, 24));
    expectComplete(shared, sequences);
}

TEST(SharedPrefixes, AFewCommonTokensAreComputedAgain) {
    const auto common = randomIds(16, 1);
    const auto rows = [&](std::ptrdiff_t count) {
        const std::vector<TokenId> beginning(common.begin(), common.begin() + count);
        const Sequences sequences{joined({beginning, {1, 2, 3}}), joined({beginning, {4, 5, 6}})};
        const SharedPrefixes shared = found(sequences);
        expectComplete(shared, sequences);
        return shared.rows();
    };
    EXPECT_EQ(rows(15), 36);
    EXPECT_EQ(rows(16), 22);
    const Sequences same{{7, 8}, {7, 8}};
    EXPECT_EQ(found(same).rows(), 4);
}

TEST(SharedPrefixes, SequencesOfDifferentFrequenciesShareNothing) {
    const auto ids = randomIds(40, 1);
    const Sequences sequences{ids, ids, ids};
    const std::vector<std::vector<int>> kinds{{0, 0}, {0, 7}, {0, 0}};
    const SharedPrefixes shared = SharedPrefixes::find(sequences, kinds);
    EXPECT_EQ(shared.rows(), 80);
    EXPECT_EQ(shared.row(0, 20), shared.row(2, 20));
    EXPECT_NE(shared.row(0, 20), shared.row(1, 20));
    expectComplete(shared, sequences);
}

TEST(SharedPrefixes, AnyTreeOfSequencesIsComplete) {
    RandomStream random(3, kStreamTests, 1);
    for (int round = 0; round < 200; ++round) {
        Sequences sequences;
        std::set<std::vector<TokenId>> beginnings;
        const auto count = 1 + random.below(12);
        for (std::uint64_t i = 0; i < count; ++i) {
            std::vector<TokenId> ids;
            if (!sequences.empty() && random.below(4) > 0) {
                const auto& other = sequences[random.below(sequences.size())];
                ids.assign(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(random.below(other.size() + 1)));
            }
            const auto more = random.below(40) + (ids.empty() ? 1 : 0);
            for (std::uint64_t k = 0; k < more; ++k) ids.push_back(static_cast<TokenId>(random.below(3)));
            for (std::size_t k = 1; k <= ids.size(); ++k)
                beginnings.emplace(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(k));
            sequences.push_back(std::move(ids));
        }
        const SharedPrefixes shared = found(sequences);
        expectComplete(shared, sequences);
        // No more is computed twice than beginnings that are too short to pay.
        EXPECT_GE(shared.rows(), std::ssize(beginnings));
        EXPECT_LE(shared.rows(), std::ssize(beginnings) + 15 * std::ssize(sequences));
    }
}

}  // namespace
}  // namespace lpes::model
