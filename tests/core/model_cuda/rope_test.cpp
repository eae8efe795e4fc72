#include "core/model/cuda/rope_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

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

/// Tables of some 350 rows.
constexpr std::int64_t kTableRows = 353;

template <class T>
class Rope : public ::testing::Test {
  protected:
    /// A task over `fused`, which holds q's, k's and v's heads side by side in every row. `laidOut`: by head into
    /// `target` with room between heads and rows, values as well; else in place. `scattered`: rows of the table in no
    /// order.
    RopeTask task(const Shape& shape, bool laidOut, bool scattered) {
        fused = numbers<T>(static_cast<std::size_t>(shape.shift + shape.rows * shape.rowStride), 7);
        tableRows.clear();
        for (std::int64_t row = 0; row < shape.rows; ++row) {
            tableRows.push_back(static_cast<std::int32_t>((row * 37 + 11) % kTableRows));
        }
        const int half = shape.rotaryDim / 2;
        cos.clear();
        sin.clear();
        for (std::int64_t row = 0; row < kTableRows; ++row) {
            for (int i = 0; i < half; ++i) {
                const double angle = static_cast<double>(row) / 1.3 * std::pow(500000.0, -2.0 * i / shape.rotaryDim);
                cos.push_back(fromFloat<T>(static_cast<float>(std::cos(angle))));
                sin.push_back(fromFloat<T>(static_cast<float>(std::sin(angle))));
            }
        }
        RopeTask t;
        t.type = typeOf<T>();
        t.rows = shape.rows;
        t.headDim = shape.headDim;
        t.rotaryDim = shape.rotaryDim;
        t.cos = cos.data();
        t.sin = sin.data();
        t.firstTableRow = 20;
        if (scattered) t.tableRows = tableRows.data();
        T* const data = fused.data() + shape.shift;
        const std::int64_t kFirst = shape.qHeads * shape.headDim, vFirst = kFirst + shape.kHeads * shape.headDim;
        t.q = {data, shape.rowStride, shape.qHeads, data, shape.headDim, shape.rowStride};
        if (shape.kHeads > 0) {
            T* const keys = data + kFirst;
            t.k = {keys, shape.rowStride, shape.kHeads, keys, shape.headDim, shape.rowStride};
        }
        if (!laidOut) return t;
        // Heads have room for eight rows more, rows for eight values more.
        const std::int64_t rowWidth = shape.headDim + 8, headWidth = (shape.rows + 8) * rowWidth;
        const int heads = shape.qHeads + 2 * shape.kHeads;
        target = numbers<T>(static_cast<std::size_t>(heads * headWidth), 9);
        const auto to = [&](RopeHeads& part, int first) {
            part.to = target.data() + first * headWidth;
            part.toHeadStride = headWidth;
            part.toRowStride = rowWidth;
        };
        to(t.q, 0);
        if (shape.kHeads > 0) {
            to(t.k, shape.qHeads);
            t.v = {data + vFirst, shape.rowStride, shape.kHeads, nullptr, 0, 0};
            to(t.v, shape.qHeads + shape.kHeads);
        }
        return t;
    }
    static bool same(const std::vector<T>& a, const std::vector<T>& b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
    }
    /// Rows hold q, k and v only in shapes with room for the values.
    static bool hasValues(const Shape& shape) {
        return shape.rowStride >= (shape.qHeads + 2 * shape.kHeads) * shape.headDim;
    }

    std::vector<T> fused, target, cos, sin;
    std::vector<std::int32_t> tableRows;
};

using Types = ::testing::Types<float, BFloat16, Float16>;
TYPED_TEST_SUITE(Rope, Types);

TYPED_TEST(Rope, CpuTurnsEveryPairByItsAngleAndTouchesNothingElse) {
    for (const Shape& shape : kShapes) {
        for (const bool scattered : {false, true}) {
            const RopeTask task = this->task(shape, false, scattered);
            const std::vector<TypeParam> before = this->fused;
            ASSERT_TRUE(applyRopeCpu(task).ok());
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
                    const std::int64_t row = (at - shape.shift) / shape.rowStride;
                    const std::int64_t tableRow = scattered ? (row * 37 + 11) % kTableRows : 20 + row;
                    const int i = static_cast<int>(inRow % shape.headDim);
                    const double frequency = std::pow(500000.0, -2.0 * (i % half) / shape.rotaryDim);
                    const double angle = static_cast<double>(tableRow) / 1.3 * frequency;
                    expected = i < half ? value(at) * std::cos(angle) - value(at + half) * std::sin(angle)
                                        : value(at) * std::cos(angle) + value(at - half) * std::sin(angle);
                    ASSERT_NEAR(toFloat(this->fused[static_cast<std::size_t>(at)]), expected, tolerance);
                } else {
                    ASSERT_EQ(toFloat(this->fused[static_cast<std::size_t>(at)]), static_cast<float>(expected));
                }
            }
        }
    }
}

TYPED_TEST(Rope, LaysOutByHeadWhatItTurnsInPlace) {
    for (const Shape& shape : kShapes) {
        if (!this->hasValues(shape)) continue;
        RopeTask task = this->task(shape, false, true);
        ASSERT_TRUE(applyRopeCpu(task).ok());
        const std::vector<TypeParam> inPlace = this->fused;
        task = this->task(shape, true, true);
        const std::vector<TypeParam> source = this->fused, before = this->target;
        ASSERT_TRUE(applyRopeCpu(task).ok());
        ASSERT_TRUE(this->same(this->fused, source)) << "what is laid out elsewhere stays";
        const std::int64_t rowWidth = shape.headDim + 8, headWidth = (shape.rows + 8) * rowWidth;
        for (std::int64_t at = 0; at < static_cast<std::int64_t>(before.size()); ++at) {
            const std::int64_t head = at / headWidth, row = at % headWidth / rowWidth, i = at % rowWidth;
            float expected = toFloat(before[static_cast<std::size_t>(at)]);
            if (row < shape.rows && i < shape.headDim) {
                expected = toFloat(
                    inPlace[static_cast<std::size_t>(shape.shift + row * shape.rowStride + head * shape.headDim + i)]);
            }
            ASSERT_EQ(toFloat(this->target[static_cast<std::size_t>(at)]), expected) << at;
        }
    }
}

TYPED_TEST(Rope, RoundsEveryStepAsTransformersDoes) {
    // (a, b) and the angle chosen so that a fused or unrounded product shows.
    TypeParam values[2] = {fromFloat<TypeParam>(0.7853f), fromFloat<TypeParam>(-0.3219f)};
    const TypeParam cosine = fromFloat<TypeParam>(static_cast<float>(std::cos(0.75)) * 1.25f);
    const TypeParam sine = fromFloat<TypeParam>(static_cast<float>(std::sin(0.75)) * 1.25f);
    const float a = toFloat(values[0]), b = toFloat(values[1]), c = toFloat(cosine), s = toFloat(sine);
    RopeTask task;
    task.type = typeOf<TypeParam>();
    task.rows = 1;
    task.headDim = task.rotaryDim = 2;
    task.q = {values, 2, 1, values, 2, 2};
    task.cos = &cosine;
    task.sin = &sine;
    ASSERT_TRUE(applyRopeCpu(task).ok());
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
        CpuBlock cpu(kRopeThreads, block, 0, 0);
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

TYPED_TEST(Rope, KernelBodyGivesTheBitsOfTheReference) {
    int vectorized = 0, plain = 0;
    for (const Shape& shape : kShapes) {
        for (const bool laidOut : {false, true}) {
            if (laidOut && !this->hasValues(shape)) continue;
            for (const bool scattered : {false, true}) {
                RopeTask task = this->task(shape, laidOut, scattered);
                ++(ropeVectorized(task) ? vectorized : plain);
                ASSERT_TRUE(runBody<TypeParam>(task));
                const std::vector<TypeParam> fromBody = this->fused, laidOutByBody = this->target;
                task = this->task(shape, laidOut, scattered);
                ASSERT_TRUE(applyRopeCpu(task).ok());
                ASSERT_TRUE(this->same(fromBody, this->fused)) << shape.headDim << " " << shape.rotaryDim;
                ASSERT_TRUE(this->same(laidOutByBody, this->target)) << shape.headDim << " " << shape.rotaryDim;
            }
        }
    }
    EXPECT_GE(vectorized, 10);
    EXPECT_GE(plain, 6);
}

TYPED_TEST(Rope, GpuGivesTheBitsOfTheReference) {
    const std::string problem = kernelsProblem();
    if (!problem.empty()) GTEST_SKIP() << "no CUDA device: " << problem;
    for (const Shape& shape : kShapes) {
        for (const bool laidOut : {false, true}) {
            if (laidOut && !this->hasValues(shape)) continue;
            for (const bool scattered : {false, true}) {
                const RopeTask task = this->task(shape, laidOut, scattered);
                RopeTask onGpu = task;
                DeviceBuffer fusedBuffer, targetBuffer, cosBuffer, sinBuffer, rowBuffer;
                const auto up = [](DeviceBuffer& buffer, const auto& values) {
                    const std::size_t bytes = values.size() * sizeof(values[0]);
                    return buffer.allocate(bytes).ok() && buffer.upload(values.data(), bytes).ok();
                };
                ASSERT_TRUE(up(fusedBuffer, this->fused) && up(cosBuffer, this->cos) && up(sinBuffer, this->sin) &&
                            up(rowBuffer, this->tableRows));
                ASSERT_TRUE(!laidOut || up(targetBuffer, this->target));
                // The same places in the GPU's copies.
                const auto moved = [&](const void* place) -> void* {
                    const auto within = [&](const std::vector<TypeParam>& from, const DeviceBuffer& to) -> void* {
                        const auto* first = from.data();
                        const auto* at = static_cast<const TypeParam*>(place);
                        if (std::less<>()(at, first) || !std::less<>()(at, first + from.size())) return nullptr;
                        return static_cast<TypeParam*>(to.data()) + (at - first);
                    };
                    void* found = within(this->fused, fusedBuffer);
                    return found || !laidOut ? found : within(this->target, targetBuffer);
                };
                for (RopeHeads* part : {&onGpu.q, &onGpu.k, &onGpu.v}) {
                    if (part->heads == 0) continue;
                    part->from = moved(part->from);
                    part->to = moved(part->to);
                }
                onGpu.cos = cosBuffer.data();
                onGpu.sin = sinBuffer.data();
                if (scattered) onGpu.tableRows = static_cast<std::int32_t*>(rowBuffer.data());
                const Status launched = applyRope(onGpu, nullptr);
                ASSERT_TRUE(launched.ok()) << launched.message();
                std::vector<TypeParam> fusedResult(this->fused.size()), targetResult(this->target.size());
                ASSERT_TRUE(fusedBuffer.download(fusedResult.data(), fusedResult.size() * sizeof(TypeParam)).ok());
                ASSERT_TRUE(!laidOut ||
                            targetBuffer.download(targetResult.data(), targetResult.size() * sizeof(TypeParam)).ok());
                ASSERT_TRUE(applyRopeCpu(task).ok());
                ASSERT_TRUE(this->same(fusedResult, this->fused)) << shape.headDim << " " << shape.rotaryDim;
                if (laidOut) {
                    ASSERT_TRUE(this->same(targetResult, this->target)) << shape.headDim << " " << shape.rotaryDim;
                }
            }
        }
    }
}

TEST(RopeTask, RefusesWhatCannotBeRotated) {
    float values[8] = {};
    const float tables[2] = {};
    RopeTask good;
    good.rows = 1;
    good.headDim = good.rotaryDim = 4;
    good.q = {values, 4, 1, values, 4, 4};
    good.cos = good.sin = tables;
    EXPECT_TRUE(checkTask(good).ok());
    const auto refused = [&](auto change) {
        RopeTask task = good;
        change(task);
        return !applyRopeCpu(task).ok();
    };
    EXPECT_TRUE(refused([](RopeTask& t) { t.rotaryDim = 3; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.rotaryDim = 6; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.rows = -1; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.k.heads = 1; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.v.heads = 1; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.cos = nullptr; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.firstTableRow = -1; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.rows = 2, t.q.rowStride = 3; }));
    EXPECT_TRUE(refused([](RopeTask& t) { t.rows = 2, t.q.toRowStride = 3; }));
}

}  // namespace
}  // namespace lpes::cuda
