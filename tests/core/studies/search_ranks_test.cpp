#include "core/studies/search_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "core/base/version.h"
#include "core/cluster/session_messages.h"
#include "core/studies/search_setup.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Ranks that are threads of this process, connected by socket pairs.
class ThreadRanks final : public cluster::Ranks {
  public:
    /// What a rank does with its end of the connections.
    using Rank = std::function<void(cluster::Channels)>;

    explicit ThreadRanks(std::vector<Rank> ranks) : m_ranks(std::move(ranks)) {}
    ThreadRanks(int others, Rank rank) : m_ranks(static_cast<std::size_t>(others), rank) {}
    int count() const override { return static_cast<int>(m_ranks.size()) + 1; }
    Result<cluster::Channels> gather(int connections, std::stop_token) override {
        cluster::Channels own;
        for (std::size_t i = 0; i < m_ranks.size(); ++i) {
            cluster::Channels theirs;
            for (int connection = 0; connection < connections; ++connection) {
                auto pair = take(cluster::channelPair("rank 0", "rank " + std::to_string(i + 1)));
                own.push_back(std::move(pair.first));
                theirs.push_back(std::move(pair.second));
            }
            m_threads.emplace_back([this, i, theirs = std::move(theirs)]() mutable { m_ranks[i](std::move(theirs)); });
        }
        return own;
    }
    void dismiss() override { m_ranks.clear(); }

  private:
    std::vector<Rank> m_ranks;
    std::vector<std::jthread> m_threads;
};

void serve(cluster::Channels channels) {
    NullObserver quiet;
    const auto served = studies::serveSearch(std::move(channels), quiet);
    EXPECT_TRUE(served) << served.error().text();
}

/// Serves as others do, but is gone when a request comes that `ends` accepts. The first that it sees is the set-up.
ThreadRanks::Rank goneWhen(std::function<bool(const json& request)> ends) {
    return [ends = std::move(ends)](cluster::Channels channels) {
        auto behind = take(cluster::channelPair("rank 0", "the rank"));
        cluster::Channels inner;
        inner.push_back(std::move(behind.second));
        std::jthread rank([&] { serve(std::move(inner)); });
        cluster::Channel& outside = *channels.front();
        while (true) {
            const auto request = outside.receive();
            if (!request || ends(take(cluster::objectOf(*request))) || !behind.first->send(*request)) break;
            const auto answer = behind.first->receive();
            if (!answer || !outside.send(*answer)) break;
        }
        outside.close();
        behind.first->close();
    };
}

ThreadRanks::Rank goneAfter(int requests) {
    return goneWhen([left = requests + 1](const json&) mutable { return left-- == 0; });
}

json whole(const StudyFolder& folder, const studies::SearchRunSettings& settings) {
    auto store = openStore(folder / "whole.db");
    NullObserver quiet;
    const auto outcome = studies::runSearch(settings, *store, quiet, {});
    if (!outcome) throw std::runtime_error(outcome.error().text());
    return historyWithSlopesOf(store->reader(), outcome->runId);
}

TEST(SearchRanks, TheHistoryIsTheSameForAnyNumberOfRanksAndWorkers) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    const json alone = whole(folder, settings);
    for (const auto& [others, workers] : {std::pair{1, 1}, std::pair{3, 1}, std::pair{1, 2}}) {
        settings.compute.workers = workers;
        auto store = openStore(folder / ("ranks" + std::to_string(others * 10 + workers) + ".db"));
        ThreadRanks ranks(others, serve);
        NullObserver quiet;
        const auto outcome = studies::runSearch(settings, *store, quiet, {}, nullptr, &ranks);
        ASSERT_TRUE(outcome) << outcome.error().text();
        EXPECT_EQ(historyWithSlopesOf(store->reader(), outcome->runId), alone)
            << others << " others, workers " << workers;
    }
}

TEST(SearchRanks, GeneratedAnswersAreTheSameToo) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.score = "generate";
    settings.search.maxGenerations = 1;
    const json alone = whole(folder, settings);
    auto store = openStore(folder / "ranks.db");
    ThreadRanks ranks(1, serve);
    NullObserver quiet;
    const auto outcome = studies::runSearch(settings, *store, quiet, {}, nullptr, &ranks);
    ASSERT_TRUE(outcome) << outcome.error().text();
    EXPECT_EQ(historyWithSlopesOf(store->reader(), outcome->runId), alone);
}

TEST(SearchRanks, ARemoteSessionsSlopesAreTheLocalOnesBitForBit) {
    const StudyFolder folder;
    NullObserver quiet;
    const auto loaded = take(studies::loadModel({folder.model(), "float32"}, quiet, {}));
    const auto near = loaded.lm->newSession(1), far = loaded.lm->newSession(1);
    auto pair = take(cluster::channelPair("rank 0", "rank 1"));
    model::LocalSession served(*far);
    std::jthread server([&] { EXPECT_TRUE(cluster::serveSession(*pair.second, served)); });
    const struct HangUp {
        cluster::Channel& channel;
        ~HangUp() { channel.close(); }
    } hangUp{*pair.first};
    cluster::RemoteSession remote(*pair.first);
    const std::vector<model::ScoredPrompt> batch{{{11, 52, 93, 14, 75, 36}, {27, 8}}, {{40, 61, 22}, {83}}};
    for (const char* per : {"layer", "kv-head", "band:3,8"}) {
        SCOPED_TRACE(per);
        const auto groups = take(studies::groupsForModel(take(curve::parseGroups(per)), loaded.config()));
        std::vector<double> scales;
        for (int i = 0; i < loaded.config().numLayers * groups.count(); ++i)
            scales.push_back(1.0 + 0.1 * (i + 1) / 3.0);
        const rope::PositionMethod method = studies::lpesMethod(groups, scales);
        const auto here = take(model::LocalSession(*near).scaleGradients(batch, method, {}, {}));
        const auto there = take(remote.scaleGradients(batch, method, {}, {}));
        ASSERT_EQ(there.size(), here.size());
        for (std::size_t i = 0; i < here.size(); ++i) {
            EXPECT_EQ(there[i].meanNll, here[i].meanNll);
            EXPECT_EQ(there[i].gradient, here[i].gradient);
            EXPECT_FALSE(here[i].gradient.empty());
        }
    }
}

TEST(SearchRanks, ADescentIsTheSameForAnyNumberOfRanks) {
    const StudyFolder folder;
    const json alone = whole(folder, descendingSearch(folder));
    ASSERT_FALSE(alone["slopes"].empty());
    for (const int others : {1, 3}) {
        auto store = openStore(folder / ("ranks" + std::to_string(others) + ".db"));
        ThreadRanks ranks(others, serve);
        NullObserver quiet;
        const auto outcome = studies::runSearch(descendingSearch(folder), *store, quiet, {}, nullptr, &ranks);
        ASSERT_TRUE(outcome) << outcome.error().text();
        EXPECT_EQ(historyWithSlopesOf(store->reader(), outcome->runId), alone) << others << " others";
    }
}

TEST(SearchRanks, RacesAreDecidedAlikeForAnyNumberOfRanks) {
    const StudyFolder folder;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.search.racing = 0.4;
    settings.searchItems = 8;
    // As text: a fitness that is not there is no number, and equals nothing.
    const std::string alone = whole(folder, settings).dump();
    EXPECT_THAT(alone, HasSubstr("given up after")) << "nobody fell behind, so the test says nothing";
    for (const int others : {1, 3}) {
        auto store = openStore(folder / ("ranks" + std::to_string(others) + ".db"));
        ThreadRanks ranks(others, serve);
        NullObserver quiet;
        const auto outcome = studies::runSearch(settings, *store, quiet, {}, nullptr, &ranks);
        ASSERT_TRUE(outcome) << outcome.error().text();
        EXPECT_EQ(historyWithSlopesOf(store->reader(), outcome->runId).dump(), alone) << others << " others";
    }
}

TEST(SearchRanks, ARankLostInADescentInterruptsARunThatResumes) {
    const StudyFolder folder;
    const json alone = whole(folder, descendingSearch(folder));
    auto store = openStore(folder / "lost.db");
    ThreadRanks ranks({goneWhen([](const json& request) { return request.value("do", "") == "gradients"; })});
    NullObserver quiet;
    const auto lost = studies::runSearch(descendingSearch(folder), *store, quiet, {}, nullptr, &ranks);
    ASSERT_FALSE(lost);
    EXPECT_TRUE(cluster::isLostPeer(lost.error())) << lost.error().text();
    EXPECT_EQ(take(store->reader().run(1)).state, store::RunState::Interrupted);
    const auto resumed = studies::resumeSearch(1, std::nullopt, *store, quiet, {});
    ASSERT_TRUE(resumed) << resumed.error().text();
    EXPECT_EQ(historyWithSlopesOf(store->reader(), 1), alone);
}

TEST(SearchRanks, ALostRankInterruptsARunThatResumesWithoutIt) {
    const StudyFolder folder;
    const json alone = whole(folder, smallSearch(folder));
    auto store = openStore(folder / "lost.db");
    ThreadRanks ranks({serve, goneAfter(4)});
    NullObserver quiet;
    const auto lost = studies::runSearch(smallSearch(folder), *store, quiet, {}, nullptr, &ranks);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::Failed);
    EXPECT_THAT(lost.error().message, testing::AllOf(HasSubstr("rank 2"), HasSubstr("lpes resume 1")));
    const auto run = take(store->reader().run(1));
    EXPECT_EQ(run.state, store::RunState::Interrupted);
    EXPECT_THAT(run.error, HasSubstr("rank 2"));
    for (const store::CandidateRow& row : take(store->reader().candidates(1)))
        EXPECT_NE(row.state, store::CandidateRow::State::Failed) << "no candidate is to blame";
    const auto resumed = studies::resumeSearch(1, std::nullopt, *store, quiet, {});
    ASSERT_TRUE(resumed) << resumed.error().text();
    EXPECT_EQ(historyWithSlopesOf(store->reader(), 1), alone);
}

TEST(SearchRanks, ARunIsResumedWithRanksThatHadNone) {
    const StudyFolder folder;
    const json alone = whole(folder, smallSearch(folder));
    auto store = openStore(folder / "stopped.db");
    StopAfter observer(24);
    const auto stopped = studies::runSearch(smallSearch(folder), *store, observer, observer.token());
    ASSERT_TRUE(stopped && stopped->stoppedEarly);
    ThreadRanks ranks(2, serve);
    NullObserver quiet;
    const auto resumed = studies::resumeSearch(1, std::nullopt, *store, quiet, {}, nullptr, &ranks);
    ASSERT_TRUE(resumed) << resumed.error().text();
    EXPECT_EQ(historyWithSlopesOf(store->reader(), 1), alone);
}

TEST(SearchRanks, AStopEndsAllAndLeavesARunThatResumes) {
    const StudyFolder folder;
    const json alone = whole(folder, smallSearch(folder));
    auto store = openStore(folder / "stopped.db");
    {
        ThreadRanks ranks(2, serve);
        StopAfter observer(30);
        const auto stopped =
            studies::runSearch(smallSearch(folder), *store, observer, observer.token(), nullptr, &ranks);
        ASSERT_TRUE(stopped) << stopped.error().text();
        ASSERT_TRUE(stopped->stoppedEarly);
    }
    EXPECT_EQ(take(store->reader().run(1)).state, store::RunState::Stopped);
    NullObserver quiet;
    const auto resumed = studies::resumeSearch(1, std::nullopt, *store, quiet, {});
    ASSERT_TRUE(resumed) << resumed.error().text();
    EXPECT_EQ(historyWithSlopesOf(store->reader(), 1), alone);
}

/// A rank that has loaded, but says so with one value changed.
ThreadRanks::Rank differentIn(const std::string& key) {
    return [key](cluster::Channels channels) {
        auto behind = take(cluster::channelPair("rank 0", "the rank"));
        cluster::Channels inner;
        inner.push_back(std::move(behind.second));
        std::jthread rank([&] { serve(std::move(inner)); });
        ASSERT_TRUE(behind.first->send(take(channels.front()->receive())));
        json ready = take(cluster::objectOf(take(behind.first->receive())));
        ready["ready"][key] = "another one";
        ASSERT_TRUE(channels.front()->send(cluster::toMessage(ready)));
        EXPECT_FALSE(channels.front()->receive());
        behind.first->close();
    };
}

TEST(SearchRanks, ARankThatComputesOtherNumbersIsRefusedByName) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver quiet;
    const struct {
        const char *key, *word;
        ErrorCode code;
    } differences[] = {{"fingerprint", "another model", ErrorCode::BadInput},
                       {"tokenizer", "another tokenizer", ErrorCode::BadInput},
                       {"device", "another processor", ErrorCode::Unsupported},
                       {"compute_type", "another compute type", ErrorCode::Unsupported},
                       {"version", "another version", ErrorCode::Unsupported}};
    for (const auto& one : differences) {
        ThreadRanks ranks({differentIn(one.key)});
        const auto refused = studies::runSearch(smallSearch(folder), *store, quiet, {}, nullptr, &ranks);
        ASSERT_FALSE(refused) << one.key;
        EXPECT_EQ(refused.error().code, one.code) << refused.error().text();
        EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("rank 1"), HasSubstr(one.word)));
    }
    EXPECT_TRUE(store->reader().runs()->empty());
}

TEST(SearchRanks, ARanksOwnErrorComesWithItsName) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    NullObserver quiet;
    ThreadRanks ranks({[](cluster::Channels channels) {
        json setup = take(cluster::objectOf(take(channels.front()->receive())));
        setup["model"] = "no such folder";
        auto behind = take(cluster::channelPair("rank 0", "the rank"));
        cluster::Channels inner;
        inner.push_back(std::move(behind.second));
        std::jthread rank([&] { serve(std::move(inner)); });
        ASSERT_TRUE(behind.first->send(cluster::toMessage(setup)));
        ASSERT_TRUE(channels.front()->send(take(behind.first->receive())));
    }});
    const auto refused = studies::runSearch(smallSearch(folder), *store, quiet, {}, nullptr, &ranks);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::BadInput);
    EXPECT_THAT(refused.error().message, testing::AllOf(HasSubstr("rank 1"), HasSubstr("no such folder")));
}

TEST(SearchRanks, WhatCanBeRefusedWithoutWeightsIsRefusedBeforeAnybodyIsCalled) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.weights = {1.0, 2.0};
    ThreadRanks ranks(1, [](const cluster::Channels&) { ADD_FAILURE() << "a rank was called"; });
    NullObserver quiet;
    const auto refused = studies::runSearch(settings, *store, quiet, {}, nullptr, &ranks);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("--weights"));
}

TEST(SearchRanks, ALeaderWhoLeavesEndsTheLoadingToo) {
    const StudyFolder folder;
    auto pair = take(cluster::channelPair("rank 0", "rank 1"));
    cluster::Channels channels;
    channels.push_back(std::move(pair.second));
    ASSERT_TRUE(pair.first->send(cluster::toMessage(
        {{"version", kVersion}, {"model", folder.model()}, {"dtype", "float32"}, {"device", "cpu"}, {"threads", 1}})));
    pair.first->close();
    serve(std::move(channels));
}

TEST(SearchRanks, ThreadsMustBeGiven) {
    const StudyFolder folder;
    auto store = openStore(folder / "lpes.db");
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.compute.threadsPerWorker.reset();
    ThreadRanks ranks(1, serve);
    NullObserver quiet;
    const auto refused = studies::runSearch(settings, *store, quiet, {}, nullptr, &ranks);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_THAT(refused.error().message, HasSubstr("--threads-per-worker"));
}

}  // namespace
}  // namespace lpes::test
