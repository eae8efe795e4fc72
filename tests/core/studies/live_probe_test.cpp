#include "core/studies/live_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/studies/probe_study.h"
#include "core/studies/run_session.h"
#include "tests/core/studies/studies_testing.h"

namespace lpes::test {
namespace {

using studies::LiveProbe;

studies::LoadedModel loaded(const StudyFolder& folder) {
    NullObserver observer;
    return take(studies::loadModel({folder.model(), "float32", "cpu", true}, observer, {}));
}

TEST(LiveProbe, ShowsWhatTheStudiesMeasure) {
    const StudyFolder folder;
    const studies::LoadedModel model = loaded(folder);
    const studies::TaskSpec task = smallSearch(folder).task;
    const auto probe = take(LiveProbe::make(model, task, 1, {}));
    const rope::LayerScales scales = {1.5, 0.7};
    std::vector<int> partial;
    const auto pictures =
        take(probe->compute(scales, [&](const LiveProbe::Pictures& seen) { partial.push_back(seen.prompts); }, {}));
    EXPECT_THAT(partial, testing::ElementsAre(1));
    EXPECT_EQ(pictures.prompts, 3);
    EXPECT_EQ(pictures.promptsPlanned, 3);

    // The same prompts through the studies' own functions.
    studies::ComputeSettings compute = smallSearch(folder).compute;
    compute.dtype = "float32";
    studies::TaskSpec one = task;
    one.limit = 1;
    NullObserver observer;
    auto opened = take(studies::openBench(compute, one, 1, {}));
    const studies::PassSize pass{3, std::nullopt, true, false};
    const auto plan = take(studies::planOfAllItems(opened, opened.config().contextLength, pass, {}));
    const auto bench = take(studies::loadBench(std::move(opened), compute, pass, observer, {}));
    const auto session = bench.model.lm->newSession(1);
    class Quiet final : public studies::ChunkObserver {
        Result<void> chunkDone(std::int64_t, std::int64_t) override { return {}; }
    } quiet;
    const auto expected = take(studies::probeAttention(*session, plan, bench.task.labels, scales,
                                                       studies::AttentionQueries::LastToken, quiet, {}));
    ASSERT_EQ(pictures.attention.series.size(), 2u);
    const auto& current = pictures.attention.series[1];
    ASSERT_EQ(current.positions.size(), expected.positions.size());
    for (std::size_t i = 0; i < expected.positions.size(); ++i) {
        EXPECT_EQ(current.positions[i].label, expected.positions[i].label);
        EXPECT_EQ(current.positions[i].goldIndex, expected.positions[i].goldIndex);
        for (std::size_t record = 0; record < expected.positions[i].meanPerToken.size(); ++record) {
            EXPECT_NEAR(current.positions[i].meanPerToken[record], expected.positions[i].meanPerToken[record], 1e-6);
        }
    }
    ASSERT_EQ(pictures.deviation.series.size(), 1u);
    EXPECT_EQ(pictures.deviation.series[0].deviation.size(), 2u);
    EXPECT_GT(pictures.deviation.series[0].deviation[1], 0.0);
}

TEST(LiveProbe, WithoutAProfileNothingDeviates) {
    const StudyFolder folder;
    const auto probe = take(LiveProbe::make(loaded(folder), smallSearch(folder).task, 1, {}));
    const auto pictures = take(probe->compute({}, {}, {}));
    for (const double value : pictures.deviation.series[0].deviation) EXPECT_EQ(value, 0.0);
    EXPECT_EQ(pictures.attention.series[0].positions[0].share, pictures.attention.series[1].positions[0].share);
    EXPECT_TRUE(take(probe->verify({2.0, 0.5})).verified);
}

TEST(LiveProbe, AnswersAStopAndGoesOnAfterwards) {
    const StudyFolder folder;
    const auto probe = take(LiveProbe::make(loaded(folder), smallSearch(folder).task, 1, {}));
    std::stop_source source;
    const auto stopped = probe->compute(
        {2.0, 2.0}, [&](const LiveProbe::Pictures&) { source.request_stop(); }, source.get_token());
    ASSERT_FALSE(stopped);
    EXPECT_TRUE(model::wasStopped(stopped.error()));
    EXPECT_EQ(take(probe->compute({2.0, 2.0}, {}, {})).prompts, 3);
}

TEST(LiveProbe, RefusesPromptsThatDoNotFitAndScalesOfAnotherModel) {
    TinyModelSpec shortContext;
    shortContext.contextLength = 16;
    const StudyFolder folder(shortContext);
    const auto none = LiveProbe::make(loaded(folder), smallSearch(folder).task, 1, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::BadInput);
    EXPECT_THAT(none.error().message, testing::HasSubstr("16 tokens"));
    const StudyFolder usual;
    const auto probe = take(LiveProbe::make(loaded(usual), smallSearch(usual).task, 1, {}));
    EXPECT_FALSE(probe->compute({1.0, 1.0, 1.0}, {}, {}));
}

TEST(SearchStudy, TakesAModelThatIsInMemoryAndLoadsItOtherwise) {
    const StudyFolder folder;
    auto settings = smallSearch(folder);
    settings.search.maxGenerations = 0;
    const auto stagesOf = [&](const studies::LoadedModel* model, const std::string& name) {
        class Stages final : public ProgressObserver {
          public:
            void progressed(const Progress& progress) override { loading |= progress.stage.starts_with("loading"); }
            void warned(const std::string&) override {}
            bool loading = false;
        } stages;
        const auto store = openStore(folder / name);
        EXPECT_TRUE(studies::runSearch(settings, *store, stages, {}, model));
        return stages.loading;
    };
    NullObserver observer;
    const auto model = take(studies::loadModel({folder.model(), settings.compute.dtype, "cpu", true}, observer, {}));
    EXPECT_FALSE(stagesOf(&model, "reused.db"));
    EXPECT_TRUE(stagesOf(nullptr, "loaded.db"));
    const auto other = take(studies::loadModel({folder.model(), "bfloat16", "cpu", true}, observer, {}));
    settings.compute.dtype = "float32";
    EXPECT_TRUE(stagesOf(&other, "other.db")) << "another compute type is another model";
}

}  // namespace
}  // namespace lpes::test
