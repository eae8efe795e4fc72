#include "core/studies/layer_reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::LayerReuse;
using studies::ReusingPass;
using Scales = std::vector<double>;
using testing::HasSubstr;

constexpr std::int64_t kStateBytes = 10;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 2;

/// Stands for what layers with these scales make of a batch.
class FakeState final : public model::LayerState {
  public:
    FakeState(Scales leading, std::size_t number) : scales(std::move(leading)), batch(number) {}
    [[nodiscard]] std::int64_t bytes() const override { return kStateBytes; }
    const Scales scales;
    const std::size_t batch;
};

/// Candidates over some layers with `groups` scales in each, evaluated as a session would.
struct Generation {
    int layers = 0, groups = 1;
    std::vector<search::Candidate> candidates;

    [[nodiscard]] const Scales& scales(std::size_t candidate) const { return candidates[candidate].scales; }
    [[nodiscard]] int common(std::size_t one, std::size_t other) const {
        const auto place = std::ranges::mismatch(scales(one), scales(other)).in1 - scales(one).begin();
        return static_cast<int>(place) / groups;
    }
    /// Takes over what is known; checks that it is the candidate's own.
    [[nodiscard]] int begin(ReusingPass& pass, std::size_t candidate, std::size_t batch) const {
        const auto known = pass.begin();
        if (!known.state) {
            EXPECT_EQ(known.layers, 0);
            return 0;
        }
        const auto& state = dynamic_cast<const FakeState&>(*known.state);
        EXPECT_EQ(state.batch, batch);
        EXPECT_EQ(state.scales, leading(candidate, known.layers));
        EXPECT_GT(known.layers, 0);
        return known.layers;
    }
    void compute(ReusingPass& pass, std::size_t candidate, std::size_t batch, int known) const {
        for (int layer = known + 1; layer < layers; ++layer) {
            if (pass.wanted(layer, kStateBytes))
                pass.keep(layer, std::make_shared<FakeState>(leading(candidate, layer), batch));
        }
        pass.scored(1);
    }
    /// Layers that were known.
    int run(LayerReuse& reuse, std::size_t candidate, std::size_t batch) const {
        const auto pass = reuse.pass(scales(candidate), batch);
        const int known = begin(*pass, candidate, batch);
        compute(*pass, candidate, batch, known);
        return known;
    }

  private:
    [[nodiscard]] Scales leading(std::size_t candidate, int count) const {
        return {scales(candidate).begin(), scales(candidate).begin() + std::ptrdiff_t{count} * groups};
    }
};

search::Candidate candidate(Scales scales, int index, int generation = 0) {
    search::Candidate made;
    made.generation = generation;
    made.index = index;
    made.scales = std::move(scales);
    return made;
}

/// Distinct candidates over few values, so that many begin alike.
Generation drawn(int layers, int groups, int count, std::uint32_t stream) {
    RandomStream random(5, kStreamTests, stream);
    Generation generation{layers, groups, {}};
    while (static_cast<int>(generation.candidates.size()) < count) {
        Scales scales;
        for (int i = 0; i < layers * groups; ++i) scales.push_back(1.0 + 0.5 * static_cast<double>(random.below(2)));
        const auto same = [&](const search::Candidate& other) { return other.scales == scales; };
        if (std::ranges::none_of(generation.candidates, same))
            generation.candidates.push_back(candidate(scales, static_cast<int>(generation.candidates.size())));
    }
    return generation;
}

Generation four() {
    return {4,
            1,
            {candidate({1, 1, 1, 1}, 0), candidate({1, 1, 2, 1}, 1), candidate({1, 1, 2, 2}, 2),
             candidate({2, 1, 1, 1}, 3)}};
}

TEST(LayerReuse, KeepsWhatAnotherCandidateWantsAndDropsItWithTheLastWhoDoes) {
    const Generation generation = four();
    LayerReuse reuse(4, 1, kNoLimit);
    reuse.expect(generation.candidates);
    EXPECT_EQ(generation.run(reuse, 0, 0), 0);
    EXPECT_EQ(reuse.heldBytes(), kStateBytes) << "behind two layers, for 1 and 2";
    EXPECT_EQ(generation.run(reuse, 3, 0), 0) << "it begins otherwise";
    EXPECT_EQ(reuse.heldBytes(), kStateBytes);
    EXPECT_EQ(generation.run(reuse, 1, 0), 2);
    EXPECT_EQ(reuse.heldBytes(), kStateBytes) << "behind three layers, for 2; behind two nobody wants it any more";
    EXPECT_EQ(generation.run(reuse, 2, 0), 3);
    EXPECT_EQ(reuse.heldBytes(), 0);
    const json summary = reuse.summary();
    EXPECT_EQ(summary["layer_passes"], 16);
    EXPECT_EQ(summary["not_computed"], 5);
    EXPECT_EQ(summary["share"], 5.0 / 16.0);
    EXPECT_EQ(summary["memory_was_short"], false);
}

TEST(LayerReuse, PassesOverDifferentBatchesHaveNothingInCommon) {
    const Generation generation = four();
    LayerReuse reuse(4, 1, kNoLimit);
    reuse.expect(generation.candidates);
    EXPECT_EQ(generation.run(reuse, 0, 0), 0);
    EXPECT_EQ(generation.run(reuse, 1, 1), 0);
    EXPECT_EQ(generation.run(reuse, 2, 1), 3);
    EXPECT_EQ(generation.run(reuse, 2, 0), 2);
}

TEST(LayerReuse, SparesAllThatAnEarlierCandidateComputed) {
    for (const int groups : {1, 3}) {
        for (std::uint32_t stream = 0; stream < 20; ++stream) {
            const Generation generation = drawn(6, groups, 14, stream);
            LayerReuse reuse(6, groups, kNoLimit);
            reuse.expect(generation.candidates);
            std::int64_t spared = 0;
            for (std::size_t one = 0; one < generation.candidates.size(); ++one) {
                int most = 0;
                for (std::size_t before = 0; before < one; ++before)
                    most = std::max(most, generation.common(before, one));
                for (const std::size_t batch : {0u, 1u, 2u}) {
                    EXPECT_EQ(generation.run(reuse, one, batch), most);
                    spared += most;
                }
            }
            EXPECT_EQ(reuse.heldBytes(), 0);
            EXPECT_EQ(reuse.passes().at(0).spared, spared);
            EXPECT_EQ(reuse.passes().at(0).all, 14 * 3 * 6);
        }
    }
}

TEST(LayerReuse, EndsEmptyInWhateverOrderPassesBeginAndEndAndStaysWithinItsMemory) {
    for (std::uint32_t stream = 0; stream < 60; ++stream) {
        const Generation generation = drawn(5, 1, 10, 100 + stream);
        const std::int64_t most = stream % 3 == 0 ? kNoLimit : static_cast<std::int64_t>(stream % 7) * kStateBytes;
        LayerReuse reuse(5, 1, most);
        reuse.expect(generation.candidates);
        RandomStream random(6, kStreamTests, stream);
        std::vector<std::pair<std::size_t, std::size_t>> waiting;  // candidate and batch
        for (std::size_t one = 0; one < 10; ++one) {
            for (const std::size_t batch : {0u, 1u, 2u}) waiting.emplace_back(one, batch);
        }
        random.shuffle(waiting);
        struct Running {
            std::unique_ptr<ReusingPass> pass;
            std::size_t candidate, batch;
            int known;
        };
        std::vector<Running> running;
        while (!waiting.empty() || !running.empty()) {
            if (!waiting.empty() && (running.empty() || random.below(2) == 0)) {
                const auto [one, batch] = waiting.back();
                waiting.pop_back();
                auto pass = reuse.pass(generation.scales(one), batch);
                const std::uint64_t fate = random.below(8);
                // Served by the data base, or by another machine.
                if (fate == 0) continue;
                const int known = generation.begin(*pass, one, batch);
                running.push_back({std::move(pass), one, batch, known});
            } else {
                const Running done = std::move(running.back());
                running.pop_back();
                generation.compute(*done.pass, done.candidate, done.batch, done.known);
            }
            EXPECT_LE(reuse.heldBytes(), most);
            if (random.below(40) == 0) reuse.release(generation.scales(random.below(10)));
        }
        EXPECT_EQ(reuse.heldBytes(), 0) << stream;
    }
}

TEST(LayerReuse, WithoutMemoryKeepsNothing) {
    const Generation generation = four();
    LayerReuse reuse(4, 1, 0);
    reuse.expect(generation.candidates);
    for (std::size_t one = 0; one < 4; ++one) EXPECT_EQ(generation.run(reuse, one, 0), 0);
    EXPECT_EQ(reuse.heldBytes(), 0);
    EXPECT_EQ(reuse.summary()["not_computed"], 0);
    EXPECT_EQ(reuse.summary()["layer_passes"], 16);
}

TEST(LayerReuse, KeepsNothingMoreBeyondItsMemory) {
    const Generation generation = four();
    LayerReuse reuse(4, 1, 2 * kStateBytes - 1);
    reuse.expect(generation.candidates);
    generation.run(reuse, 0, 0);
    generation.run(reuse, 0, 1);
    EXPECT_EQ(reuse.heldBytes(), kStateBytes);
    EXPECT_EQ(generation.run(reuse, 2, 1), 0);
    EXPECT_EQ(generation.run(reuse, 2, 0), 2);
    EXPECT_EQ(generation.run(reuse, 1, 0), 2) << "what 2 left behind three layers had no room";
}

TEST(LayerReuse, CandidatesThatDoNotGoOnLetGoOfWhatWasKeptForThem) {
    const Generation generation = four();
    for (const bool raced : {false, true}) {
        LayerReuse reuse(4, 1, kNoLimit);
        reuse.expect(generation.candidates);
        for (const std::size_t batch : {0u, 1u, 2u}) generation.run(reuse, 0, batch);
        EXPECT_EQ(generation.run(reuse, 1, 0), 2);
        EXPECT_EQ(reuse.heldBytes(), 3 * kStateBytes);
        if (raced) {
            reuse.expect({generation.candidates[0], generation.candidates[2], generation.candidates[3]});
            EXPECT_EQ(reuse.heldBytes(), 3 * kStateBytes) << "2 goes on";
            reuse.expect({generation.candidates[0], generation.candidates[3]});
        } else {
            reuse.release(generation.scales(2));
            EXPECT_EQ(reuse.heldBytes(), 2 * kStateBytes) << "for 1, of the passes that it has not begun";
            reuse.release(generation.scales(1));
        }
        EXPECT_EQ(reuse.heldBytes(), 0);
        reuse.release(generation.scales(1));
        reuse.release({9, 9, 9, 9});
    }
}

TEST(LayerReuse, ANewGenerationKnowsNothingOfTheOneBefore) {
    const Generation generation = four();
    LayerReuse reuse(4, 1, kNoLimit);
    reuse.expect(generation.candidates);
    generation.run(reuse, 0, 0);
    EXPECT_GT(reuse.heldBytes(), 0);
    reuse.expect({});
    EXPECT_EQ(reuse.heldBytes(), 0);
    EXPECT_FALSE(reuse.pass(generation.scales(0), 0));
    const Generation next{4, 1, {candidate({1, 1, 2, 1}, 0, 1), candidate({1, 1, 1, 2}, 1, 1)}};
    reuse.expect(next.candidates);
    EXPECT_EQ(next.run(reuse, 0, 0), 0);
    EXPECT_EQ(next.run(reuse, 1, 0), 2);
    EXPECT_EQ(reuse.passes().at(1).spared, 2);
    EXPECT_EQ(reuse.summary()["by_generation"][1], (json{{"generation", 1}, {"layer_passes", 8}, {"not_computed", 2}}));
}

TEST(LayerReuse, GivesAllMemoryBackForGood) {
    const Generation generation = four();
    LayerReuse reuse(4, 1, kNoLimit);
    reuse.expect(generation.candidates);
    generation.run(reuse, 0, 0);
    const auto pass = reuse.pass(generation.scales(1), 0);
    EXPECT_EQ(generation.begin(*pass, 1, 0), 2);
    pass->giveMemoryBack();
    EXPECT_EQ(reuse.heldBytes(), 0);
    EXPECT_EQ(generation.begin(*pass, 1, 0), 0) << "the same pass once more";
    generation.compute(*pass, 1, 0, 0);
    EXPECT_EQ(reuse.heldBytes(), 0);
    EXPECT_EQ(reuse.passes().at(0).spared, 0);
    EXPECT_EQ(reuse.summary()["memory_was_short"], true);
}

/// Searches over few values, so that candidates of a generation begin alike.
class ReusingSearch : public testing::Test {
  protected:
    ReusingSearch() {
        settings.search.constraints = {0.5, 1.5, 0.5};
        settings.searchItems = 5;
    }
    struct Run {
        json result;
        std::string history;  ///< as text: a fitness that is not there is no number, and equals nothing
    };
    [[nodiscard]] Run run(const studies::SearchRunSettings& own) {
        auto store = openStore(folder / ("run" + std::to_string(++runs) + ".db"));
        NullObserver observer;
        auto outcome = take(studies::runSearch(own, *store, observer, {}));
        return {std::move(outcome.result), historyWithSlopesOf(store->reader(), outcome.runId).dump()};
    }
    void expectSameHistories() {
        settings.reuseLayers = false;
        const Run without = run(settings);
        EXPECT_TRUE(without.result["layers_reused"].is_null());
        settings.reuseLayers = true;
        const Run with = run(settings);
        EXPECT_EQ(with.history, without.history);
        const json& reused = with.result["layers_reused"];
        EXPECT_GT(reused["not_computed"], 0) << "no two candidates began alike, so the test says nothing";
        EXPECT_LT(reused["not_computed"], reused["layer_passes"]);
        for (const int memory : {0, 1}) {
            settings.reuseMemory = memory;
            settings.compute.workers = 2;
            EXPECT_EQ(run(settings).history, without.history) << memory << " MiB, two workers";
        }
    }
    const StudyFolder folder{TinyModelSpec{.numLayers = 4}};
    studies::SearchRunSettings settings = smallSearch(folder);
    int runs = 0;
};

TEST_F(ReusingSearch, HasTheHistoryOfOneThatComputesEveryLayer) {
    expectSameHistories();
}

TEST_F(ReusingSearch, HasItInBFloat16AndWithoutSharedPrefixesToo) {
    settings.compute.dtype = "bfloat16";
    settings.compute.sharePrefixes = false;
    settings.compute.batchSize = 4;
    expectSameHistories();
}

TEST_F(ReusingSearch, HasItWithAScaleForEveryHead) {
    settings.search.groups = *curve::parseGroups("kv-head");
    settings.search.population = 12;
    expectSameHistories();
}

TEST_F(ReusingSearch, HasItWithRaces) {
    settings.search.racing = 0.4;
    settings.searchItems = 8;
    expectSameHistories();
}

TEST_F(ReusingSearch, HasItWithDescents) {
    settings.search.gradient.refined = 1;
    settings.search.gradient.steps = 1;
    expectSameHistories();
}

TEST_F(ReusingSearch, CountsThePassesOfAllThatItScored) {
    const json result = run(settings).result;
    const std::int64_t layers = 4, prompts = 5 * 3;
    EXPECT_EQ(result["layers_reused"]["layer_passes"], result["evaluations"].get<std::int64_t>() * prompts * layers);
    settings.reuseMemory = 0;
    const json nothing = run(settings).result;
    EXPECT_EQ(nothing["layers_reused"]["layer_passes"], result["layers_reused"]["layer_passes"]);
    EXPECT_EQ(nothing["layers_reused"]["not_computed"], 0);
}

TEST_F(ReusingSearch, ResumedEndsInTheSameHistory) {
    settings.reuseLayers = false;
    const std::string whole = run(settings).history;
    settings.reuseLayers = true;
    for (const std::int64_t moment : {20, 70}) {
        auto store = openStore(folder / ("stopped" + std::to_string(moment) + ".db"));
        StopAfter observer(moment);
        const auto stopped = take(studies::runSearch(settings, *store, observer, observer.token()));
        ASSERT_TRUE(stopped.stoppedEarly);
        NullObserver quiet;
        const auto outcome = take(studies::resumeSearch(stopped.runId, 2, *store, quiet, {}));
        EXPECT_EQ(historyWithSlopesOf(store->reader(), outcome.runId).dump(), whole) << moment;
    }
}

TEST_F(ReusingSearch, RefusesMemoryBelowNone) {
    settings.reuseMemory = -1;
    const auto plan = studies::planSearch(settings);
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().message, HasSubstr("--reuse-memory -1"));
}

}  // namespace
}  // namespace lpes::test
