#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "core/model/torch/attention_columns.h"
#include "core/model/torch/device_kernels.h"
#include "core/model/torch/devices.h"
#include "core/model/torch/own_kernels.h"
#include "tests/core/model_torch/session_helpers.h"

// What only a GPU can show: that a session on it answers what a session on the processor answers, and that our kernels
// run where LibTorch's operators would. A program of its own: LibTorch's CUDA half is loaded before anything else asks.
namespace lpes::model {
namespace {

class OnAGpu : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string problem = loadGpuSupport(); !problem.empty()) GTEST_SKIP() << "no GPU: " << problem;
    }
    static std::shared_ptr<const CausalLm> loadOn(const std::string& device, int kvHeads = 2) {
        test::TinyModelSpec spec;
        spec.numLayers = 3;
        spec.numKvHeads = kvHeads;
        NullObserver nobody;
        auto loaded = loadCausalLm(std::make_shared<test::MemoryWeights>(test::makeTinyModel(spec)),
                                   {ComputeType::Float32, device}, nobody);
        if (!loaded) throw std::runtime_error(loaded.error().text());
        return *loaded;
    }
    /// Asks a session on the processor and one on the GPU.
    template <class Ask>
    static auto both(const Ask& ask) {
        const auto answerOn = [&](const char* device) {
            auto answer = ask(*loadOn(device)->newSession(1));
            if (!answer) throw std::runtime_error(answer.error().text());
            return *answer;
        };
        return std::pair(answerOn("cpu"), answerOn("cuda:0"));
    }
    static void expectNear(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << i;
    }
    static inline const LayerScales kScales{1.3, 0.9, 1.1};
};

TEST_F(OnAGpu, AnswersOfABatchAreThoseOfTheProcessor) {
    const std::vector<ScoredPrompt> batch = {test::randomPrompt(70, 3, 1), test::randomPrompt(41, 5, 2),
                                             test::randomPrompt(3, 1, 3)};
    const auto [cpu, gpu] = both([&](ModelSession& session) { return session.scoreAnswers(batch, kScales); });
    for (std::size_t i = 0; i < batch.size(); ++i) {
        expectNear(gpu[i].logProbs, cpu[i].logProbs, 2e-4);
        EXPECT_EQ(gpu[i].allArgmax, cpu[i].allArgmax);
    }
}

TEST_F(OnAGpu, TextsScoreAsOnTheProcessor) {
    const auto ids = test::randomIds(300, 4);
    const auto [cpu, gpu] = both([&](ModelSession& session) { return session.scoreText(ids, kScales, 3); });
    expectNear(gpu.logProbs, cpu.logProbs, 2e-4);
    EXPECT_EQ(gpu.topAtEnd.front().id, cpu.topAtEnd.front().id);
}

TEST_F(OnAGpu, GenerationGoesOnAsOnTheProcessor) {
    const auto ids = test::randomIds(40, 5);
    const auto [cpu, gpu] = both([&](ModelSession& session) -> Result<std::vector<float>> {
        if (auto set = session.setMethod(kScales); !set) return fail(set.error());
        if (auto read = session.advance(ids); !read) return fail(read.error());
        if (auto several = session.advance(test::randomIds(20, 6)); !several) return fail(several.error());
        return session.advance(test::randomIds(1, 7));
    });
    for (std::size_t i = 0; i < cpu.size(); ++i) ASSERT_NEAR(gpu[i], cpu[i], 5e-4) << i;
}

TEST_F(OnAGpu, TablesAreReadBackFromIt) {
    const auto session = loadOn("cuda:0")->newSession(1);
    const auto applied = session->verifyApplied(kScales, 400);
    ASSERT_TRUE(applied.has_value()) << applied.error().text();
    EXPECT_TRUE(applied->verified);
    const auto [cpu, gpu] = both([](ModelSession& one) { return one.readBackTable(1, kScales, 3, 20); });
    EXPECT_EQ(gpu.cos, cpu.cos);
}

TEST_F(OnAGpu, AttentionIsThatOfTheProcessor) {
    const auto ids = test::randomIds(200, 8);
    const std::vector<TokenSpan> spans{{0, 1}, {1, 77}, {77, 200}};
    const auto [cpu, gpu] = both([&](ModelSession& one) { return one.attentionOfLastToken(ids, spans, kScales); });
    const auto [cpuAll, gpuAll] =
        both([&](ModelSession& one) { return one.attentionOfAllTokens(ids, spans, kScales); });
    for (std::size_t layer = 0; layer < 3; ++layer) {
        expectNear(gpu.shareByLayer[layer], cpu.shareByLayer[layer], 1e-4);
        expectNear(gpuAll.shareByLayer[layer], cpuAll.shareByLayer[layer], 1e-4);
    }
}

TEST_F(OnAGpu, DeviationAndGradientAreThoseOfTheProcessor) {
    const auto ids = test::randomIds(90, 9);
    const auto [cpu, gpu] = both([&](ModelSession& one) { return one.compareRepresentations(ids, {}, kScales); });
    expectNear(gpu.deviation, cpu.deviation, 1e-4);
    const auto prompt = test::randomPrompt(60, 2, 10);
    const auto [cpuSlope, gpuSlope] =
        both([&](ModelSession& one) { return one.scaleGradients(std::span(&prompt, 1), kScales); });
    expectNear(gpuSlope[0].gradient, cpuSlope[0].gradient, 1e-3);
}

TEST_F(OnAGpu, OurKernelsGiveTheOperatorsBitsAndTheBlocksSums) {
    const at::Device gpu(at::kCUDA, 0);
    if (const std::string problem = own_kernels::problem(gpu); !problem.empty()) GTEST_SKIP() << problem;
    const c10::InferenceMode on;
    at::manual_seed(2);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
        const at::Tensor angles = at::rand({50, 32}) * 6;
        const RotaryTable onCpu{angles.cos().to(type), angles.sin().to(type)};
        const RotaryTable table{onCpu.cos.to(gpu), onCpu.sin.to(gpu)};
        const at::Tensor fused = at::randn({30, 6 * 64}).to(type);
        std::vector<std::int32_t> rows;
        for (int i = 0; i < 30; ++i) rows.push_back(i * 7 % 50);
        const auto turned = [&](const at::Tensor& all, const RotaryTable& tables) {
            const at::Tensor q = at::empty({4, 30, 64}, all.options()), k = at::empty({1, 30, 64}, all.options());
            const at::Tensor v = at::empty_like(k);
            device_kernels::rotateAndSplit(all.narrow(1, 0, 256), all.narrow(1, 256, 64), all.narrow(1, 320, 64),
                                           tables, rows, q, k, v);
            return at::cat({q, k, v}).cpu();
        };
        EXPECT_TRUE(at::equal(turned(fused.to(gpu), table), turned(fused, onCpu))) << type;

        const at::Tensor q = at::randn({8, 700, 64}).to(type), k = at::randn({2, 700, 64}).to(type);
        const AttentionRule rule{0.125, 5.0, 300};
        const auto sums = own_kernels::columnSums(q.to(gpu), k.to(gpu), rule);
        ASSERT_TRUE(sums.has_value());
        const at::Tensor expected = columnSumsInBlocks(q, k, rule, {});
        EXPECT_TRUE(at::allclose(sums->cpu(), expected, 1e-4, 1e-7));
        EXPECT_TRUE(at::allclose(columnSumsInBlocks(q.to(gpu), k.to(gpu), rule, {}).cpu(), expected, 1e-4, 1e-7));
    }
}

TEST_F(OnAGpu, LayersSharedByTwoAnswerAlike) {
    if (discoverGpus().gpus.size() < 2) GTEST_SKIP() << "one GPU";
    // All layers fit on one; the second is named first so that a device other than 0 is current throughout.
    const auto ids = test::randomIds(120, 11);
    const auto cpu = loadOn("cpu")->newSession(1)->scoreText(ids, kScales, 1);
    const auto gpu = loadOn("cuda:1+cuda:0")->newSession(1)->scoreText(ids, kScales, 1);
    ASSERT_TRUE(cpu.has_value() && gpu.has_value());
    expectNear(gpu->logProbs, cpu->logProbs, 2e-4);
}

}  // namespace
}  // namespace lpes::model
