// Ms-PoE against its definition (methods.md §1.5): ratios by what a prompt's last token attends to.
#include <gmock/gmock.h>

#include <algorithm>

#include "core/rope/rivals.h"
#include "tests/core/model_torch/method_bench.h"

namespace lpes::model {
namespace {

using test::answersDifference;
using test::decodingDifference;
using test::Definition;
using test::MethodBench;
using test::MsPoeDefinition;
using test::Row;
using test::Rows;
using test::textDifference;

struct Case {
    std::string name;
    MsPoeDefinition definition;
    test::TinyModelSpec spec;
    std::string spelling;  ///< empty: by fields alone
};

std::vector<Case> cases() {
    const auto grouped = test::groupedSpec(), ungrouped = test::ungroupedSpec(), many = test::manyHeadsSpec();
    return {
        {"paper", {}, grouped, "ms-poe"},
        {"paper", {}, ungrouped, "ms-poe"},
        {"paper", {}, many, "ms-poe:variant=paper,gqa=first"},
        {"paper_wide", {.min = 0.6, .max = 3.0}, many, "ms-poe:min=0.6,max=3"},
        {"paper_mean", {.means = true}, grouped, "ms-poe:gqa=mean"},
        {"paper_mean", {.min = 0.8, .max = 2.5, .means = true}, many, "ms-poe:gqa=mean,min=0.8,max=2.5"},
        {"paper_layers", {.min = 1.0, .max = 3.0, .first = 1, .last = 2}, many, "ms-poe:min=1,max=3,layers=1-2"},
        {"code", {.code = true, .first = 2}, grouped, "ms-poe:variant=code"},
        {"code_all", {.code = true}, grouped, "ms-poe:variant=code,layers=0-2"},
        {"code_all", {.code = true}, ungrouped, "ms-poe:variant=code,layers=0-2"},
        {"code_wide", {.min = 0.6, .max = 3.0, .code = true}, many, "ms-poe:variant=code,layers=0-3,min=0.6,max=3"},
        {"code_mean",
         {.min = 0.6, .max = 3.0, .code = true, .means = true},
         many,
         "ms-poe:variant=code,gqa=mean,layers=0-3,min=0.6,max=3"},
        {"code_normal", {.code = true, .fixed = true, .first = 2}, grouped, "ms-poe:variant=code,heads=normal"},
        {"code_normal",
         {.min = 0.6, .max = 3.0, .code = true, .fixed = true},
         ungrouped,
         "ms-poe:variant=code,heads=normal,layers=0-2,min=0.6,max=3"},
        {"code_normal",
         {.min = 0.6, .max = 3.0, .code = true, .fixed = true},
         many,
         "ms-poe:variant=code,heads=normal,layers=0-3,min=0.6,max=3"},
        {"threshold", {.threshold = 1.5}, many, ""},
    };
}

PositionMethod byFields(const MsPoeDefinition& definition, const test::TinyModelSpec& spec) {
    using Part = rope::MethodPart;
    PositionMethod method;
    method.text = "by fields";
    method.msPoe =
        rope::MsPoe{.ratios = test::msPoeGrid(definition, definition.means ? spec.numKvHeads : spec.numHeads),
                    .variant = definition.code ? Part::Variant::Code : Part::Variant::Paper,
                    .headOrder = definition.fixed ? Part::HeadOrder::Normal : Part::HeadOrder::Scored,
                    .groupRatio = definition.means ? Part::GroupRatio::Mean : Part::GroupRatio::FirstHead,
                    .firstLayer = definition.first,
                    .lastLayer = std::min(definition.last, spec.numLayers - 1),
                    .threshold = definition.threshold};
    return method;
}

Definition with(const MethodBench& bench, MsPoeDefinition definition, std::size_t promptTokens) {
    Definition result = bench.reference.plain();
    definition.promptTokens = static_cast<int>(promptTokens);
    result.msPoe = definition;
    return result;
}

TEST(MsPoe, IsItsDefinitionInPrefillBatchesAndDecoding) {
    for (const Case& each : cases()) {
        const MethodBench bench(each.spec);
        const auto session = bench.session();
        const auto method = byFields(each.definition, each.spec);
        if (!each.spelling.empty()) {
            const auto resolved = bench.resolve(each.spelling);
            ASSERT_TRUE(resolved.msPoe.has_value());
            EXPECT_EQ(resolved.msPoe->firstLayer, method.msPoe->firstLayer) << each.spelling;
            EXPECT_EQ(resolved.msPoe->lastLayer, method.msPoe->lastLayer) << each.spelling;
            EXPECT_THAT(resolved.msPoe->ratios, testing::Pointwise(testing::DoubleNear(1e-12), method.msPoe->ratios))
                << each.spelling;
            EXPECT_EQ(test::need(session->scoreText(test::randomIds(30, 2), resolved, 1)).logProbs,
                      test::need(session->scoreText(test::randomIds(30, 2), method, 1)).logProbs)
                << each.spelling;
        }
        const std::string what =
            each.name + "_" + std::to_string(each.spec.numHeads) + "_" + std::to_string(each.spec.numKvHeads);
        for (const int length : {64, 17, 2, 1}) {
            const auto ids = test::randomIds(length, 3);
            test::expectWithin(test::kFloat32Bound,
                               textDifference(*session, ids, method,
                                              bench.reference.logProbs(ids, with(bench, each.definition, ids.size()))),
                               "text_" + what + "_" + std::to_string(length));
        }
        test::expectWithin(
            test::kFloat32Bound,
            answersDifference(*session, test::unequalPrompts(64), method,
                              [&](std::span<const TokenId> ids, int promptTokens) {
                                  return bench.reference.logProbs(
                                      ids, with(bench, each.definition, static_cast<std::size_t>(promptTokens)));
                              }),
            "answers_" + what);
        const auto ids = test::randomIds(60, 4);
        test::expectWithin(test::kFloat32Bound,
                           decodingDifference(*session, ids, 40, method,
                                              bench.reference.logProbs(ids, with(bench, each.definition, 40))),
                           "decoding_" + what);
    }
}

TEST(MsPoe, InBfloat16KeepsCloseToItsDefinition) {
    for (const Case& each : cases()) {
        const MethodBench bench(each.spec, ComputeType::BFloat16);
        // A prompt whose attention is nowhere so near the bound that rounding could count it otherwise.
        std::vector<TokenId> ids;
        for (std::uint32_t stream = 0; stream < 1000 && ids.empty(); ++stream) {
            const auto candidate = test::randomIds(10, 100 + stream);
            const auto pass = bench.reference.run(candidate, with(bench, each.definition, candidate.size()));
            if (pass.margin > 0.05) ids = candidate;
        }
        ASSERT_FALSE(ids.empty()) << each.name;
        test::expectWithin(test::kBFloat16Bound,
                           textDifference(*bench.session(), ids, byFields(each.definition, each.spec),
                                          bench.reference.logProbs(ids, with(bench, each.definition, ids.size()))),
                           "bfloat16_" + each.name + "_" + std::to_string(each.spec.numHeads));
    }
}

TEST(MsPoe, TheTestsTellItsVariantsApart) {
    // Otherwise agreement with the reference would say nothing.
    const MethodBench bench(test::manyHeadsSpec());
    const auto ids = test::randomIds(64, 3);
    std::vector<Rows> all;
    MsPoeDefinition base{.min = 0.6, .max = 3.0};
    for (const bool code : {false, true}) {
        for (const bool means : {false, true}) {
            for (const double threshold : {3.0, 1.5}) {
                base.code = code;
                base.means = means;
                base.threshold = threshold;
                all.push_back(bench.reference.logProbs(ids, with(bench, base, ids.size())));
            }
        }
    }
    all.push_back(bench.reference.logProbs(ids, with(bench, base, ids.size() - 1)));
    base.means = false;
    base.fixed = true;
    all.push_back(bench.reference.logProbs(ids, with(bench, base, ids.size())));
    all.push_back(bench.reference.logProbs(ids, bench.reference.plain()));
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

TEST(MsPoe, GivesTheMostPositionAwareHeadTheSmallestRatio) {
    // The example of methods.md §1.5.
    using Part = rope::MethodPart;
    const Row scores{0.1, 0.4, 0.2, 0.3}, ratios{1.2, 1.4, 1.6, 1.8};
    EXPECT_EQ(rope::msPoeHeadRatios(scores, ratios, Part::Variant::Paper), (Row{1.8, 1.2, 1.6, 1.4}));
    EXPECT_EQ(rope::msPoeHeadRatios(scores, ratios, Part::Variant::Code), (Row{1.4, 1.8, 1.6, 1.2}));
    EXPECT_EQ(test::msPoeAssignment(scores, ratios, false), (Row{1.8, 1.2, 1.6, 1.4}));
    EXPECT_EQ(test::msPoeAssignment(scores, ratios, true), (Row{1.4, 1.8, 1.6, 1.2}));
    const Row code = rope::msPoeRatios(32, 1.2, 1.8, Part::Variant::Code);
    EXPECT_DOUBLE_EQ(code.back(), 1.78125);
    EXPECT_NEAR(rope::msPoeRatios(32, 1.2, 1.8, Part::Variant::Paper).back(), 1.8, 1e-15);
}

TEST(MsPoe, WithAFixedOrderReadsNoPrompt) {
    const Row ratios{1.2, 1.4, 1.6, 1.8};
    EXPECT_EQ(rope::msPoeFixedRatios(ratios), (Row{1.8, 1.6, 1.4, 1.2})) << "head j takes ratio H−1−j";
    const MethodBench bench(test::manyHeadsSpec());
    const auto method = bench.resolve("ms-poe:variant=code,heads=normal,layers=0-3,min=0.6,max=3");
    // What is behind a token changes nothing of it, as with every table that is known before the prompt.
    const auto session = bench.session();
    const auto ids = test::randomIds(40, 6);
    const auto whole = test::need(session->scoreText(ids, method, 1)).logProbs;
    const auto begun = test::need(session->scoreText(std::span(ids).first(20), method, 1)).logProbs;
    for (std::size_t i = 0; i < begun.size(); ++i) EXPECT_NEAR(whole[i], begun[i], 1e-4) << i;
    EXPECT_TRUE(sharesPrefixes(method)) << "so prompts may share what they begin with";
    EXPECT_FALSE(sharesPrefixes(bench.resolve("ms-poe:variant=code,layers=0-3")));
}

TEST(MsPoe, WithEqualRatiosIsPositionInterpolation) {
    for (const auto& spec : {test::groupedSpec(), test::ungroupedSpec()}) {
        const MethodBench bench(spec);
        const auto session = bench.session();
        const auto ids = test::randomIds(60, 5);
        for (const double ratio : {1.0, 1.5}) {
            for (const bool code : {false, true}) {
                const auto method = byFields({.min = ratio, .max = ratio, .code = code}, spec);
                const LayerScales scales(3, ratio);
                EXPECT_EQ(test::need(session->scoreText(ids, method, 1)).logProbs,
                          test::need(session->scoreText(ids, scales, 1)).logProbs)
                    << ratio << code;
                const auto batch = test::unequalPrompts(60);
                const auto found = test::need(session->scoreAnswers(batch, method)),
                           expected = test::need(session->scoreAnswers(batch, scales));
                for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(found[i].logProbs, expected[i].logProbs);
                EXPECT_EQ(test::decoded(*session, ids, 50, method), test::decoded(*session, ids, 50, scales));
            }
        }
    }
}

TEST(MsPoe, ReadsEachPromptOfABatchByItself) {
    const MethodBench bench(test::manyHeadsSpec());
    const auto session = bench.session();
    const auto batch = test::unequalPrompts(64);
    const auto together = test::need(session->scoreAnswers(batch, bench.resolve("ms-poe:min=0.6,max=3")));
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto alone =
            test::need(session->scoreAnswers(std::span(batch).subspan(i, 1), bench.resolve("ms-poe:min=0.6,max=3")));
        for (std::size_t token = 0; token < alone[0].logProbs.size(); ++token) {
            EXPECT_NEAR(alone[0].logProbs[token], together[i].logProbs[token], 1e-5) << i;
        }
    }
}

TEST(MsPoe, DecidesByThePromptAndNotByTheAnswer) {
    const MethodBench bench(test::manyHeadsSpec());
    const auto session = bench.session();
    const auto method = bench.resolve("ms-poe:min=0.6,max=3");
    ScoredPrompt one = test::randomPrompt(40, 1, 8), two = one;
    two.answer.push_back(11);
    const auto scores = test::need(session->scoreAnswers(std::vector{one, two}, method));
    EXPECT_NEAR(scores[0].logProbs[0], scores[1].logProbs[0], 1e-6);
}

TEST(MsPoe, AttentionOfTheLastTokenIsTheOneWithTheChosenRatios) {
    for (const Case& each : cases()) {
        const MethodBench bench(each.spec);
        const auto session = bench.session();
        const auto ids = test::randomIds(50, 9);
        const auto method = byFields(each.definition, each.spec);
        std::vector<TokenSpan> spans;
        for (int i = 0; i < 50; ++i) spans.push_back({i, i + 1});
        const auto probe = test::need(session->attentionOfLastToken(ids, spans, method));
        const auto probes = test::need(
            session->probePrompts(std::vector{ProbedPrompt{test::randomIds(23, 1), {}, {}}, {ids, spans, {}}}, method));
        const auto pass = bench.reference.run(ids, with(bench, each.definition, ids.size()));
        double largest = 0.0;
        for (std::size_t layer = 0; layer < pass.lastAttention.size(); ++layer) {
            for (std::size_t token = 0; token < ids.size(); ++token) {
                double mean = 0.0;
                for (const Row& head : pass.lastAttention[layer]) {
                    mean += head[token] / static_cast<double>(pass.lastAttention[layer].size());
                }
                test::widen(largest, std::abs(probe.shareByLayer[layer][token] - mean));
                test::widen(largest, std::abs(probes[1].attention.shareByLayer[layer][token] - mean));
            }
            test::widen(largest, std::abs(probe.sinkByLayer[layer] - probe.shareByLayer[layer][0]));
        }
        test::expectWithin(1e-5, largest, "attention_" + each.name + "_" + std::to_string(each.spec.numHeads));
    }
}

TEST(MsPoe, RepresentationsAreComparedUnderTheChosenRatios) {
    const MethodBench bench(test::manyHeadsSpec());
    const auto session = bench.session();
    const auto ids = test::randomIds(50, 9);
    const MsPoeDefinition definition{.min = 0.6, .max = 3.0};
    const auto method = byFields(definition, bench.tiny.spec);
    const auto plain = bench.reference.run(ids, bench.reference.plain());
    const auto chosen = bench.reference.run(ids, with(bench, definition, ids.size()));
    const auto compared = test::need(session->compareRepresentations(ids, {}, method));
    const auto reference = test::need(session->referenceRepresentation(ids, {}));
    const auto probes = test::need(session->probePrompts(std::vector{ProbedPrompt{ids, {}, reference}}, method));
    for (std::size_t layer = 0; layer < 4; ++layer) {
        const auto rows = [&](const test::ReferencePass& pass) {
            return Rows(pass.hidden[layer].begin() + 1, pass.hidden[layer].end());
        };
        const double expected = test::structureDeviation(rows(plain), rows(chosen));
        EXPECT_GT(expected, 1e-4);
        test::expectWithin(1e-5, std::abs(compared.deviation[layer] - expected), "deviation_" + std::to_string(layer));
        EXPECT_NEAR(probes[0].deviation[layer], expected, 1e-5);
    }
    const auto own = test::need(session->referenceRepresentation(ids, method));
    const auto same = test::need(session->probePrompts(std::vector{ProbedPrompt{ids, {}, own}}, method));
    for (const double deviation : same[0].deviation) EXPECT_NEAR(deviation, 0.0, 1e-9);
}

}  // namespace
}  // namespace lpes::model
