// Memory over a thousand forwards: no allocator may creep with the shapes, no cache grow with the candidates.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

std::int64_t residentBytes() {
    std::ifstream status("/proc/self/statm");
    std::int64_t size = 0, resident = 0;
    status >> size >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

class Soak : public testing::TestWithParam<ComputeType> {};

TEST_P(Soak, MemoryIsFlatOverAThousandForwardsOfVaryingLength) {
    test::TinyModelSpec spec;
    spec.hiddenSize = 128;
    spec.intermediateSize = 384;
    spec.numHeads = 4;
    spec.numKvHeads = 2;
    spec.headDim = 32;
    spec.contextLength = 512;
    const auto model = test::loadTiny(spec, GetParam());
    const auto session = model->newSession(1);
    RandomStream random(3, kStreamTests, 1);
    const auto between = [&](int low, int high) {
        return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low + 1)));
    };
    // Buffers and the heap first reach the size that the largest shapes need, and LibTorch has compiled what it
    // multiplies keys of every length with.
    constexpr int kWarmUp = 2000, kForwards = 1000, kLongest = 200;
    const auto forward = [&](int index, int shortest, int longest) {
        LayerScales scales;
        for (int layer = 0; layer < model->config().numLayers; ++layer)
            scales.push_back(1.0 + 0.001 * between(0, 3000));
        std::vector<ScoredPrompt> batch;
        for (int i = between(1, 3); i > 0; --i) {
            batch.push_back(
                test::randomPrompt(between(shortest, longest), between(1, 6), static_cast<std::uint32_t>(index)));
        }
        const auto scores = session->scoreAnswers(batch, scales);
        ASSERT_TRUE(scores.has_value()) << scores.error().text();
        if (index % 10 > 0 && index >= kWarmUp) return;
        session->resetSequence();
        for (const int step : {between(shortest, longest), 1, 1}) {
            const auto logits = session->advance(test::randomIds(step, static_cast<std::uint32_t>(index)));
            ASSERT_TRUE(logits.has_value()) << logits.error().text();
        }
    };
    for (int i = 0; i < kWarmUp; ++i) forward(i, i % 2 == 0 ? kLongest : 1, kLongest);
    const std::int64_t before = residentBytes();
    for (int i = 0; i < kForwards; ++i) forward(kWarmUp + i, 1, kLongest);
    const std::int64_t after = residentBytes();
    RecordProperty("mebibytes_before", std::to_string(before >> 20));
    RecordProperty("mebibytes_after", std::to_string(after >> 20));
    EXPECT_LT(static_cast<double>(after), 1.02 * static_cast<double>(before))
        << (before >> 20) << " MiB before, " << (after >> 20) << " MiB after";
}

INSTANTIATE_TEST_SUITE_P(Types, Soak, testing::Values(ComputeType::Float32, ComputeType::BFloat16),
                         [](const auto& param) {
                             return std::string(param.param == ComputeType::Float32 ? "Float32" : "BFloat16");
                         });

}  // namespace
}  // namespace lpes::model
