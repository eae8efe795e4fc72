#include "core/model/torch/representation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/model/torch/representation_reference.h"

namespace lpes::model {
namespace {

class Representation : public testing::Test {
  protected:
    void SetUp() override { at::manual_seed(9); }
    static at::Tensor rotation(std::int64_t size) {
        return std::get<0>(at::linalg_qr(at::randn({size, size}, at::kDouble)));
    }
};

TEST_F(Representation, CkaIsOneForItselfRotatedScaledAndShifted) {
    for (const std::int64_t rows : {20, 200}) {  // Gram form and feature form
        const at::Tensor x = at::randn({rows, 64}, at::kDouble);
        EXPECT_NEAR(linearCka(x, x), 1.0, 1e-12);
        EXPECT_NEAR(linearCka(x, at::mm(x, rotation(64)) * 3.5 + 7.0), 1.0, 1e-12);
        EXPECT_LT(linearCka(x, at::randn({rows, 64}, at::kDouble)), 0.9);
    }
}

TEST_F(Representation, BothFormsOfCkaAreTheSameNumber) {
    const at::Tensor x = at::randn({60, 40}, at::kDouble), y = x + 0.3 * at::randn({60, 40}, at::kDouble);
    // Zero columns change nothing but make the Gram form the smaller one.
    const at::Tensor none = at::zeros({60, 40}, at::kDouble);
    EXPECT_NEAR(linearCka(x, y), linearCka(at::cat({x, none}, 1), at::cat({y, none}, 1)), 1e-12);
}

TEST_F(Representation, CkaMatchesItsDefinitionOnASmallCase) {
    // Centred columns: x = (−1, 0, 1), y = (−1, 1, 0). |yᵀx|² = 1, |xᵀx| = |yᵀy| = 2.
    const at::Tensor x = at::tensor({1.0, 2.0, 3.0}, at::kDouble).view({3, 1});
    const at::Tensor y = at::tensor({4.0, 6.0, 5.0}, at::kDouble).view({3, 1});
    EXPECT_NEAR(linearCka(x, y), 0.25, 1e-15);
}

TEST_F(Representation, CkaResolvesDeviationsOfOneInAHundredThousand) {
    const at::Tensor x = at::randn({150, 64});
    const at::Tensor near = x + 1e-3 * at::randn({150, 64});
    const double deviation = 1.0 - linearCka(x, near);
    EXPECT_GT(deviation, 1e-8);
    EXPECT_LT(deviation, 1e-5);
}

TEST_F(Representation, CkaOfConstantRowsIsDefined) {
    const at::Tensor constant = at::ones({5, 4}), varied = at::randn({5, 4});
    EXPECT_EQ(linearCka(constant, constant), 1.0);
    EXPECT_EQ(linearCka(constant, varied), 0.0);
}

/// Spearman by sorting, average ranks for ties.
double spearman(const at::Tensor& x, const at::Tensor& y) {
    const auto ranks = [](const at::Tensor& rows) {
        const at::Tensor unit = rows.to(at::kDouble) / rows.to(at::kDouble).norm(2, {1}, true);
        const at::Tensor distance = 1.0 - at::mm(unit, unit.t());
        std::vector<double> values;
        for (std::int64_t i = 0; i < rows.size(0); ++i) {
            for (std::int64_t j = i + 1; j < rows.size(0); ++j) values.push_back(distance[i][j].item<double>());
        }
        std::vector<std::size_t> order(values.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
        std::vector<double> result(values.size());
        for (std::size_t i = 0; i < order.size();) {
            std::size_t j = i;
            while (j < order.size() && values[order[j]] - values[order[i]] < 1e-9) ++j;
            for (std::size_t k = i; k < j; ++k) result[order[k]] = (static_cast<double>(i + j) + 1) / 2;
            i = j;
        }
        return result;
    };
    const auto a = ranks(x), b = ranks(y);
    const double mean = (static_cast<double>(a.size()) + 1) / 2;
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    return ab / std::sqrt(aa * bb);
}

TEST_F(Representation, RankCorrelationAgreesWithSorting) {
    const at::Tensor x = at::randn({60, 24}), y = x + 0.5 * at::randn({60, 24});
    EXPECT_NEAR(distanceRankCorrelation(x, y), spearman(x, y), 1e-4);
    EXPECT_NEAR(distanceRankCorrelation(x, x), 1.0, 1e-12);
    EXPECT_NEAR(distanceRankCorrelation(x, 3.0 * at::mm(x, rotation(24).to(at::kFloat))), 1.0, 1e-6);
}

TEST_F(Representation, RankCorrelationAveragesTies) {
    // Axis-parallel rows: distances are 0, 1 or 2, each many times over.
    const at::Tensor signs = at::randint(0, 2, {30, 1}) * 2 - 1;
    const at::Tensor x = at::eye(3).index_select(0, at::randint(0, 3, {30})) * signs;
    const at::Tensor y = at::eye(3).index_select(0, at::randint(0, 3, {30})) * signs;
    EXPECT_NEAR(distanceRankCorrelation(x, y), spearman(x, y), 1e-9);
}

TEST_F(Representation, RankCorrelationCrossesRowBlocks) {
    const at::Tensor x = at::randn({600, 8}), y = at::randn({600, 8});
    EXPECT_NEAR(distanceRankCorrelation(x, y), 0.0, 0.05);
    EXPECT_NEAR(distanceRankCorrelation(x, x), 1.0, 1e-12);
}

TEST_F(Representation, MeanCosineIsOneAndMinusOneAtTheEnds) {
    const at::Tensor x = at::randn({10, 8});
    EXPECT_NEAR(meanCosine(x, 2.0 * x), 1.0, 1e-12);
    EXPECT_NEAR(meanCosine(x, -x), -1.0, 1e-12);
}

TEST_F(Representation, AKeptReferenceGivesTheDeviationOfLinearCka) {
    for (const std::int64_t tokens : {40, 200}) {  // Gram form and feature form
        for (const double distance : {1e-3, 0.1, 3.0}) {
            const at::Tensor x = at::randn({tokens, 64}), y = x + distance * at::randn({tokens, 64});
            const at::Tensor rows = comparedRows(x);
            const double exact = 1.0 - linearCka(x.index_select(0, rows), y.index_select(0, rows));
            EXPECT_NEAR(KernelSide(x).deviation(y), exact, 1e-6) << tokens << " tokens, " << distance;
            EXPECT_NEAR(KernelSide(x).deviation(x), 0.0, 1e-12);
        }
    }
}

TEST_F(Representation, LeavesOutTokenZeroAndSinks) {
    at::Tensor hidden = at::ones({8, 4});
    hidden[3] *= 10.5;
    hidden[5] *= 10.0;  // not above ten times the median
    const at::Tensor rows = comparedRows(hidden);
    EXPECT_TRUE(at::equal(rows, at::tensor(std::vector<std::int64_t>{1, 2, 4, 5, 6, 7})));
}

}  // namespace
}  // namespace lpes::model
