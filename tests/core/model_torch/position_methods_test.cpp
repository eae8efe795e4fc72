// Methods that are one table per layer and head, against the reference written out from their definitions.
#include <cmath>

#include "core/rope/rivals.h"
#include "tests/core/model_torch/method_bench.h"

namespace lpes::model {
namespace {

using test::answersDifference;
using test::baseFrequencies;
using test::decodingDifference;
using test::Definition;
using test::MethodBench;
using test::Row;
using test::Rows;
using test::textDifference;
using test::TinyModelSpec;

const Row kLayerScales = {1.3, 0.7, 1.9};
const Row kEvenScales = {1.5, 1.5, 1.5};
const Rows kHeadScales = {{1.0, 1.6}, {2.2, 0.6}, {0.9, 1.1}};
const Row kOneFactorRow = {1.0, 1.1, 1.25, 1.6, 2.0, 2.4, 3.1, 4.0};
const Rows kFactorRows = {kOneFactorRow, {1, 1, 1, 1, 1, 1, 1, 1}, {0.5, 0.7, 0.9, 1.0, 1.5, 1.5, 2.0, 8.0}};

rope::MethodFiles files() {
    return {.profile = [](const std::string& path) -> Result<rope::ProfileScales> {
                if (path == "layers") return rope::ProfileScales{kLayerScales, {}, {}};
                if (path == "heads") return rope::ProfileScales{{}, kHeadScales, {}};
                return rope::ProfileScales{{}, {}, kFactorRows};
            },
            .longRope = [](const std::string& path) -> Result<Rows> {
                return path == "one" ? Rows{kOneFactorRow} : kFactorRows;
            },
            .routers = {}};
}

struct Case {
    std::string method;
    int longest;  ///< tokens
    std::function<void(Definition&, int length)> change;
    TinyModelSpec spec = test::groupedSpec();
};

void setFrequencies(Definition& definition, const Row& frequencies) {
    for (auto& layer : definition.layers) layer.frequencies = frequencies;
}

void scale(Definition& definition, const Row& byLayer) {
    for (std::size_t layer = 0; layer < byLayer.size(); ++layer) {
        for (double& value : definition.layers[layer].scales) value *= byLayer[layer];
    }
}

void scaleHeads(Definition& definition, const Rows& byHead) {
    for (std::size_t layer = 0; layer < byHead.size(); ++layer) {
        for (std::size_t head = 0; head < byHead[layer].size(); ++head) {
            definition.layers[layer].scales[head] *= byHead[layer][head];
        }
    }
}

void divide(Definition& definition, const Rows& factors) {
    for (std::size_t layer = 0; layer < definition.layers.size(); ++layer) {
        const Row& row = factors[factors.size() > 1 ? layer : 0];
        for (std::size_t i = 0; i < row.size(); ++i) definition.layers[layer].frequencies[i] /= row[i];
    }
}

void dynamicNtk(Definition& definition, double factor, int length) {
    const double ratio = length > test::kContext ? factor * length / test::kContext - (factor - 1.0) : 1.0;
    setFrequencies(definition, baseFrequencies(10000.0 * std::pow(ratio, 16.0 / 14.0), 16));
}

void yarn(Definition& definition, double factor) {
    setFrequencies(definition, test::yarnFrequencies(10000.0, 16, factor, test::kContext));
    definition.amplitude = 0.1 * std::log(factor) + 1.0;
}

const double kNtk2 = 10000.0 * std::pow(2.0, 16.0 / 14.0);

std::vector<Case> cases() {
    TinyModelSpec linear = test::groupedSpec();
    linear.linearFactor = 2.0;
    return {
        {"baseline", 64, [](Definition&, int) {}},
        {"baseline", 64, [](Definition&, int) {}, test::ungroupedSpec()},
        {"baseline", 64, [](Definition&, int) {}, linear},
        {"pi:1.5", 96, [](Definition& d, int) { scale(d, kEvenScales); }},
        {"pi:1.5", 96, [](Definition& d, int) { scale(d, kEvenScales); }, test::ungroupedSpec()},
        {"ntk:2", 128, [](Definition& d, int) { setFrequencies(d, baseFrequencies(kNtk2, 16)); }},
        {"ntk:2", 128,
         [](Definition& d, int) {
             setFrequencies(d, baseFrequencies(kNtk2, 16));
             divide(d, {Row(8, 2.0)});
         },
         linear},
        {"dynamic-ntk:2", 64, [](Definition& d, int length) { dynamicNtk(d, 2.0, length); }},
        {"dynamic-ntk:2", 120, [](Definition& d, int length) { dynamicNtk(d, 2.0, length); }},
        {"dynamic-ntk:2", 120, [](Definition& d, int length) { dynamicNtk(d, 2.0, length); }, test::ungroupedSpec()},
        {"yarn:4", 200, [](Definition& d, int) { yarn(d, 4.0); }},
        {"yarn:4", 200, [](Definition& d, int) { yarn(d, 4.0); }, test::ungroupedSpec()},
        {"uniform:1.5", 64, [](Definition& d, int) { scale(d, kEvenScales); }},
        {"lpes:layers", 64, [](Definition& d, int) { scale(d, kLayerScales); }},
        {"lpes:layers", 64, [](Definition& d, int) { scale(d, kLayerScales); }, linear},
        {"lpes:heads", 64, [](Definition& d, int) { scaleHeads(d, kHeadScales); }},
        {"lpes:bands", 64, [](Definition& d, int) { divide(d, kFactorRows); }},
        {"longrope:one", 64, [](Definition& d, int) { divide(d, {kOneFactorRow}); }},
        {"longrope:rows", 64, [](Definition& d, int) { divide(d, kFactorRows); }, test::ungroupedSpec()},
        {"yarn:2+lpes:layers", 128,
         [](Definition& d, int) {
             yarn(d, 2.0);
             scale(d, kLayerScales);
         }},
        {"ntk:2+lpes:heads+pi:1.5", 128,
         [](Definition& d, int) {
             setFrequencies(d, baseFrequencies(kNtk2, 16));
             scale(d, kEvenScales);
             scaleHeads(d, kHeadScales);
         }},
        {"longrope:rows+lpes:layers", 64,
         [](Definition& d, int) {
             divide(d, kFactorRows);
             scale(d, kLayerScales);
         }},
        {"dynamic-ntk:2+lpes:layers", 120,
         [](Definition& d, int length) {
             dynamicNtk(d, 2.0, length);
             scale(d, kLayerScales);
         }},
    };
}

TEST(PositionMethods, AreTheirDefinitionsInEveryWayToRunThem) {
    for (const Case& each : cases()) {
        const MethodBench bench(each.spec);
        const auto method = bench.resolve(each.method, files());
        const auto session = bench.session();
        const auto defined = [&](std::size_t length) {
            Definition definition = bench.reference.plain();
            each.change(definition, static_cast<int>(length));
            return definition;
        };
        const std::string what = each.method + "_" + std::to_string(each.longest) + "_" +
                                 std::to_string(each.spec.numKvHeads) + "_" + std::to_string(each.spec.linearFactor);
        for (const int length : {each.longest, each.longest / 3}) {
            const auto ids = test::randomIds(length, 3);
            test::expectWithin(
                test::kFloat32Bound,
                textDifference(*session, ids, method, bench.reference.logProbs(ids, defined(ids.size()))),
                "text_" + what);
        }
        test::expectWithin(test::kFloat32Bound,
                           answersDifference(*session, test::unequalPrompts(each.longest), method,
                                             [&](std::span<const TokenId> ids, int) {
                                                 return bench.reference.logProbs(ids, defined(ids.size()));
                                             }),
                           "answers_" + what);
        const auto ids = test::randomIds(each.longest, 4);
        Rows expected = bench.reference.logProbs(ids, defined(ids.size()));
        if (each.method.starts_with("dynamic")) {  // earlier tokens are rotated anew when the sequence grows
            for (std::size_t length = ids.size() - 8; length < ids.size(); ++length) {
                const auto soFar = std::span(ids).first(length);
                expected[length - 1] = bench.reference.logProbs(soFar, defined(length)).back();
            }
        }
        test::expectWithin(test::kFloat32Bound, decodingDifference(*session, ids, ids.size() - 8, method, expected),
                           "decoding_" + what);
    }
}

TEST(PositionMethods, InBfloat16AreTheirDefinitionsWithinItsRounding) {
    for (const Case& each : cases()) {
        const MethodBench bench(each.spec, ComputeType::BFloat16);
        Definition definition = bench.reference.plain();
        each.change(definition, each.longest);
        const auto ids = test::randomIds(each.longest, 3);
        const auto method = bench.resolve(each.method, files());
        test::expectWithin(test::kBFloat16Bound,
                           textDifference(*bench.session(), ids, method, bench.reference.logProbs(ids, definition)),
                           "bfloat16_" + each.method + "_" + std::to_string(each.longest));
    }
}

TEST(PositionMethods, SetByTheirFieldsAreTheSame) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto expect = [&](const PositionMethod& method, const Definition& definition, int length, const char* what) {
        const auto ids = test::randomIds(length, 5);
        test::expectWithin(test::kFloat32Bound,
                           textDifference(*session, ids, method, bench.reference.logProbs(ids, definition)), what);
    };
    PositionMethod method;
    Definition definition = bench.reference.plain();
    method.scales = kLayerScales;
    method.headScales = kHeadScales;
    method.divisors = kFactorRows;
    scale(definition, kLayerScales);
    scaleHeads(definition, kHeadScales);
    divide(definition, kFactorRows);
    expect(method, definition, 64, "fields_all_scales");

    method = {};
    method.rope = bench.model->config().rope;
    method.rope->type = rope::RopeConfig::Type::Yarn;
    method.rope->factor = 2.0;
    method.rope->originalContext = test::kContext;
    method.rope->attentionFactor = 1.3;
    method.contextFactor = 2.0;
    definition = bench.reference.plain();
    yarn(definition, 2.0);
    definition.amplitude = 1.3;
    expect(method, definition, 128, "fields_yarn_with_an_attention_factor_of_its_own");
    method.divisors = {kOneFactorRow, kOneFactorRow, kOneFactorRow};
    divide(definition, {kOneFactorRow});
    expect(method, definition, 128, "fields_yarn_divided");
}

TEST(PositionMethods, ThatChangeNothingGiveTheBaselinesBits) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(60, 6);
    const auto batch = test::unequalPrompts(60);
    const auto baseline = test::need(session->scoreText(ids, {}, 5));
    const auto baselineAnswers = test::need(session->scoreAnswers(batch, {}));
    std::vector<PositionMethod> same = {PositionMethod{1.0, 1.0, 1.0}};
    for (const char* text : {"pi:1", "uniform:1", "ntk:1", "dynamic-ntk:1", "dynamic-ntk:4", "yarn:1"}) {
        same.push_back(bench.resolve(text));
    }
    same.emplace_back().headScales = {{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}};
    same.emplace_back().divisors = Rows(3, Row(8, 1.0));
    for (const PositionMethod& method : same) {
        const auto score = test::need(session->scoreText(ids, method, 5));
        EXPECT_EQ(score.logProbs, baseline.logProbs) << method.text << " " << &method - same.data();
        const auto answers = test::need(session->scoreAnswers(batch, method));
        for (std::size_t i = 0; i < batch.size(); ++i) {
            EXPECT_EQ(answers[i].logProbs, baselineAnswers[i].logProbs) << method.text << " " << &method - same.data();
        }
    }
}

TEST(PositionMethods, HaveTheCheckValuesOfTheirDefinitions) {
    // methods.md §1.2 and §1.3, for heads of 128.
    EXPECT_NEAR(10000.0 * std::pow(2.0, 128.0 / 126.0), 20221.2617, 1e-4);
    EXPECT_NEAR(rope::ntkBase(10000.0, 2.0, 128), 20221.2617, 1e-4);
    EXPECT_NEAR(rope::ntkBase(10000.0, 4.0, 128), 40889.9424, 1e-4);
    for (const auto& [base, context, low, high] : {std::tuple{1e4, 4096, 20, 46}, std::tuple{1e6, 32768, 23, 40}}) {
        rope::RopeConfig config;
        config.type = rope::RopeConfig::Type::Yarn;
        config.theta = base;
        config.factor = 4.0;
        config.headDim = 128;
        config.originalContext = context;
        const auto found = rope::inverseFrequencies(config, 1);
        const Row plain = baseFrequencies(base, 128), expected = test::yarnFrequencies(base, 128, 4.0, context);
        for (std::size_t i = 0; i < 64; ++i) {
            EXPECT_NEAR(found[i] / expected[i], 1.0, 1e-12) << i;
            EXPECT_EQ(found[i]<plain[i] * (1.0 - 1e-9), static_cast<int>(i)> low) << i;
            EXPECT_EQ(found[i] > plain[i] / 4.0 * (1.0 + 1e-9), static_cast<int>(i) < high) << i;
        }
    }
}

}  // namespace
}  // namespace lpes::model
