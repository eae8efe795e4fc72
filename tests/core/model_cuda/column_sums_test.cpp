#include "core/model/cuda/column_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/model/cuda/column_sums_matrix.h"
#include "core/model/cuda/column_sums_plain.h"
#include "core/model/cuda/column_sums_plan.h"
#include "core/model/cuda/device_buffer.h"
#include "tests/core/model_cuda/arrays.h"
#include "tests/core/model_cuda/cpu_lane.h"

namespace lpes::cuda {
namespace {

struct Case {
    int heads, kvHeads, headDim;
    std::int64_t queries, keys, window;
    double softcap;
    bool layoutByRow;  ///< [N, H, D] seen as [H, N, D], as a fused projection leaves it
};

const Case kCases[] = {
    {1, 1, 8, 1, 1, 0, 0.0, false},        {2, 1, 64, 70, 70, 0, 0.0, false},   {4, 2, 64, 150, 150, 0, 0.0, true},
    {2, 2, 128, 130, 200, 0, 0.0, false},  {3, 1, 80, 5, 300, 0, 0.0, false},   {2, 1, 64, 190, 190, 40, 0.0, false},
    {2, 2, 16, 260, 261, 100, 5.0, false}, {1, 1, 128, 129, 129, 1, 0.0, true}, {2, 1, 64, 1, 97, 0, 3.0, false},
    {1, 1, 192, 66, 66, 0, 0.0, false},    {2, 1, 36, 77, 90, 33, 2.0, false},
};

/// A case's arrays and the task over them.
template <class T>
struct Arrays {
    explicit Arrays(const Case& c)
        : q(numbers<T>(size(c.heads, c.queries, c.headDim), 3)), k(numbers<T>(size(c.kvHeads, c.keys, c.headDim), 4)) {
        task.type = typeOf<T>();
        task.heads = c.heads;
        task.kvHeads = c.kvHeads;
        task.headDim = c.headDim;
        task.queries = c.queries;
        task.keys = c.keys;
        task.q = q.data();
        task.k = k.data();
        task.qHeadStride = c.layoutByRow ? c.headDim : c.queries * c.headDim;
        task.qRowStride = c.layoutByRow ? c.heads * c.headDim : c.headDim;
        task.kHeadStride = c.layoutByRow ? c.headDim : c.keys * c.headDim;
        task.kRowStride = c.layoutByRow ? c.kvHeads * c.headDim : c.headDim;
        task.scale = 3.0 / std::sqrt(c.headDim);  // sharper than usual, so that shares differ
        task.softcap = c.softcap;
        task.window = c.window;
        mean.resize(static_cast<std::size_t>(c.keys));
        perHead.resize(static_cast<std::size_t>(c.heads * c.keys));
        spans = {{0, 1}, {c.keys / 3, c.keys}, {c.keys / 2, c.keys / 2}};
        spanSums.resize(spans.size());
        task.spans = spans.data();
        task.numSpans = static_cast<int>(spans.size());
        task.mean = mean.data();
        task.perHead = perHead.data();
        task.spanSums = spanSums.data();
    }
    static std::size_t size(std::int64_t a, std::int64_t b, std::int64_t c) {
        return static_cast<std::size_t>(a * b * c);
    }

    std::vector<T> q, k;
    std::vector<KeySpan> spans;
    std::vector<double> mean, perHead, spanSums;
    ColumnSumsTask task;
};

/// The definition, in double: [H, S].
template <class T>
std::vector<double> definition(const ColumnSumsTask& t) {
    std::vector<double> sums(static_cast<std::size_t>(t.heads * t.keys));
    for (int h = 0; h < t.heads; ++h) {
        for (std::int64_t i = 0; i < t.queries; ++i) {
            std::vector<double> shares(static_cast<std::size_t>(t.keys));
            double total = 0.0;
            for (std::int64_t j = 0; j < t.keys; ++j) {
                const std::int64_t distance = t.keys - t.queries + i - j;
                if (distance < 0 || (t.window > 0 && distance >= t.window)) continue;
                double score = 0.0;
                for (int d = 0; d < t.headDim; ++d) {
                    score += static_cast<double>(
                                 toFloat(static_cast<const T*>(t.q)[h * t.qHeadStride + i * t.qRowStride + d])) *
                             static_cast<double>(toFloat(static_cast<const T*>(
                                 t.k)[h / (t.heads / t.kvHeads) * t.kHeadStride + j * t.kRowStride + d]));
                }
                score *= t.scale;
                if (t.softcap > 0.0) score = t.softcap * std::tanh(score / t.softcap);
                total += shares[static_cast<std::size_t>(j)] = std::exp(score);
            }
            for (std::int64_t j = 0; j < t.keys; ++j) {
                sums[static_cast<std::size_t>(h * t.keys + j)] += shares[static_cast<std::size_t>(j)] / total;
            }
        }
    }
    return sums;
}

void expectNear(const std::vector<double>& got, const std::vector<double>& expected, double relative) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], relative * std::abs(expected[i]) + 1e-9) << i;
    }
}

template <class T>
class ColumnSums : public ::testing::Test {};
using Types = ::testing::Types<float, BFloat16, Float16>;
TYPED_TEST_SUITE(ColumnSums, Types);

TYPED_TEST(ColumnSums, CpuFollowsTheDefinition) {
    for (const Case& c : kCases) {
        Arrays<TypeParam> arrays(c);
        ASSERT_TRUE(columnSumsCpu(arrays.task).ok());
        const std::vector<double> expected = definition<TypeParam>(arrays.task);
        expectNear(arrays.perHead, expected, 2e-5);
        for (std::int64_t j = 0; j < c.keys; ++j) {
            double mean = 0.0;
            for (int h = 0; h < c.heads; ++h) mean += expected[static_cast<std::size_t>(h * c.keys + j)] / c.heads;
            ASSERT_NEAR(arrays.mean[static_cast<std::size_t>(j)], mean, 2e-5 * mean + 1e-9);
        }
        for (std::size_t s = 0; s < arrays.spans.size(); ++s) {
            ASSERT_NEAR(arrays.spanSums[s],
                        std::accumulate(arrays.mean.begin() + arrays.spans[s].begin,
                                        arrays.mean.begin() + arrays.spans[s].end, 0.0),
                        1e-9);
        }
    }
}

TYPED_TEST(ColumnSums, EveryQueryGivesAwayOneInTotal) {
    for (const Case& c : kCases) {
        Arrays<TypeParam> arrays(c);
        arrays.task.perHead = nullptr;
        ASSERT_TRUE(columnSumsCpu(arrays.task).ok());
        EXPECT_NEAR(std::accumulate(arrays.mean.begin(), arrays.mean.end(), 0.0), static_cast<double>(c.queries),
                    1e-5 * static_cast<double>(c.queries));
    }
}

/// Both passes of a kernel, its blocks run on the CPU.
template <class T, class Body>
bool runPasses(const ColumnArguments& a, int threads, int rowsPerBlock, std::size_t shared, const Body& body) {
    for (const Pass pass : {Pass::LogSums, Pass::Columns}) {
        const std::int64_t rows = pass == Pass::LogSums ? a.queries : a.keys;
        for (int head = 0; head < a.heads; ++head) {
            for (std::int64_t block = 0; block < (rows + rowsPerBlock - 1) / rowsPerBlock; ++block) {
                CpuBlock cpu(threads, block, head, shared);
                if (!cpu.run([&](CpuBlock::Lane& lane) { body(lane, pass); })) return false;
            }
        }
    }
    return true;
}

template <class T, int steps>
bool runMatrix(const ColumnArguments& a) {
    return runPasses<T>(a, MatrixTiles::kThreads, MatrixTiles::kRows, matrixSharedBytes<T, steps>(),
                        [&](CpuBlock::Lane& lane, Pass pass) {
                            pass == Pass::LogSums ? matrixBlock<Pass::LogSums, T, steps>(lane, a)
                                                  : matrixBlock<Pass::Columns, T, steps>(lane, a);
                        });
}

TYPED_TEST(ColumnSums, MatrixKernelBodyFollowsTheDefinition) {
    if constexpr (sizeof(TypeParam) == 2) {
        int taken = 0;
        for (const Case& c : kCases) {
            Arrays<TypeParam> arrays(c);
            if (!fitsMatrixUnits(arrays.task)) continue;
            ++taken;
            std::vector<double> scratch(columnSumsScratchBytes(arrays.task) / sizeof(double) + 1);
            const ColumnArguments a = argumentsOf(arrays.task, scratch.data());
            ASSERT_TRUE(c.headDim <= 64    ? (runMatrix<TypeParam, 4>(a))
                        : c.headDim <= 128 ? (runMatrix<TypeParam, 8>(a))
                                           : (runMatrix<TypeParam, 16>(a)));
            expectNear(arrays.perHead, definition<TypeParam>(arrays.task), 2e-5);
        }
        EXPECT_GE(taken, 9);
    }
}

TYPED_TEST(ColumnSums, PlainKernelBodyFollowsTheDefinition) {
    for (const Case& c : kCases) {
        Arrays<TypeParam> arrays(c);
        std::vector<double> scratch(columnSumsScratchBytes(arrays.task) / sizeof(double) + 1);
        const ColumnArguments a = argumentsOf(arrays.task, scratch.data());
        ASSERT_TRUE((runPasses<TypeParam>(a, PlainTiles::kThreads, PlainTiles::kRows, PlainTiles::kSharedBytes,
                                          [&](CpuBlock::Lane& lane, Pass pass) {
                                              pass == Pass::LogSums ? plainBlock<Pass::LogSums, TypeParam>(lane, a)
                                                                    : plainBlock<Pass::Columns, TypeParam>(lane, a);
                                          })));
        expectNear(arrays.perHead, definition<TypeParam>(arrays.task), 2e-5);
    }
}

TYPED_TEST(ColumnSums, GpuAgreesWithTheReferenceAndWithItself) {
    const std::string problem = kernelsProblem();
    if (!problem.empty()) GTEST_SKIP() << "no CUDA device: " << problem;
    std::vector<Case> cases(std::begin(kCases), std::end(kCases));
    cases.push_back({4, 2, 64, 1500, 2011, 0, 0.0, true});
    cases.push_back({2, 1, 128, 1333, 1333, 500, 0.0, false});
    for (const Case& c : cases) {
        Arrays<TypeParam> arrays(c);
        DeviceBuffer q, k, spans, mean, perHead, spanSums, scratch;
        const auto up = [](DeviceBuffer& buffer, const auto& values) {
            const std::size_t bytes = values.size() * sizeof(values[0]);
            return buffer.allocate(bytes).ok() && buffer.upload(values.data(), bytes).ok();
        };
        ASSERT_TRUE(up(q, arrays.q) && up(k, arrays.k) && up(spans, arrays.spans) && up(mean, arrays.mean) &&
                    up(perHead, arrays.perHead) && up(spanSums, arrays.spanSums));
        ASSERT_TRUE(scratch.allocate(columnSumsScratchBytes(arrays.task)).ok());
        ColumnSumsTask task = arrays.task;
        task.q = q.data();
        task.k = k.data();
        task.spans = static_cast<KeySpan*>(spans.data());
        task.mean = static_cast<double*>(mean.data());
        task.spanSums = static_cast<double*>(spanSums.data());
        std::vector<double> first(arrays.perHead.size()), again(arrays.mean.size()), firstMean(arrays.mean.size()),
            sums(3);
        task.perHead = static_cast<double*>(perHead.data());
        Status status = columnSums(task, scratch.data(), nullptr);
        ASSERT_TRUE(status.ok()) << status.message();
        status = perHead.download(first.data(), first.size() * sizeof(double));
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_TRUE(mean.download(firstMean.data(), firstMean.size() * sizeof(double)).ok());
        ASSERT_TRUE(spanSums.download(sums.data(), sums.size() * sizeof(double)).ok());
        ASSERT_TRUE(columnSumsCpu(arrays.task).ok());
        expectNear(first, arrays.perHead, 1e-4);
        expectNear(firstMean, arrays.mean, 1e-4);
        expectNear(sums, arrays.spanSums, 1e-4);
        // The same bits again, also where nobody asks for the heads.
        task.perHead = nullptr;
        ASSERT_TRUE(columnSums(task, scratch.data(), nullptr).ok());
        ASSERT_TRUE(mean.download(again.data(), again.size() * sizeof(double)).ok());
        EXPECT_EQ(again, firstMean);
    }
}

TEST(ColumnSumsTask, RefusesWhatIsNoAttention) {
    const Arrays<float> arrays({4, 2, 8, 5, 7, 0, 0.0, false});
    EXPECT_TRUE(checkTask(arrays.task).ok());
    const auto refused = [&](auto change) {
        ColumnSumsTask task = arrays.task;
        change(task);
        return !columnSumsCpu(task).ok();
    };
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.kvHeads = 3; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.queries = 8; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.queries = 0; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.headDim = 0; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.window = -1; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.softcap = -1.0; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.scale = INFINITY; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.mean = nullptr; }));
    EXPECT_TRUE(refused([](ColumnSumsTask& t) { t.spanSums = nullptr; }));
}

}  // namespace
}  // namespace lpes::cuda
