#include <cmath>
#include <limits>

#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

class StoreRoundTrip : public StoreTest {};

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(StoreRoundTrip, ModelIsStoredOnceByWhatItIsAndWhereItIs) {
    auto writer = openWriter();
    ModelRow row{0,  "f00d", "demo",    "/models/demo.gguf", "llama", "gguf", 30,
                 64, 8192,   134515008, R"({"a":1})",        "beef",  "cafe"};
    const std::int64_t id = writer->ensureModel(row).value();
    row.name = "again";
    EXPECT_EQ(writer->ensureModel(row).value(), id);
    row.weightsHash = "fine-tuned";
    const std::int64_t tuned = writer->ensureModel(row).value();
    EXPECT_NE(tuned, id);
    row.fingerprint = "other";
    EXPECT_NE(writer->ensureModel(row).value(), tuned);
    const ModelRow back = openReader()->model(id).value();
    EXPECT_EQ(back.id, id);
    EXPECT_EQ(back.fingerprint, "f00d");
    EXPECT_EQ(back.name, "demo");
    EXPECT_EQ(back.path, "/models/demo.gguf");
    EXPECT_EQ(back.architecture, "llama");
    EXPECT_EQ(back.format, "gguf");
    EXPECT_EQ(back.layers, 30);
    EXPECT_EQ(back.headDim, 64);
    EXPECT_EQ(back.contextLength, 8192);
    EXPECT_EQ(back.parameters, 134515008);
    EXPECT_EQ(back.configJson, R"({"a":1})");
    EXPECT_EQ(back.tokenizerFingerprint, "beef");
    EXPECT_EQ(back.weightsHash, "cafe");
    EXPECT_EQ(openReader()->model(99).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, DatasetIsStoredOnceByHashTaskAndTemplate) {
    auto writer = openWriter();
    DatasetRow row{0, "h", "kv", "words, 20 pairs", "t1", 96, R"({"pairs":20})"};
    const std::int64_t id = writer->ensureDataset(row).value();
    EXPECT_EQ(writer->ensureDataset(row).value(), id);
    row.templateHash = "t2";
    EXPECT_NE(writer->ensureDataset(row).value(), id);
    const DatasetRow back = openReader()->dataset(id).value();
    EXPECT_EQ(back.hash, "h");
    EXPECT_EQ(back.task, "kv");
    EXPECT_EQ(back.name, "words, 20 pairs");
    EXPECT_EQ(back.templateHash, "t1");
    EXPECT_EQ(back.items, 96);
    EXPECT_EQ(back.specJson, R"({"pairs":20})");
    EXPECT_EQ(openReader()->dataset(99).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, RunKeepsEverySetting) {
    auto writer = openWriter();
    RunRow row = someRun();
    row.modelId = writer->ensureModel(ModelRow()).value();
    row.datasetId = writer->ensureDataset(DatasetRow()).value();
    row.seed = std::numeric_limits<std::uint64_t>::max();
    row.toolVersion = "0.1.0";
    row.libTorchVersion = "2.15.0";
    row.deviceDescription = "two cores";
    row.computeType = "bfloat16";
    row.threadsPerWorker = 2;
    row.workers = 3;
    row.batchSize = 4;
    const std::int64_t id = writer->addRun(row).value();
    const RunRow back = openReader()->run(id).value();
    EXPECT_EQ(back.id, id);
    EXPECT_EQ(back.kind, "search");
    EXPECT_EQ(back.state, RunState::Running);
    EXPECT_EQ(back.modelId, row.modelId);
    EXPECT_EQ(back.datasetId, row.datasetId);
    EXPECT_EQ(back.label, row.label);
    EXPECT_EQ(back.settingsJson, row.settingsJson);
    EXPECT_EQ(back.seed, row.seed);
    EXPECT_EQ(back.toolVersion, "0.1.0");
    EXPECT_EQ(back.libTorchVersion, "2.15.0");
    EXPECT_EQ(back.device, "cpu");
    EXPECT_EQ(back.deviceDescription, "two cores");
    EXPECT_EQ(back.computeType, "bfloat16");
    EXPECT_EQ(back.threadsPerWorker, 2);
    EXPECT_EQ(back.workers, 3);
    EXPECT_EQ(back.batchSize, 4);
    EXPECT_FALSE(back.host.empty());
    EXPECT_EQ(back.pid, ::getpid());
    EXPECT_GT(back.createdMs, 1'700'000'000'000);
    EXPECT_EQ(back.heartbeatMs, back.createdMs);
    EXPECT_EQ(back.endedMs, 0);
}

TEST_F(StoreRoundTrip, SplitKeepsItsOrderAndIsReplaced) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer);
    const std::vector<std::string> first = {"c", "a", "b"}, second = {"b", "z"}, twice = {"x", "y", "x"};
    ASSERT_TRUE(writer->setSplit(run, "search", first));
    ASSERT_TRUE(writer->setSplit(run, "report", second));
    EXPECT_EQ(openReader()->split(run, "search").value(), first);
    ASSERT_TRUE(writer->setSplit(run, "search", second));
    EXPECT_EQ(openReader()->split(run, "search").value(), second);
    const Result<void> refused = writer->setSplit(run, "search", twice);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_THAT(refused.error().message, HasSubstr("'x' twice"));
    EXPECT_EQ(openReader()->split(run, "search").value(), second) << "a refused list must leave the old one";
    EXPECT_EQ(writer->setSplit(77, "search", first).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, VariantIsOnePerScalesAndBitExact) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer), other = addRun(*writer);
    const std::vector<double> scales = {1.0 / 3.0, 0.1 + 0.2, 1.15}, near = {1.0 / 3.0, 0.3, 1.15};
    const std::int64_t id = writer->ensureVariant(run, "candidate", scales).value();
    EXPECT_EQ(writer->ensureVariant(run, "lpes:FILE", scales).value(), id);
    EXPECT_NE(writer->ensureVariant(run, "candidate", near).value(), id);
    EXPECT_NE(writer->ensureVariant(other, "candidate", scales).value(), id);
    const std::int64_t baseline = writer->ensureVariant(run, "baseline", {}).value();
    EXPECT_EQ(writer->ensureVariant(run, "baseline", {}).value(), baseline);
    EXPECT_NE(writer->ensureVariant(run, "yarn:4", {}).value(), baseline) << "another method without a profile";
    const auto variants = openReader()->variants(run).value();
    ASSERT_EQ(variants.size(), 4u);
    EXPECT_EQ(variants[0].name, "candidate");
    EXPECT_EQ(variants[0].runId, run);
    EXPECT_EQ(variants[0].scales, scales);
    EXPECT_TRUE(variants[2].scales.empty());
    const std::vector<double> bad = {1.0, std::nan("")};
    EXPECT_THAT(writer->ensureVariant(run, "bad", bad).error().message, HasSubstr("layer 1"));
    EXPECT_EQ(writer->ensureVariant(99, "orphan", scales).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, OutcomesComeInTheOrderOfTheSplitAndReplaceThemselves) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer);
    const std::vector<std::string> items = {"item-2", "item-1"};
    ASSERT_TRUE(writer->setSplit(run, "search", items));
    const std::int64_t variant = writer->ensureVariant(run, "baseline", {}).value();
    ASSERT_TRUE(writer->recordOutcomes(variant, "search", threeOutcomes(1)));
    ASSERT_TRUE(writer->recordOutcomes(variant, "search", threeOutcomes(2)));
    OutcomeRow again = someOutcome(1, 1);
    again.nll = std::nan("");
    again.skippedTooLong = true;
    again.goldToken = 55;
    again.generated = std::string("a\0b\xff", 4);
    ASSERT_TRUE(writer->recordOutcomes(variant, "search", std::vector<OutcomeRow>{again}));
    const auto rows = openReader()->outcomes(variant, "search").value();
    ASSERT_EQ(rows.size(), 6u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].itemId, i < 3 ? "item-2" : "item-1");
        EXPECT_EQ(rows[i].position, static_cast<int>(i % 3));
    }
    EXPECT_EQ(rows[2].nll, someOutcome(2, 2).nll);
    EXPECT_EQ(rows[2].goldIndex, 10);
    EXPECT_EQ(rows[2].promptTokens, 185);
    EXPECT_TRUE(rows[2].correct);
    EXPECT_FALSE(rows[1].correct);
    EXPECT_TRUE(std::isnan(rows[4].nll));
    EXPECT_TRUE(rows[4].skippedTooLong);
    EXPECT_EQ(rows[4].goldToken, 55);
    EXPECT_EQ(rows[4].generated, again.generated);
    EXPECT_TRUE(openReader()->outcomes(variant, "report").value().empty());
    EXPECT_EQ(writer->recordOutcomes(999, "search", threeOutcomes(1)).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, SlopesComeInTheOrderOfTheSplitAndReplaceThemselves) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer);
    ASSERT_TRUE(writer->setSplit(run, "search", std::vector<std::string>{"item-2", "item-1"}));
    const std::vector<double> scales{1.0 / 3.0, 1.1};
    const std::int64_t variant = writer->ensureVariant(run, "descent", scales).value();
    const std::vector<SlopeRow> first{{"item-1", 0, 1.5, {0.1, -1e-17}}, {"item-1", 1, 1.0, {0.0, 2.0}}};
    const std::vector<SlopeRow> second{{"item-2", 0, std::nan(""), {std::nan(""), 1.0}},
                                       {"item-1", 1, 0.5, {0.25, 2.0}}};
    ASSERT_TRUE(writer->recordSlopes(variant, "search", first));
    ASSERT_TRUE(writer->recordSlopes(variant, "search", second));
    const auto rows = openReader()->slopes(variant, "search").value();
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].itemId, "item-2");
    EXPECT_TRUE(std::isnan(rows[0].nll) && std::isnan(rows[0].slope[0]));
    EXPECT_EQ(rows[1].slope, first[0].slope) << "to the last bit";
    EXPECT_EQ(rows[2].nll, 0.5);
    EXPECT_EQ(rows[2].slope, (std::vector<double>{0.25, 2.0}));
    EXPECT_TRUE(openReader()->slopes(variant, "report").value().empty());
    EXPECT_EQ(writer->recordSlopes(999, "search", first).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, CandidatesKeepFailuresAndReplaceThemselves) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer);
    CandidateRow good;
    good.variantId = writer->ensureVariant(run, "candidate", std::vector<double>{1.1, 0.9}).value();
    good.generation = 1;
    good.index = 2;
    good.pointsJson = "[[0,1.1],[1,0.9]]";
    good.fitness = -0.1234567890123456789;
    good.byPosition = {-1.0, std::nan(""), -3.5};
    good.objectives = {0.1, -2.0 / 3};
    CandidateRow failed;
    failed.generation = 1;
    failed.index = 3;
    failed.state = CandidateRow::State::Failed;
    failed.fitness = 5.0;
    failed.reason = "out of memory";
    CandidateRow duplicate = good;
    duplicate.index = 1;
    duplicate.state = CandidateRow::State::Duplicate;
    duplicate.duplicateGeneration = 0;
    duplicate.duplicateIndex = 4;
    for (const CandidateRow& row : {failed, good, duplicate, good}) ASSERT_TRUE(writer->recordCandidate(run, row));
    const auto rows = openReader()->candidates(run).value();
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].state, CandidateRow::State::Duplicate);
    EXPECT_EQ(rows[0].duplicateGeneration, 0);
    EXPECT_EQ(rows[0].duplicateIndex, 4);
    EXPECT_EQ(rows[1].index, 2);
    EXPECT_EQ(rows[1].state, CandidateRow::State::Evaluated);
    EXPECT_EQ(rows[1].variantId, good.variantId);
    EXPECT_EQ(rows[1].pointsJson, good.pointsJson);
    EXPECT_EQ(rows[1].fitness, good.fitness);
    ASSERT_EQ(rows[1].byPosition.size(), 3u);
    EXPECT_EQ(rows[1].byPosition[2], -3.5);
    EXPECT_TRUE(std::isnan(rows[1].byPosition[1]));
    EXPECT_EQ(rows[1].duplicateIndex, -1);
    EXPECT_EQ(rows[1].objectives, good.objectives);
    EXPECT_TRUE(rows[2].objectives.empty());
    CandidateRow infeasible = failed;
    infeasible.index = 4;
    infeasible.state = CandidateRow::State::Infeasible;
    ASSERT_TRUE(writer->recordCandidate(run, infeasible));
    const CandidateRow last = openReader()->candidates(run).value().back();
    EXPECT_EQ(last.state, CandidateRow::State::Infeasible);
    EXPECT_TRUE(std::isnan(last.fitness)) << "it stands beside no other's";
    EXPECT_EQ(rows[2].state, CandidateRow::State::Failed);
    EXPECT_TRUE(std::isnan(rows[2].fitness)) << "a failed candidate has no fitness";
    EXPECT_EQ(rows[2].reason, "out of memory");
    EXPECT_EQ(rows[2].variantId, 0);
    good.variantId = 1000;
    EXPECT_EQ(writer->recordCandidate(run, good).error().code, ErrorCode::Usage);
    EXPECT_EQ(writer->recordCandidate(1000, failed).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, TrainingStepsComeInOrderAndReplaceThemselves) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer, "train");
    const std::vector<TrainingStepRow> steps{{2, 2.0 / 3.0, 0.6, 0.1, std::nan(""), 40}, {1, 9.0, 8.0, 1.0, 0.5, 30}};
    ASSERT_TRUE(writer->recordTrainingSteps(run, steps));
    const TrainingStepRow again{1, 3.0, 2.5, 0.25, 1.5, 32};
    ASSERT_TRUE(writer->recordTrainingSteps(run, std::span(&again, 1)));
    const auto rows = openReader()->trainingSteps(run).value();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].step, 1);
    EXPECT_EQ(rows[0].loss, 3.0);
    EXPECT_EQ(rows[0].lmLoss, 2.5);
    EXPECT_EQ(rows[0].auxLoss, 0.25);
    EXPECT_EQ(rows[0].gradNorm, 1.5);
    EXPECT_EQ(rows[0].tokens, 32);
    EXPECT_EQ(rows[1].loss, steps[0].loss) << "to the bit";
    EXPECT_TRUE(std::isnan(rows[1].gradNorm));
    EXPECT_TRUE(openReader()->trainingSteps(run + 1).value().empty());
    EXPECT_EQ(writer->recordTrainingSteps(1000, steps).error().code, ErrorCode::Usage);
}

TEST_F(StoreRoundTrip, BestOfRunIsOneIndexQuery) {
    {
        auto writer = openWriter();
        const std::int64_t run = addRun(*writer);
        for (int i = 0; i < 50; ++i) {
            CandidateRow row;
            row.index = i;
            row.fitness = -std::abs(i - 31.0);
            if (i == 0) row.state = CandidateRow::State::Failed;
            ASSERT_TRUE(writer->recordCandidate(run, row));
        }
    }
    const std::string best =
        "SELECT generation, idx FROM candidates WHERE run_id = 1 ORDER BY fitness DESC, generation, idx LIMIT 1";
    SQLite::Database database(path.string());
    SQLite::Statement plan(database, "EXPLAIN QUERY PLAN " + best);
    std::string text;
    while (plan.executeStep()) text += plan.getColumn(3).getString() + "\n";
    EXPECT_THAT(text, HasSubstr("INDEX candidates_best"));
    EXPECT_THAT(text, Not(HasSubstr("TEMP B-TREE")));
    SQLite::Statement query(database, best);
    ASSERT_TRUE(query.executeStep());
    EXPECT_EQ(query.getColumn(1).getInt(), 31);
}

TEST_F(StoreRoundTrip, GenerationsPositionsAttentionDeviationsProfiles) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer), other = addRun(*writer);
    const std::int64_t variant = writer->ensureVariant(run, "baseline", {}).value();
    const GenerationRow generation{3, -1.5, -2.0, std::nan(""), 0.25, 0.125, 48, "[[0,1],[2,3]]", 5, 0.375};
    const std::vector<PositionRow> positions = {
        {variant, "report", 0, "begin", 0, 31.5, 40, 18, 0.45, 0.31, 0.6, 1.167},
        {variant, "report", 1, "middle", 10, 92.25, 0, 0, std::nan(""), 0.0, 1.0, std::nan("")}};
    const std::vector<AttentionRow> attention = {{variant, 0, "begin", -1, -1, 0.5, 0.5},
                                                 {variant, 0, "begin", 0, 7, 1e-300, 0.25}};
    const std::vector<DeviationRow> deviations = {{variant, 0, 0.0012, 0.001, 0.0014, 0.99, 0.98, 32}};
    for (int time = 0; time < 2; ++time) {
        ASSERT_TRUE(writer->recordGeneration(run, generation));
        ASSERT_TRUE(writer->recordPositions(run, positions));
        ASSERT_TRUE(writer->recordAttention(run, attention));
        ASSERT_TRUE(writer->recordDeviations(run, deviations));
    }
    const std::int64_t profile = writer->saveProfile(run, R"({"format":"lpes-profile"})").value();
    EXPECT_EQ(writer->saveProfile(run, R"({"format":"lpes-profile"})").value(), profile);
    EXPECT_NE(writer->saveProfile(other, R"({"format":"lpes-profile"})").value(), profile);

    auto reader = openReader();
    const auto generations = reader->generations(run).value();
    ASSERT_EQ(generations.size(), 1u);
    EXPECT_EQ(generations[0].generation, 3);
    EXPECT_EQ(generations[0].frontSize, 5);
    EXPECT_EQ(generations[0].hypervolume, 0.375);
    EXPECT_EQ(generations[0].best, -1.5);
    EXPECT_EQ(generations[0].mean, -2.0);
    EXPECT_TRUE(std::isnan(generations[0].worst));
    EXPECT_EQ(generations[0].stddev, 0.25);
    EXPECT_EQ(generations[0].diversity, 0.125);
    EXPECT_EQ(generations[0].evaluations, 48);
    EXPECT_EQ(generations[0].populationJson, "[[0,1],[2,3]]");
    const auto byPosition = reader->positions(run).value();
    ASSERT_EQ(byPosition.size(), 2u);
    EXPECT_EQ(byPosition[0].variantId, variant);
    EXPECT_EQ(byPosition[0].split, "report");
    EXPECT_EQ(byPosition[0].label, "begin");
    EXPECT_EQ(byPosition[0].meanTokenIndex, 31.5);
    EXPECT_EQ(byPosition[0].n, 40);
    EXPECT_EQ(byPosition[0].correct, 18);
    EXPECT_EQ(byPosition[0].accuracy, 0.45);
    EXPECT_EQ(byPosition[0].ciLow, 0.31);
    EXPECT_EQ(byPosition[0].ciHigh, 0.6);
    EXPECT_EQ(byPosition[0].answerNll, 1.167);
    EXPECT_EQ(byPosition[1].goldIndex, 10);
    EXPECT_TRUE(std::isnan(byPosition[1].accuracy));
    const auto spans = reader->attention(run).value();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].layer, -1);
    EXPECT_EQ(spans[0].span, -1);
    EXPECT_EQ(spans[1].label, "begin");
    EXPECT_EQ(spans[1].span, 7);
    EXPECT_EQ(spans[1].share, 1e-300);
    EXPECT_EQ(spans[1].meanPerToken, 0.25);
    const auto layers = reader->deviations(run).value();
    ASSERT_EQ(layers.size(), 1u);
    EXPECT_EQ(layers[0].deviation, 0.0012);
    EXPECT_EQ(layers[0].ciLow, 0.001);
    EXPECT_EQ(layers[0].ciHigh, 0.0014);
    EXPECT_EQ(layers[0].rsa, 0.99);
    EXPECT_EQ(layers[0].cosine, 0.98);
    EXPECT_EQ(layers[0].prompts, 32);
    const auto profiles = reader->profiles(run).value();
    ASSERT_EQ(profiles.size(), 1u);
    EXPECT_EQ(profiles[0].id, profile);
    EXPECT_EQ(profiles[0].json, R"({"format":"lpes-profile"})");
    EXPECT_EQ(writer->recordPositions(other, positions).error().code, ErrorCode::Usage) << "a variant of another run";
    EXPECT_TRUE(reader->positions(other).value().empty());
}

TEST_F(StoreRoundTrip, AFailedCallStoresNothingOfItself) {
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer);
    const std::int64_t variant = writer->ensureVariant(run, "baseline", {}).value();
    std::vector<PositionRow> rows(2);
    rows[0].variantId = variant;
    rows[1].variantId = variant + 1;
    ASSERT_FALSE(writer->recordPositions(run, rows));
    EXPECT_TRUE(writer->reader().positions(run).value().empty());
    ASSERT_TRUE(writer->recordPositions(run, std::span(rows).first(1)));
    EXPECT_EQ(writer->reader().positions(run).value().size(), 1u);
}

}  // namespace lpes::store::test
