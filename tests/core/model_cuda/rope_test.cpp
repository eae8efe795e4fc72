#include "core/model/cuda/rope_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/model/cuda/device_buffer.h"
#include "core/model/cuda/rope_body.h"
#include "tests/core/model_cuda/arrays.h"
#include "tests/core/model_cuda/cpu_lane.h"

namespace lpes::cuda {
namespace {

struct Shape {
    std::int64_t rows;
    int qHeads, kHeads, headDim, rotaryDim;
    std::int64_t rowStride;  ///< of the fused q, k, v rows
    std::int64_t shift;      ///< elements before the first row: an odd one forbids moving 16 bytes at a time
};

const Shape kShapes[] = {
    {1, 1, 1, 2, 2, 4, 0},     {5, 3, 1, 64, 64, 320, 0},    {7, 4, 2, 128, 128, 1024, 0}, {9, 2, 2, 80, 32, 401, 0},
    {6, 3, 1, 64, 64, 320, 1}, {4, 8, 0, 256, 256, 2048, 0}, {13, 1, 3, 96, 48, 500, 4},   {300, 9, 3, 64, 64, 960, 0},
};

template <class T>
class RopeInPlace : public ::testing::Test {
  protected:
    /// A task over `fused`, which holds q's and k's heads side by side in every row.
    RopeTask task(const Shape& shape, std::int32_t firstPosition) {
        fused = numbers<T>(static_cast<std::size_t>(shape.shift + shape.rows * shape.rowStride), 7);
        positions.clear();
        for (std::int64_t row = 0; row < shape.rows; ++row) {
            positions.push_back(firstPosition + static_cast<std::int32_t>(row * 3 % shape.rows));
        }
        frequencies.clear();
        for (int i = 0; i < shape.rotaryDim / 2; ++i) {
            frequencies.push_back(std::pow(500000.0, -2.0 * i / shape.rotaryDim));
        }
        RopeTask t;
        t.type = typeOf<T>();
        t.rows = shape.rows;
        t.headDim = shape.headDim;
        t.rotaryDim = shape.rotaryDim;
        t.q = fused.data() + shape.shift;
        t.k = shape.kHeads == 0 ? nullptr : fused.data() + shape.shift + shape.qHeads * shape.headDim;
        t.qRowStride = t.kRowStride = shape.rowStride;
        t.qHeads = shape.qHeads;
        t.kHeads = shape.kHeads;
        t.positions = positions.data();
        t.inverseFrequencies = frequencies.data();
        t.scale = 1.3;
        return t;
    }
    static bool same(const std::vector<T>& a, const std::vector<T>& b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
    }

    std::vector<T> fused;
    std::vector<std::int32_t> positions;
    std::vector<double> frequencies;
};

using Types = ::testing::Types<float, BFloat16, Float16>;
TYPED_TEST_SUITE(RopeInPlace, Types);

TYPED_TEST(RopeInPlace, CpuTurnsEveryPairByItsAngleAndTouchesNothingElse) {
    for (const Shape& shape : kShapes) {
        const RopeTask task = this->task(shape, 100000);
        const std::vector<TypeParam> before = this->fused;
        ASSERT_TRUE(ropeInPlaceCpu(task).ok());
        // A rounding of the products and one of the result, for values up to √2.
        const double tolerance = sizeof(TypeParam) == 4                      ? 5e-7
                                 : typeOf<TypeParam>() == DataType::BFloat16 ? 0.02
                                                                             : 2.5e-3;
        const int half = shape.rotaryDim / 2, turned = (shape.qHeads + shape.kHeads) * shape.headDim;
        for (std::int64_t at = 0; at < static_cast<std::int64_t>(before.size()); ++at) {
            const auto value = [&](std::int64_t index) {
                return static_cast<double>(toFloat(before[static_cast<std::size_t>(index)]));
            };
            const std::int64_t inRow = (at - shape.shift) % shape.rowStride;
            double expected = value(at);
            if (at >= shape.shift && inRow < turned && inRow % shape.headDim < shape.rotaryDim) {
                const std::size_t row = static_cast<std::size_t>((at - shape.shift) / shape.rowStride);
                const int i = static_cast<int>(inRow % shape.headDim);
                const double angle = this->positions[row] / 1.3 * this->frequencies[static_cast<std::size_t>(i % half)];
                expected = i < half ? value(at) * std::cos(angle) - value(at + half) * std::sin(angle)
                                    : value(at) * std::cos(angle) + value(at - half) * std::sin(angle);
                ASSERT_NEAR(toFloat(this->fused[static_cast<std::size_t>(at)]), expected, tolerance);
            } else {
                ASSERT_EQ(toFloat(this->fused[static_cast<std::size_t>(at)]), static_cast<float>(expected));
            }
        }
    }
}

TYPED_TEST(RopeInPlace, RoundsEveryStepAsTransformersDoes) {
    // (a, b) and the angle chosen so that a fused or unrounded product shows.
    TypeParam values[2] = {fromFloat<TypeParam>(0.7853f), fromFloat<TypeParam>(-0.3219f)};
    const float a = toFloat(values[0]), b = toFloat(values[1]);
    const std::int32_t position = 5;
    const double frequency = 0.3;
    RopeTask task{typeOf<TypeParam>(), 1, 2, 2, values, 2, 1, nullptr, 0, 0, &position, &frequency, 2.0, 1.25};
    ASSERT_TRUE(ropeInPlaceCpu(task).ok());
    const float c = roundTo<TypeParam>(static_cast<float>(std::cos(0.75)) * 1.25f);
    const float s = roundTo<TypeParam>(static_cast<float>(std::sin(0.75)) * 1.25f);
    const volatile float ac = a * c, bs = b * s, bc = b * c, as = a * s;
    const volatile float first = roundTo<TypeParam>(ac) - roundTo<TypeParam>(bs);
    const volatile float second = roundTo<TypeParam>(bc) + roundTo<TypeParam>(as);
    EXPECT_EQ(toFloat(values[0]), roundTo<TypeParam>(first));
    EXPECT_EQ(toFloat(values[1]), roundTo<TypeParam>(second));
}

/// The kernel's blocks, run on the CPU.
template <class T>
bool runBody(const RopeTask& task) {
    for (std::int64_t block = 0; block < ropeBlocks(task); ++block) {
        CpuBlock cpu(kRopeThreads, block, 0, ropeSharedBytes(task));
        const bool met = cpu.run([&](CpuBlock::Lane& lane) {
            if (ropeVectorized(task)) {
                ropeBlock<T, 16 / sizeof(T)>(lane, task);
            } else {
                ropeBlock<T, 1>(lane, task);
            }
        });
        if (!met) return false;
    }
    return true;
}

TYPED_TEST(RopeInPlace, KernelBodyGivesTheBitsOfTheReference) {
    bool vectorized = false, plain = false;
    for (const Shape& shape : kShapes) {
        RopeTask task = this->task(shape, 4000);
        (ropeVectorized(task) ? vectorized : plain) = true;
        ASSERT_TRUE(runBody<TypeParam>(task));
        const std::vector<TypeParam> fromBody = this->fused;
        task = this->task(shape, 4000);
        ASSERT_TRUE(ropeInPlaceCpu(task).ok());
        ASSERT_TRUE(this->same(fromBody, this->fused)) << shape.headDim << " " << shape.rotaryDim;
    }
    EXPECT_TRUE(vectorized);
    EXPECT_TRUE(plain);
}

TYPED_TEST(RopeInPlace, GpuAgreesWithTheReference) {
    const std::string problem = kernelsProblem();
    if (!problem.empty()) GTEST_SKIP() << "no CUDA device: " << problem;
    for (const Shape& shape : kShapes) {
        for (const std::int32_t position : {0, 100000, 10000000}) {
            RopeTask task = this->task(shape, position), onGpu = task;
            DeviceBuffer values, positionBuffer, frequencyBuffer;
            const std::size_t bytes = this->fused.size() * sizeof(TypeParam);
            ASSERT_TRUE(values.allocate(bytes).ok() && values.upload(this->fused.data(), bytes).ok());
            const std::size_t positionBytes = this->positions.size() * sizeof(std::int32_t);
            ASSERT_TRUE(positionBuffer.allocate(positionBytes).ok());
            ASSERT_TRUE(positionBuffer.upload(this->positions.data(), positionBytes).ok());
            const std::size_t frequencyBytes = this->frequencies.size() * sizeof(double);
            ASSERT_TRUE(frequencyBuffer.allocate(frequencyBytes).ok());
            ASSERT_TRUE(frequencyBuffer.upload(this->frequencies.data(), frequencyBytes).ok());
            onGpu.q = static_cast<TypeParam*>(values.data()) + shape.shift;
            onGpu.k = task.k ? static_cast<TypeParam*>(onGpu.q) + shape.qHeads * shape.headDim : nullptr;
            onGpu.positions = static_cast<std::int32_t*>(positionBuffer.data());
            onGpu.inverseFrequencies = static_cast<double*>(frequencyBuffer.data());
            const Status launched = ropeInPlace(onGpu, nullptr);
            ASSERT_TRUE(launched.ok()) << launched.message();
            std::vector<TypeParam> result(this->fused.size());
            ASSERT_TRUE(values.download(result.data(), bytes).ok());
            ASSERT_TRUE(ropeInPlaceCpu(task).ok());
            std::size_t different = 0;
            for (std::size_t i = 0; i < result.size(); ++i) {
                const float ours = toFloat(result[i]), reference = toFloat(this->fused[i]);
                if (ours == reference) continue;
                ++different;
                // A cos or sin on a rounding boundary: one unit of it, times a value up to 1.
                const float unit = sizeof(TypeParam) == 4                      ? 3e-7f
                                   : typeOf<TypeParam>() == DataType::BFloat16 ? 0.016f
                                                                               : 2e-3f;
                ASSERT_NEAR(ours, reference, unit);
            }
            EXPECT_LE(different, result.size() / 100) << "position " << position;
        }
    }
}

TEST(RopeAngle, StaysExactAtTheEndOfLongContexts) {
    for (const double scale : {1.0, 1.7, 0.93}) {
        for (const std::int32_t position : {1, 131071, 1048575, 10000000}) {
            for (const double frequency : {1.0, 0.7, 1e-3}) {
                const long double angle = static_cast<long double>(position) / scale * frequency;
                float cosine, sine;
                rotaryAngle<float>(position, scale, frequency, 1.0f, cosine, sine);
                EXPECT_NEAR(cosine, static_cast<double>(std::cos(angle)), 1e-7);
                EXPECT_NEAR(sine, static_cast<double>(std::sin(angle)), 1e-7);
            }
        }
    }
}

TEST(RopeTask, RefusesWhatCannotBeRotated) {
    float values[8] = {};
    const std::int32_t position = 0;
    const double frequencies[2] = {1.0, 0.1};
    const RopeTask good{DataType::Float32, 1, 4, 4, values, 4, 1, nullptr, 0, 0, &position, frequencies, 1.0, 1.0};
    EXPECT_TRUE(checkTask(good).ok());
    const auto refused = [&](auto change) {
        RopeTask task = good;
        change(task);
        return !ropeInPlaceCpu(task).ok();
    };
    EXPECT_TRUE(refused([](RopeTask& t) { t.rotaryDim = 3; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.rotaryDim = 6; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.scale = 0.0; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.scale = NAN; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.attentionFactor = INFINITY; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.rows = -1; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.kHeads = 1; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.positions = nullptr; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.rows = 2, t.qRowStride = 3; }));
}

}  // namespace
}  // namespace lpes::cuda
