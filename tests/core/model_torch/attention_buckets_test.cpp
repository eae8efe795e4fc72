// Attention Buckets against its definition (methods.md §1.4): a path per base, combined by their largest logits.
#include <cmath>

#include "core/rope/rivals.h"
#include "tests/core/model_torch/method_bench.h"

namespace lpes::model {
namespace {

using test::answersDifference;
using test::decoded;
using test::decodingDifference;
using test::MethodBench;
using test::nextDifference;
using test::Row;
using test::Rows;
using test::textDifference;

PositionMethod buckets(const Row& bases, bool probabilities = false) {
    PositionMethod method;
    method.text = "by fields";
    method.buckets = rope::AttentionBuckets{
        bases, probabilities ? rope::MethodPart::Combine::Probabilities : rope::MethodPart::Combine::Logits};
    return method;
}

const Row kThree = {10000.0, 400.0, 120000.0};

TEST(AttentionBuckets, IsItsDefinitionInPrefillBatchesAndDecoding) {
    for (const auto& spec : {test::groupedSpec(), test::ungroupedSpec()}) {
        const MethodBench bench(spec);
        const auto session = bench.session();
        for (const bool probabilities : {false, true}) {
            for (const Row& bases : {kThree, Row{10000, 13000, 16000, 19000, 22000, 25000, 28000}}) {
                const auto method = buckets(bases, probabilities);
                const std::string what = std::to_string(bases.size()) + (probabilities ? "_probs_" : "_logits_") +
                                         std::to_string(spec.numKvHeads);
                const auto expected = [&](std::span<const TokenId> ids) {
                    return bench.reference.bucketLogProbs(ids, bases, probabilities);
                };
                for (const int length : {64, 5}) {
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
}

TEST(AttentionBuckets, SpelledOutIsTheSameAsSetByFields) {
    const MethodBench bench(test::groupedSpec());
    EXPECT_TRUE(rope::samePositions(bench.resolve("attention-buckets:bases=10000/400/120000,combine=probs"),
                                    buckets(kThree, true)));
    EXPECT_TRUE(rope::samePositions(bench.resolve("attention-buckets:bases=10000/400/120000"), buckets(kThree)));
    EXPECT_TRUE(rope::samePositions(bench.resolve("attention-buckets"),
                                    buckets({10000, 13000, 16000, 19000, 22000, 25000, 28000})));
}

TEST(AttentionBuckets, InBfloat16KeepsCloseToItsDefinition) {
    const MethodBench bench(test::groupedSpec(), ComputeType::BFloat16);
    const auto ids = test::randomIds(64, 3);
    for (const bool probabilities : {false, true}) {
        test::expectWithin(test::kBFloat16Bound,
                           textDifference(*bench.session(), ids, buckets(kThree, probabilities),
                                          bench.reference.bucketLogProbs(ids, kThree, probabilities)),
                           probabilities ? "bfloat16_probs" : "bfloat16_logits");
    }
}

TEST(AttentionBuckets, TheTestsTellItsCombinationsApart) {
    const MethodBench bench(test::groupedSpec());
    const auto ids = test::randomIds(64, 3);
    const Rows logits = bench.reference.bucketLogProbs(ids, kThree, false),
               probabilities = bench.reference.bucketLogProbs(ids, kThree, true),
               first = bench.reference.logProbs(ids, bench.reference.plain());
    double combinations = 0.0, methods = 0.0;
    for (std::size_t i = 0; i < logits.back().size(); ++i) {
        test::widen(combinations, std::abs(logits.back()[i] - probabilities.back()[i]));
        test::widen(methods, std::abs(logits.back()[i] - first.back()[i]));
    }
    EXPECT_GT(combinations, 1e-2);
    EXPECT_GT(methods, 1e-2);
}

TEST(AttentionBuckets, WeighPathsByTheirLargestLogit) {
    // The test vector of methods.md §1.4.
    const Row weights = rope::bucketWeights(Row{10.0, 12.0});
    EXPECT_NEAR(weights[0], 0.119203, 1e-6);
    EXPECT_NEAR(weights[1], 0.880797, 1e-6);
    const Row combined = test::combinedPaths({{10.0, 9.0, 0.0}, {12.0, 1.0, 11.5}}, false);
    const Row expected = test::logSoftmax({11.761594, 1.953624, 10.129166});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(combined[i], expected[i], 1e-5);
}

TEST(AttentionBuckets, WithOnePathGiveTheBaselinesBitsAndWithEqualBasesItsResult) {
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const MethodBench bench(test::groupedSpec(), type);
        const auto session = bench.session();
        const auto ids = test::randomIds(60, 5);
        const auto batch = test::unequalPrompts(60);
        const auto text = test::need(session->scoreText(ids, {}, 1));
        const auto answers = test::need(session->scoreAnswers(batch, {}));
        const auto generated = decoded(*session, ids, 50, {});
        for (const bool probabilities : {false, true}) {
            for (const std::size_t paths : {1u, 3u}) {
                const auto method = buckets(Row(paths, 10000.0), probabilities);
                const auto foundText = test::need(session->scoreText(ids, method, 1));
                const auto foundAnswers = test::need(session->scoreAnswers(batch, method));
                const auto foundGenerated = decoded(*session, ids, 50, method);
                double largest = 0.0;
                for (std::size_t i = 0; i < text.logProbs.size(); ++i) {
                    test::widen(largest, std::abs(foundText.logProbs[i] - text.logProbs[i]));
                }
                for (std::size_t item = 0; item < batch.size(); ++item) {
                    for (std::size_t i = 0; i < batch[item].answer.size(); ++i) {
                        test::widen(largest, std::abs(foundAnswers[item].logProbs[i] - answers[item].logProbs[i]));
                    }
                }
                for (std::size_t i = 0; i < generated.size(); ++i) {
                    const Row expected(generated[i].begin(), generated[i].end());
                    test::widen(largest, nextDifference(foundGenerated[i], test::logSoftmax(expected)));
                }
                // Weights of a third each do not quite add up to 1 in float32.
                test::expectWithin(
                    paths == 1 ? 1e-300 : 1e-5, largest,
                    computeTypeName(type) + "_" + std::to_string(paths) + (probabilities ? "_probs" : "_logits"));
                if (paths == 1) {
                    EXPECT_EQ(foundGenerated, generated);
                }
            }
        }
    }
}

TEST(AttentionBuckets, ReadALongTextPathByPath) {
    // More rows than are packed into one pass.
    auto spec = test::groupedSpec();
    spec.contextLength = 512;
    const MethodBench bench(spec);
    const auto session = bench.session();
    Row bases;
    for (int path = 0; path < 24; ++path) bases.push_back(1000.0 * (path + 1) * (path + 1));
    const auto ids = test::randomIds(350, 8);
    const Rows expected = bench.reference.bucketLogProbs(ids, bases, false);
    test::expectWithin(test::kFloat32Bound, textDifference(*session, ids, buckets(bases), expected), "text");
    test::expectWithin(test::kFloat32Bound, decodingDifference(*session, ids, 347, buckets(bases), expected),
                       "decoding");
}

TEST(AttentionBuckets, LogitsOfTheNextTokenAreThoseOfTheCombination) {
    // With the logits combination they are logits, not only log-probabilities.
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(30, 6);
    ASSERT_TRUE(session->setMethod(buckets(kThree)).has_value());
    const auto found = test::need(session->advance(ids));
    Rows paths;
    Row largest;
    for (const double base : kThree) {
        paths.push_back(bench.reference.run(ids, bench.reference.plain(base)).logits.back());
        largest.push_back(*std::max_element(paths.back().begin(), paths.back().end()));
    }
    const Row weights = rope::bucketWeights(largest);
    for (std::size_t i = 0; i < found.size(); ++i) {
        double expected = 0.0;
        for (std::size_t path = 0; path < 3; ++path) expected += weights[path] * paths[path][i];
        EXPECT_NEAR(found[i], expected, 1e-4) << i;
    }
}

TEST(AttentionBuckets, RefuseMeasurementsOfOneAttentionByName) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(20, 7);
    const auto method = bench.resolve("attention-buckets");
    const auto refused = [](const auto& result) {
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
        EXPECT_NE(result.error().message.find("attention-buckets"), std::string::npos) << result.error().message;
    };
    refused(session->attentionOfLastToken(ids, std::vector{TokenSpan{0, 3}}, method));
    refused(session->compareRepresentations(ids, {}, method));
    refused(session->compareRepresentations(ids, method, {}));
    refused(session->referenceRepresentation(ids, method));
    refused(session->probePrompts(std::vector{ProbedPrompt{ids, {}, {}}}, method));
}

}  // namespace
}  // namespace lpes::model
