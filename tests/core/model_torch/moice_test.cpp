// MoICE against its definition (methods.md §1.6): routers that mix one attention per base.
#include <cmath>

#include "core/base/random.h"
#include "tests/core/model_torch/method_bench.h"

namespace lpes::model {
namespace {

using test::answersDifference;
using test::decoded;
using test::decodingDifference;
using test::Definition;
using test::MethodBench;
using test::Row;
using test::Rows;
using test::textDifference;

const Row kFour = {10000.0, 400.0, 3000.0, 120000.0};

std::shared_ptr<rope::MoiceRouters> routers(const test::TinyModelSpec& spec, const Row& bases, int topK,
                                            bool silentW2 = false) {
    RandomStream random(11, kStreamTests, 500);
    auto made = std::make_shared<rope::MoiceRouters>();
    made->bases = bases;
    made->headDim = spec.headDim;
    made->topK = topK;
    const auto matrix = [&](std::size_t size, double deviation) {
        std::vector<float> values(size);
        for (float& value : values) value = static_cast<float>(deviation * random.normal());
        return values;
    };
    const std::size_t experts = bases.size(), width = experts * static_cast<std::size_t>(spec.headDim);
    for (int layer = 0; layer < spec.numLayers; ++layer) {
        const auto w1 = matrix(width, 0.3), w3 = matrix(width, 0.3), w2 = matrix(experts * experts, 1.0);
        made->layers.push_back({.w1 = w1, .w3 = w3, .w2 = silentW2 ? std::vector<float>(experts * experts, 0.0f) : w2});
    }
    return made;
}

PositionMethod moice(std::shared_ptr<const rope::MoiceRouters> made) {
    PositionMethod method;
    method.text = "moice:by fields";
    method.moice = std::move(made);
    return method;
}

Definition with(const MethodBench& bench, const rope::MoiceRouters& made) {
    Definition definition = bench.reference.plain();
    definition.moice = test::MoiceDefinition{made.bases, made.topK, made.layers};
    return definition;
}

TEST(Moice, IsItsDefinitionInPrefillBatchesAndDecoding) {
    for (const auto& spec : {test::groupedSpec(), test::ungroupedSpec()}) {
        const MethodBench bench(spec);
        const auto session = bench.session();
        for (const int topK : {4, 3, 1}) {
            const auto made = routers(spec, kFour, topK);
            const auto method = moice(made);
            const std::string what = "top" + std::to_string(topK) + "_" + std::to_string(spec.numKvHeads);
            const auto expected = [&](std::span<const TokenId> ids) {
                return bench.reference.logProbs(ids, with(bench, *made));
            };
            for (const int length : {64, 5, 1}) {
                const auto ids = test::randomIds(length, 3);
                test::expectWithin(test::kFloat32Bound, textDifference(*session, ids, method, expected(ids)),
                                   "text_" + what);
            }
            test::expectWithin(test::kFloat32Bound,
                               answersDifference(*session, test::unequalPrompts(64), method,
                                                 [&](std::span<const TokenId> ids, int) { return expected(ids); }),
                               "answers_" + what);
            const auto ids = test::randomIds(40, 4);
            const Rows rows = expected(ids);
            for (const std::size_t prompt : {std::size_t{1}, std::size_t{30}}) {
                test::expectWithin(test::kFloat32Bound, decodingDifference(*session, ids, prompt, method, rows),
                                   "decoding_" + what);
            }
        }
    }
}

TEST(Moice, InBfloat16KeepsCloseToItsDefinition) {
    const MethodBench bench(test::groupedSpec(), ComputeType::BFloat16);
    const auto ids = test::randomIds(64, 3);
    for (const int topK : {4, 3}) {
        const auto made = routers(bench.tiny.spec, kFour, topK);
        test::expectWithin(
            test::kBFloat16Bound,
            textDifference(*bench.session(), ids, moice(made), bench.reference.logProbs(ids, with(bench, *made))),
            "bfloat16_top" + std::to_string(topK));
    }
}

TEST(Moice, TheTestsTellItsExpertsApart) {
    const MethodBench bench(test::groupedSpec());
    const auto ids = test::randomIds(64, 3);
    std::vector<Rows> all = {bench.reference.logProbs(ids, bench.reference.plain())};
    for (const int topK : {4, 3, 1}) {
        all.push_back(bench.reference.logProbs(ids, with(bench, *routers(bench.tiny.spec, kFour, topK))));
    }
    all.push_back(bench.reference.logProbs(ids, with(bench, *routers(bench.tiny.spec, kFour, 4, true))));
    Row otherFirst = kFour;
    std::swap(otherFirst[0], otherFirst[1]);
    all.push_back(bench.reference.logProbs(ids, with(bench, *routers(bench.tiny.spec, otherFirst, 4))));
    for (std::size_t a = 0; a < all.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            double largest = 0.0;
            for (std::size_t i = 0; i < all[a].back().size(); ++i) {
                test::widen(largest, std::abs(all[a].back()[i] - all[b].back()[i]));
            }
            EXPECT_GT(largest, 1e-2) << a << " " << b;
        }
    }
}

TEST(Moice, ReadFromAFileIsTheSameAndTakesItsTopKFromTheSpelling) {
    const MethodBench bench(test::groupedSpec());
    const rope::MethodFiles files{
        .profile = {},
        .longRope = {},
        .routers = [&](const std::string&) -> Result<std::shared_ptr<const rope::MoiceRouters>> {
            return std::shared_ptr<const rope::MoiceRouters>(routers(bench.tiny.spec, kFour, 4));
        }};
    EXPECT_TRUE(rope::samePositions(bench.resolve("moice:file", files), moice(routers(bench.tiny.spec, kFour, 4))));
    const auto three = bench.resolve("moice:file,top_k=3", files);
    EXPECT_EQ(three.moice->topK, 3);
    const auto ids = test::randomIds(50, 5);
    test::expectWithin(test::kFloat32Bound,
                       textDifference(*bench.session(), ids, three,
                                      bench.reference.logProbs(ids, with(bench, *routers(bench.tiny.spec, kFour, 3)))),
                       "resolved_top3");
}

TEST(Moice, WithASilentLastMatrixIsTheMeanOfItsExperts) {
    const MethodBench bench(test::groupedSpec());
    const auto ids = test::randomIds(50, 5);
    const auto made = routers(bench.tiny.spec, kFour, 4, /*silentW2=*/true);
    test::expectWithin(
        test::kFloat32Bound,
        textDifference(*bench.session(), ids, moice(made), bench.reference.logProbs(ids, with(bench, *made))),
        "uniform");
    // Whatever the matrices before it say.
    auto other = std::make_shared<rope::MoiceRouters>(*made);
    for (auto& layer : other->layers) layer.w1.assign(layer.w1.size(), 0.5f);
    EXPECT_EQ(test::need(bench.session()->scoreText(ids, moice(made), 1)).logProbs,
              test::need(bench.session()->scoreText(ids, moice(other), 1)).logProbs);
}

TEST(Moice, WithEqualBasesGivesTheBaselinesBits) {
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const MethodBench bench(test::groupedSpec(), type);
        const auto session = bench.session();
        const auto ids = test::randomIds(60, 6);
        const auto batch = test::unequalPrompts(60);
        const auto text = test::need(session->scoreText(ids, {}, 1));
        const auto answers = test::need(session->scoreAnswers(batch, {}));
        for (const int topK : {4, 3, 1}) {
            const auto method = moice(routers(bench.tiny.spec, Row(4, 10000.0), topK));
            EXPECT_EQ(test::need(session->scoreText(ids, method, 1)).logProbs, text.logProbs) << topK;
            const auto found = test::need(session->scoreAnswers(batch, method));
            for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(found[i].logProbs, answers[i].logProbs) << topK;
            EXPECT_EQ(decoded(*session, ids, 50, method), decoded(*session, ids, 50, {})) << topK;
        }
    }
}

TEST(Moice, RefusesMeasurementsOfOneAttentionByName) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(20, 7);
    const auto method = moice(routers(bench.tiny.spec, kFour, 4));
    const auto refused = [](const auto& result) {
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
        EXPECT_NE(result.error().message.find("moice"), std::string::npos) << result.error().message;
    };
    refused(session->attentionOfLastToken(ids, std::vector{TokenSpan{0, 3}}, method));
    refused(session->compareRepresentations(ids, {}, method));
    refused(session->compareRepresentations(ids, method, {}));
    refused(session->referenceRepresentation(ids, method));
    refused(session->probePrompts(std::vector{ProbedPrompt{ids, {}, {}}}, method));
}

TEST(Moice, WithOneExpertHasOneAttentionToMeasure) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(20, 7);
    const std::vector spans{TokenSpan{0, 3}, TokenSpan{3, 20}};
    const auto one = moice(routers(bench.tiny.spec, {10000.0}, 1));
    const auto found = test::need(session->attentionOfLastToken(ids, spans, one)),
               expected = test::need(session->attentionOfLastToken(ids, spans, {}));
    EXPECT_EQ(found.shareByLayer, expected.shareByLayer);
    EXPECT_EQ(found.sinkByLayer, expected.sinkByLayer);
}

TEST(Moice, RefusesRoutersOfAnotherShape) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(20, 7);
    const auto refused = [&](const std::function<void(rope::MoiceRouters&)>& spoil) {
        const auto made = routers(bench.tiny.spec, kFour, 4);
        spoil(*made);
        const auto result = session->scoreText(ids, moice(made), 1);
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().code, ErrorCode::BadInput) << result.error().text();
    };
    refused([](auto& made) { made.layers.pop_back(); });
    refused([](auto& made) { made.layers[1].w1.pop_back(); });
    refused([](auto& made) { made.layers[1].w2.push_back(0.0f); });
    refused([](auto& made) { made.topK = 0; });
    refused([](auto& made) { made.topK = 5; });
    refused([](auto& made) { made.headDim = 8; });
    refused([](auto& made) { made.bases.pop_back(); });
    refused([](auto& made) { made.layers[2].w3[0] = NAN; });
}

}  // namespace
}  // namespace lpes::model
