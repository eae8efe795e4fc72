// Reading back what a session applies, and what it refuses to apply.
#include <limits>

#include "core/model/torch/torch_session.h"
#include "tests/core/model_torch/every_method.h"

namespace lpes::model {
namespace {

using test::everyMethod;
using test::MethodBench;
using test::need;

TEST(MethodChecks, EveryMethodIsVerifiedUpToItsLastPosition) {
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const MethodBench bench(test::groupedSpec(), type);
        const auto session = bench.session();
        for (const PositionMethod& method : everyMethod(bench)) {
            const int context = rope::contextLength(method, methodModel(bench.model->config()));
            for (const int last : {context - 1, 20, 0}) {
                const auto check = need(session->verifyApplied(method, last));
                EXPECT_TRUE(check.verified) << method.text << " " << check.maxAbsError;
                EXPECT_EQ(check.probedPositions.back(), last);
            }
            EXPECT_FALSE(session->verifyApplied(method, context).has_value()) << method.text;
        }
    }
}

/// A session whose tables are of another base than its model by now.
class StaleSession {
  public:
    explicit StaleSession(const MethodBench& bench) : m_weights(std::make_shared<test::MemoryWeights>(bench.tiny)) {
        m_model->config = m_weights->config();
        NullObserver nobody;
        m_model->weights = need(loadDecoderWeights(
            m_weights, ComputeType::Float32, Residency::Dequantised,
            std::vector<at::Device>(static_cast<std::size_t>(m_model->config.numLayers), at::kCPU), nobody, {}));
        session = std::make_unique<TorchSession>(m_model, 1);
    }
    void age(double base) { m_model->config.rope.theta = base; }

    std::unique_ptr<TorchSession> session;

  private:
    std::shared_ptr<test::MemoryWeights> m_weights;
    std::shared_ptr<LoadedModel> m_model = std::make_shared<LoadedModel>();
};

TEST(MethodChecks, AWrongTableIsFoundUnderEveryMethod) {
    const MethodBench bench(test::groupedSpec());
    for (PositionMethod method : everyMethod(bench)) {
        // These bring bases of their own; their experts and paths are verified against these above.
        if (method.buckets || method.moice || method.rope) continue;
        StaleSession stale(bench);
        ASSERT_TRUE(need(stale.session->verifyApplied(method, 63)).verified) << method.text;
        stale.age(10001.0);
        const auto check = need(stale.session->verifyApplied(method, 63));
        EXPECT_FALSE(check.verified) << method.text;
        EXPECT_GT(check.maxAbsError, 1e-6) << method.text;
        EXPECT_GE(check.worstLayer, 0) << method.text;
    }
}

TEST(MethodChecks, TablesOfTheFirstHeadAndPathReadBackAsDefined) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    for (const PositionMethod& method : everyMethod(bench)) {
        const auto table = need(session->readBackTable(1, method, 10, 20));
        test::Row frequencies = test::baseFrequencies(10000.0, 16);
        double scale = 1.0, amplitude = 1.0;
        if (method.text == "pi:1.5") scale = 1.5;
        if (method.text.starts_with("ntk")) {
            frequencies = test::baseFrequencies(10000.0 * std::pow(2.0, 16.0 / 14.0), 16);
        }
        if (method.text.starts_with("yarn")) {
            frequencies = test::yarnFrequencies(10000.0, 16, 2.0, test::kContext);
            amplitude = 0.1 * std::log(2.0) + 1.0;
        }
        if (method.text.find("lpes:layers") != std::string::npos) scale = 0.7;
        if (method.text.find("lpes:heads") != std::string::npos) scale = 2.2;
        if (method.text.starts_with("longrope")) {
            const test::Row factors = {1.0, 1.1, 1.25, 1.6, 2.0, 2.4, 3.1, 4.0};
            for (std::size_t i = 0; i < 8; ++i) frequencies[i] /= factors[i];
        }
        if (method.msPoe) continue;  // its ratios are the prompt's
        for (int row = 0; row < 20; ++row) {
            for (std::size_t i = 0; i < 8; ++i) {
                const double angle = (10.0 + row) / scale * frequencies[i];
                const std::size_t at = static_cast<std::size_t>(row) * 8 + i;
                EXPECT_NEAR(table.cos[at], amplitude * std::cos(angle), 1e-6) << method.text;
                EXPECT_NEAR(table.sin[at], amplitude * std::sin(angle), 1e-6) << method.text;
            }
        }
    }
}

TEST(MethodChecks, WhatDoesNotFitIsRefusedAndLeavesTheMethodInForce) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(12, 1);
    ASSERT_TRUE(session->setMethod(LayerScales{1.5, 1.0, 1.0}).has_value());
    need(session->advance(ids));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto refused = [&](ErrorCode code, const std::function<void(PositionMethod&)>& make) {
        PositionMethod method;
        make(method);
        const auto set = session->setMethod(method);
        ASSERT_FALSE(set.has_value());
        EXPECT_EQ(set.error().code, code) << set.error().text();
        EXPECT_FALSE(session->scoreText(ids, method, 1).has_value());
        EXPECT_FALSE(session->verifyApplied(method, 5).has_value());
        EXPECT_EQ(session->cachedTokens(), 12);
        EXPECT_EQ(session->currentMethod().scales, (LayerScales{1.5, 1.0, 1.0}));
    };
    using enum ErrorCode;
    refused(BadInput, [](auto& m) { m.scales = {1.0}; });
    refused(BadInput, [&](auto& m) { m.scales = {1.0, nan, 1.0}; });
    refused(BadInput, [](auto& m) { m.headScales = {{1.0, 1.0}, {1.0, 1.0}}; });
    refused(BadInput, [](auto& m) { m.headScales = {{1.0, 1.0}, {1.0}, {1.0, 1.0}}; });
    refused(BadInput, [](auto& m) { m.headScales = {{1.0, 1.0}, {1.0, 0.0}, {1.0, 1.0}}; });
    refused(BadInput, [](auto& m) { m.divisors = {std::vector<double>(8, 1.0)}; });
    refused(BadInput, [](auto& m) { m.divisors.assign(3, std::vector<double>(7, 1.0)); });
    refused(BadInput, [&](auto& m) { m.divisors.assign(3, std::vector<double>(8, nan)); });
    const rope::MsPoe msPoe{.ratios = {1.2, 1.4, 1.6, 1.8}, .firstLayer = 0, .lastLayer = 2};
    const auto withMsPoe = [&](const std::function<void(rope::MsPoe&)>& spoil) {
        return [&msPoe, spoil](PositionMethod& method) {
            method.msPoe = msPoe;
            spoil(*method.msPoe);
        };
    };
    refused(BadInput, withMsPoe([](auto& m) { m.ratios.pop_back(); }));
    refused(BadInput, withMsPoe([&](auto& m) { m.ratios[1] = nan; }));
    refused(BadInput, withMsPoe([](auto& m) { m.lastLayer = 3; }));
    refused(BadInput, withMsPoe([](auto& m) { m.firstLayer = -1; }));
    refused(BadInput, withMsPoe([](auto& m) { m.groupRatio = rope::MethodPart::GroupRatio::Mean; }));
    refused(BadInput, [](auto& m) { m.buckets = rope::AttentionBuckets{}; });
    refused(BadInput, [&](auto& m) { m.buckets = rope::AttentionBuckets{{10000.0, nan}}; });
    refused(Unsupported, [&](auto& m) {
        m.msPoe = msPoe;
        m.buckets = rope::AttentionBuckets{{10000.0}};
    });
    // Scales beside these would have no effect.
    refused(Unsupported, [&](auto& m) {
        m.msPoe = msPoe;
        m.scales = {1.5, 1.0, 1.0};
    });
    refused(Unsupported, [&](auto& m) {
        m.msPoe = msPoe;
        m.headScales = {{1.5, 1.0}, {1.0, 1.0}, {1.0, 1.0}};
    });
    for (const PositionMethod& method : everyMethod(bench)) {
        if (!method.moice) continue;
        refused(Unsupported, [&](auto& m) {
            m.moice = method.moice;
            m.scales = {1.5, 1.0, 1.0};
        });
    }
    EXPECT_TRUE(session->advance(test::randomIds(1, 2)).has_value());
}

}  // namespace
}  // namespace lpes::model
