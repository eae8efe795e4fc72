// Answers that are decoded together against those of one prompt after the other.
#include <gmock/gmock.h>

#include <stop_token>

#include "tests/core/model_torch/every_method.h"

namespace lpes::model {
namespace {

using test::everyMethod;
using test::MethodBench;
using test::need;
using test::randomIds;

using Prompts = std::vector<std::vector<TokenId>>;

/// Unequal lengths; three begin alike, of which one is the beginning of another, and two are the same.
Prompts prompts() {
    const auto common = randomIds(20, 1);
    auto longer = common, other = common;
    for (const TokenId id : randomIds(9, 2)) longer.push_back(id);
    for (const TokenId id : randomIds(4, 3)) other.push_back(id);
    return {longer, randomIds(7, 4), common, other, longer, randomIds(33, 5)};
}

GeneratedAnswer oneByOne(ModelSession& session, const std::vector<TokenId>& prompt, const PositionMethod& method,
                         const GenerateOptions& options, int context) {
    session.resetSequence();
    if (const auto set = session.setMethod(method); !set) throw std::runtime_error(set.error().text());
    GeneratedAnswer answer;
    std::vector<TokenId> next = prompt;
    const auto room = std::min<std::ptrdiff_t>(options.mostNewTokens, context - std::ssize(prompt));
    while (std::ssize(answer.ids) < room) {
        const auto logits = need(session.advance(next));
        const auto best = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        answer.ended = std::ranges::find(options.endIds, best) != options.endIds.end();
        if (answer.ended) break;
        answer.ids.push_back(best);
        next.assign(1, best);
    }
    return answer;
}

void expectEqual(const GeneratedAnswer& found, const GeneratedAnswer& expected, const std::string& what) {
    EXPECT_EQ(found.ids, expected.ids) << what;
    EXPECT_EQ(found.ended, expected.ended) << what;
}

TEST(GeneratedAnswers, AreThoseOfOnePromptAfterTheOtherUnderEveryMethod) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session(2), single = bench.session(2);
    for (const PositionMethod& method : everyMethod(bench)) {
        const int context = rope::contextLength(method, methodModel(bench.model->config()));
        GenerateOptions options{.mostNewTokens = 12};
        // An id that ends some of them, at different lengths.
        options.endIds = {oneByOne(*single, prompts()[1], method, options, context).ids[5]};
        for (const bool share : {false, true}) {
            options.sharePrefixes = share;
            const auto answers = need(session->generateAnswers(prompts(), method, options));
            ASSERT_EQ(answers.size(), prompts().size());
            for (std::size_t i = 0; i < answers.size(); ++i) {
                expectEqual(answers[i], oneByOne(*single, prompts()[i], method, options, context),
                            method.text + " " + std::to_string(i));
            }
            EXPECT_TRUE(answers[1].ended);
            EXPECT_LE(answers[1].ids.size(), 5u);
        }
    }
}

TEST(GeneratedAnswers, EndWhereTheContextDoes) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session(), single = bench.session();
    for (const char* text : {"baseline", "dynamic-ntk:1.25"}) {
        const PositionMethod method = bench.resolve(text);
        const int context = rope::contextLength(method, methodModel(bench.model->config()));
        const GenerateOptions options{.mostNewTokens = 30};
        const Prompts full{randomIds(context, 1), randomIds(context - 1, 2), randomIds(context - 20, 3),
                           randomIds(5, 4)};
        const auto answers = need(session->generateAnswers(full, method, options));
        const std::vector<std::size_t> lengths{0, 1, 20, 30};
        for (std::size_t i = 0; i < full.size(); ++i) {
            EXPECT_EQ(answers[i].ids.size(), lengths[i]);
            EXPECT_FALSE(answers[i].ended);
            expectEqual(answers[i], oneByOne(*single, full[i], method, options, context), text);
        }
    }
}

TEST(GeneratedAnswers, LeaveTheSequenceOfTheSessionAlone) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session(), undisturbed = bench.session();
    const auto ids = randomIds(20, 1);
    need(session->advance(ids));
    need(undisturbed->advance(ids));
    need(session->generateAnswers(prompts(), bench.resolve("pi:2"), {.mostNewTokens = 3}));
    EXPECT_EQ(session->cachedTokens(), 20);
    EXPECT_EQ(need(session->advance(std::vector<TokenId>{5})), need(undisturbed->advance(std::vector<TokenId>{5})));
}

TEST(GeneratedAnswers, RefuseWhatCannotBeAnswered) {
    const MethodBench bench(test::groupedSpec());
    const auto session = bench.session();
    const auto code = [&](const Prompts& asked, const GenerateOptions& options, const PositionMethod& method = {}) {
        const auto result = session->generateAnswers(asked, method, options);
        return result ? ErrorCode::Failed : result.error().code;
    };
    EXPECT_EQ(code({}, {}), ErrorCode::Usage);
    EXPECT_EQ(code({{}}, {}), ErrorCode::Usage);
    EXPECT_EQ(code({{1}, {300}}, {}), ErrorCode::Usage);
    EXPECT_EQ(code({{1}}, {.mostNewTokens = 0}), ErrorCode::Usage);
    EXPECT_EQ(code({randomIds(65, 1)}, {}), ErrorCode::BadInput);
    EXPECT_EQ(code({{1}}, {}, LayerScales{1.0}), ErrorCode::BadInput);
    std::stop_source source;
    source.request_stop();
    EXPECT_TRUE(wasStopped(session->generateAnswers(prompts(), {}, {}, source.get_token()).error()));
    EXPECT_TRUE(session->generateAnswers(prompts(), {}, {.mostNewTokens = 1}).has_value());
}

}  // namespace
}  // namespace lpes::model
