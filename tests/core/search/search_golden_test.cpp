#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/files.h"
#include "tests/core/search/search_fixtures.h"

namespace lpes::search {
namespace {

using nlohmann::json;

/// tests/golden/make_search_golden.py, an implementation of its own, made these.
TEST(GeneticSearchGolden, EqualsTheIndependentImplementationBitForBit) {
    const auto text = readTextFile(LPES_TEST_DATA "/golden/search_history.json");
    ASSERT_TRUE(text) << text.error().text();
    const json golden = json::parse(*text);
    ASSERT_GE(golden["searches"].size(), 5u);
    for (const json& search : golden["searches"]) {
        const json& s = search["settings"];
        SearchSettings settings;
        settings.seed = s["seed"].get<std::uint64_t>();
        settings.population = s["population"];
        settings.maxGenerations = s["generations"];
        settings.curve = curve::parseCurveKind(s["curve"]).value();
        settings.points = s["points"];
        settings.constraints = {s["scale_min"], s["scale_max"],
                                s["grid_step"].is_null() ? std::nullopt : std::optional(s["grid_step"].get<double>())};
        settings.mutationRate = s["mutation_rate"];
        settings.maxDx = s["max_dx"];
        settings.maxDy = s["max_dy"];
        SCOPED_TRACE(s.dump());

        FunctionFitness fitness;
        const SearchOutcome outcome = runOk(settings, s["layers"], fitness, 2);
        ASSERT_EQ(outcome.candidates.size(), search["candidates"].size());
        for (std::size_t i = 0; i < outcome.candidates.size(); ++i) {
            const CandidateRecord& record = outcome.candidates[i];
            const json& wanted = search["candidates"][i];
            EXPECT_EQ(record.candidate.generation, wanted["generation"].get<int>());
            EXPECT_EQ(record.candidate.index, wanted["index"].get<int>());
            std::vector<curve::ControlPoint> points;
            for (const json& point : wanted["points"]) points.push_back({point[0], point[1]});
            EXPECT_EQ(record.candidate.points, points) << i;
            EXPECT_EQ(record.candidate.scales, wanted["scales"].get<std::vector<double>>()) << i;
            EXPECT_EQ(record.evaluation.fitness, wanted["fitness"].get<double>()) << i;
            std::optional<std::pair<int, int>> original;
            if (!wanted["duplicate_of"].is_null()) original = wanted["duplicate_of"].get<std::pair<int, int>>();
            EXPECT_EQ(record.duplicateOf, original) << i;
        }
        ASSERT_EQ(outcome.history.size(), search["populations"].size());
        for (std::size_t g = 0; g < outcome.history.size(); ++g) {
            EXPECT_EQ(outcome.history[g].population,
                      (search["populations"][g].get<std::vector<std::pair<int, int>>>()));
        }
    }
}

}  // namespace
}  // namespace lpes::search
