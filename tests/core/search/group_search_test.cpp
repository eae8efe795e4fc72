#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/search/operators.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using testing::HasSubstr;

constexpr int kLayers = 6;

SearchSettings grouped(curve::ScaleGroups groups, std::uint64_t seed = 7) {
    SearchSettings settings = smallSettings(seed);
    settings.groups = std::move(groups);
    return settings;
}
const curve::ScaleGroups kTwoHeads = curve::ScaleGroups::kvHeads(2);
const curve::ScaleGroups kThreeBands = curve::ScaleGroups::bands({8, 20, 32});

/// One group's curve of a genome.
Genome curveOf(const Genome& genome, int groups, int group) {
    const auto size = static_cast<std::ptrdiff_t>(genome.size()) / groups;
    return {genome.begin() + group * size, genome.begin() + (group + 1) * size};
}

/// Every group's curve keeps the rules of a curve of its own.
void expectValid(const SearchSettings& settings, const Genome& genome) {
    const int groups = settings.groups.count();
    ASSERT_EQ(genome.size(), static_cast<std::size_t>(groups * curveSize(settings, kLayers)));
    for (int group = 0; group < groups; ++group) {
        const auto broken = curve::violation(settings.curve, curveOf(genome, groups, group), settings.constraints);
        EXPECT_FALSE(broken) << *broken;
    }
}

TEST(GroupedGenome, OneGroupIsTheGenomeOfACurve) {
    SearchSettings settings = smallSettings();
    RandomStream one(1, kStreamTests), other(1, kStreamTests);
    const Genome plain = randomGenome(settings, kLayers, one);
    settings.groups = curve::ScaleGroups::kvHeads(1);
    EXPECT_EQ(randomGenome(settings, kLayers, other), plain);
    EXPECT_EQ(*decode(settings, kLayers, plain), *decode(smallSettings(), kLayers, plain));
}

TEST(GroupedGenome, GroupsAreDrawnOneAfterAnother) {
    const SearchSettings settings = grouped(kTwoHeads);
    RandomStream one(2, kStreamTests), other(2, kStreamTests);
    const Genome genome = randomGenome(settings, kLayers, one);
    const Genome first = randomGenome(smallSettings(), kLayers, other);
    EXPECT_EQ(curveOf(genome, 2, 0), first);
    EXPECT_EQ(curveOf(genome, 2, 1), randomGenome(smallSettings(), kLayers, other));
}

TEST(GroupedGenome, EndPointsOfEveryCurveKeepTheirDepth) {
    const SearchSettings settings = grouped(kTwoHeads);
    std::vector<bool> genes;
    for (int point = 0; point < 8; ++point) genes.push_back(xIsGene(settings, kLayers, point));
    EXPECT_EQ(genes, (std::vector<bool>{false, true, true, false, false, true, true, false}));
}

TEST(GroupedGenome, KnownCurvesAreEveryGroupsAlike) {
    const SearchSettings settings = grouped(kThreeBands);
    const auto plain = knownGenomes(smallSettings(), kLayers), known = knownGenomes(settings, kLayers);
    ASSERT_EQ(known.size(), plain.size());
    for (std::size_t i = 0; i < known.size(); ++i) {
        expectValid(settings, known[i]);
        for (int group = 0; group < 3; ++group) EXPECT_EQ(curveOf(known[i], 3, group), plain[i]);
    }
}

TEST(GroupedGenome, OperatorsNeverMixTheGroups) {
    for (const curve::CurveKind kind : {curve::CurveKind::Bezier, curve::CurveKind::Free}) {
        SearchSettings settings = grouped(kTwoHeads);
        settings.curve = kind;
        settings.mutationRate = 0.8;
        RandomStream random(3, kStreamTests);
        for (int draw = 0; draw < 200; ++draw) {
            const Genome a = randomGenome(settings, kLayers, random), b = randomGenome(settings, kLayers, random);
            Genome child = crossover(settings, a, b, random);
            expectValid(settings, child);
            for (int group = 0; group < 2; ++group) {
                const Genome own = curveOf(child, 2, group), of = curveOf(a, 2, group), either = curveOf(b, 2, group);
                for (const curve::ControlPoint& point : own) {
                    EXPECT_TRUE(
                        std::count(of.begin(), of.end(), point) + std::count(either.begin(), either.end(), point) > 0);
                }
            }
            mutate(settings, kLayers, child, random);
            expectValid(settings, child);
        }
    }
}

TEST(GroupedGenome, DecodesLayerByLayer) {
    const SearchSettings settings = grouped(kTwoHeads);
    Genome genome{{0, 1.0}, {0.3, 1.0}, {0.6, 1.0}, {1, 1.0}, {0, 2.0}, {0.3, 2.0}, {0.6, 2.0}, {1, 1.0}};
    const auto scales = decode(settings, kLayers, genome);
    ASSERT_TRUE(scales);
    EXPECT_EQ(curve::scalesOfGroup(*scales, 2, 0), std::vector<double>(kLayers, 1.0));
    EXPECT_EQ(scales->at(1), 2.0);
    EXPECT_EQ(scales->at(2 * (kLayers - 1) + 1), 1.0);
    genome[5].y = 9.0;
    EXPECT_EQ(decode(settings, kLayers, genome).error().code, ErrorCode::Failed);
}

TEST(GroupedSearch, HistoryIsTheSameForAnyNumberOfWorkersAndAfterAStop) {
    for (const curve::ScaleGroups& groups : {kTwoHeads, kThreeBands}) {
        const SearchSettings settings = grouped(groups);
        FunctionFitness fitness, parallel;
        const SearchOutcome whole = runOk(settings, kLayers, fitness);
        EXPECT_EQ(runOk(settings, kLayers, parallel, 3), whole);
        EXPECT_EQ(whole.end, EndReason::Generations);
        for (const CandidateRecord& record : whole.candidates) {
            expectValid(settings, record.candidate.points);
            EXPECT_EQ(record.candidate.scales.size(), static_cast<std::size_t>(kLayers * groups.count()));
        }
        for (const auto& [scales, calls] : fitness.callsByScales) EXPECT_EQ(calls, 1) << "a duplicate was evaluated";

        std::stop_source source;
        int left = 17;
        FunctionFitness stopping([&](const Candidate& c, std::stop_token) {
            if (--left == 0) source.request_stop();
            return left <= 0 ? FunctionFitness::stopped() : FunctionFitness::value(distanceFitness(c.scales));
        });
        EXPECT_EQ(runOk(settings, kLayers, stopping, 1, 0.0, source.get_token()).end, EndReason::Stopped);
        FunctionFitness again;
        EXPECT_EQ(runOk(settings, kLayers, again), whole);
    }
}

TEST(GroupedSearch, DiversityIsTheMeanOverLayersAndGroups) {
    SearchSettings settings = grouped(kTwoHeads);
    settings.maxGenerations = 0;
    FunctionFitness fitness;
    const SearchOutcome outcome = runOk(settings, kLayers, fitness);
    double sum = 0.0;
    int pairs = 0;
    for (std::size_t i = 0; i < outcome.candidates.size(); ++i) {
        for (std::size_t j = i + 1; j < outcome.candidates.size(); ++j, ++pairs) {
            const auto &a = outcome.candidates[i].candidate.scales, &b = outcome.candidates[j].candidate.scales;
            for (std::size_t k = 0; k < a.size(); ++k) sum += std::abs(a[k] - b[k]) / static_cast<double>(a.size());
        }
    }
    EXPECT_NEAR(outcome.history.front().diversity, sum / pairs, 1e-12);
}

TEST(GroupedSearch, GroupsThatAreNoneAreRefused) {
    const auto refusal = [](const curve::ScaleGroups& groups) {
        const auto checked = checkSettings(grouped(groups), kLayers);
        EXPECT_FALSE(checked);
        return checked ? std::string() : checked.error().message;
    };
    EXPECT_THAT(refusal(curve::ScaleGroups::kvHeads(0)), HasSubstr("--per kv-head: there are 0 key/value heads"));
    EXPECT_THAT(refusal(curve::ScaleGroups::bands({8, 8})), HasSubstr("--per band:8,8: band 1"));
    EXPECT_TRUE(checkSettings(grouped(kThreeBands), kLayers));
}

}  // namespace
}  // namespace lpes::search
