#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/model/causal_lm.h"
#include "tests/core/model_torch/reference_model.h"
#include "tests/core/model_torch/session_helpers.h"

/// Sessions beside the reference of the same weights.
namespace lpes::test {

inline constexpr double kFloat32Bound = 1e-4;  ///< of log-probabilities
/// Loose: a text of 200 tokens under YaRN is 0.4 off somewhere, a method that is wrong by several.
inline constexpr double kBFloat16Bound = 0.8;
inline constexpr int kContext = 64;

struct MethodBench {
    explicit MethodBench(const TinyModelSpec& spec, model::ComputeType type = model::ComputeType::Float32)
        : tiny(type == model::ComputeType::Float32
                   ? makeTinyModel(spec)
                   : storedAs(makeTinyModel(spec), model::StorageType::BF16, /*vectorsToo=*/true)),
          reference(tiny),
          model(load(std::make_shared<MemoryWeights>(tiny), type)) {}

    [[nodiscard]] std::unique_ptr<model::ModelSession> session(int threads = 1) const {
        return model->newSession(threads);
    }
    [[nodiscard]] rope::PositionMethod resolve(const std::string& text, const rope::MethodFiles& files = {}) const {
        const auto spec = rope::parseMethod(text);
        if (!spec) throw std::runtime_error(spec.error().text());
        auto method = rope::resolveMethod(*spec, model::methodModel(model->config()), files);
        if (!method) throw std::runtime_error(method.error().text());
        return *method;
    }

    TinyModel tiny;
    ReferenceModel reference;
    std::shared_ptr<const model::CausalLm> model;
};

inline TinyModelSpec groupedSpec() {
    return {.numLayers = 3, .contextLength = kContext};
}
/// As many key/value heads as query heads, and a head of its own.
inline TinyModelSpec ungroupedSpec() {
    return {.numLayers = 3, .numKvHeads = 4, .contextLength = kContext, .tiedHead = false, .seed = 2};
}
/// Groups of four, so that a head's rank and its group's differ more often.
inline TinyModelSpec manyHeadsSpec() {
    return {.numLayers = 4, .numHeads = 8, .numKvHeads = 2, .contextLength = kContext, .seed = 3};
}

template <class T>
T need(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().text());
    return *std::move(result);
}

inline void widen(double& largest, double difference) {
    largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
}

/// scoreText against log-probabilities [T][V]: of the text, of the best after each token and of the best five at the
/// end.
inline double textDifference(model::ModelSession& session, std::span<const text::TokenId> ids,
                             const rope::PositionMethod& method, const Rows& expected) {
    const auto score = need(session.scoreText(ids, method, 5));
    double largest = score.topAtEnd.size() == 5 ? 0.0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        widen(largest, std::abs(score.logProbs.at(i) - expected[i][static_cast<std::size_t>(ids[i + 1])]));
        widen(largest, *std::max_element(expected[i].begin(), expected[i].end()) -
                           expected[i][static_cast<std::size_t>(score.argmax[i])]);
    }
    for (const auto& top : score.topAtEnd) {
        widen(largest, std::abs(top.logProb - expected.back()[static_cast<std::size_t>(top.id)]));
    }
    return largest;
}

/// scoreAnswers of one batch against `expected(ids, promptTokens)`, log-probabilities [T][V] of one prompt and answer.
/// The last answer id is predicted and not read: `ids` end before it.
inline double answersDifference(model::ModelSession& session, std::span<const model::ScoredPrompt> batch,
                                const rope::PositionMethod& method,
                                const std::function<Rows(std::span<const text::TokenId>, int)>& expected) {
    const auto scores = need(session.scoreAnswers(batch, method));
    double largest = scores.size() == batch.size() ? 0.0 : std::numeric_limits<double>::infinity();
    for (std::size_t item = 0; item < batch.size(); ++item) {
        std::vector<text::TokenId> ids = batch[item].prompt;
        ids.insert(ids.end(), batch[item].answer.begin(), batch[item].answer.end() - 1);
        const std::size_t begin = batch[item].prompt.size();
        const Rows rows = expected(ids, static_cast<int>(begin));
        double sum = 0.0;
        for (std::size_t i = 0; i < batch[item].answer.size(); ++i) {
            const double logProb = rows[begin + i - 1][static_cast<std::size_t>(batch[item].answer[i])];
            widen(largest, std::abs(scores[item].logProbs.at(i) - logProb));
            sum += logProb;
        }
        widen(largest, std::abs(scores[item].meanNll + sum / static_cast<double>(batch[item].answer.size())));
    }
    return largest;
}

/// Logits of `advance` against log-probabilities [V].
inline double nextDifference(const std::vector<float>& logits, const Row& expected) {
    const Row found = logSoftmax(Row(logits.begin(), logits.end()));
    double largest = found.size() == expected.size() ? 0.0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < expected.size(); ++i) widen(largest, std::abs(found[i] - expected[i]));
    return largest;
}

/// Logits after a prompt and after each token that follows it.
inline std::vector<std::vector<float>> decoded(model::ModelSession& session, std::span<const text::TokenId> ids,
                                               std::size_t prompt, const rope::PositionMethod& method) {
    session.resetSequence();
    if (const auto set = session.setMethod(method); !set) throw std::runtime_error(set.error().text());
    std::vector<std::vector<float>> logits;
    for (std::size_t end = prompt, begin = 0; end <= ids.size(); begin = end++) {
        logits.push_back(need(session.advance(ids.subspan(begin, end - begin))));
    }
    return logits;
}

/// `decoded` against log-probabilities [T][V] of all of `ids`.
inline double decodingDifference(model::ModelSession& session, std::span<const text::TokenId> ids, std::size_t prompt,
                                 const rope::PositionMethod& method, const Rows& expected) {
    double largest = 0.0;
    for (const auto& logits : decoded(session, ids, prompt, method)) {
        widen(largest, nextDifference(logits, expected.at(prompt++ - 1)));
    }
    return largest;
}

/// Prompts of unequal length, the longest of which has `longest` tokens with its answer.
inline std::vector<model::ScoredPrompt> unequalPrompts(int longest) {
    return {randomPrompt(longest * 2 / 3, 4, 21), randomPrompt(longest - 5, 5, 22), randomPrompt(longest / 4, 1, 23),
            randomPrompt(longest / 2, 9, 24)};
}

inline void expectWithin(double bound, double difference, const std::string& what) {
    static std::map<std::string, double> worst;  // a property is kept once
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    double& largest = worst[std::string(test->test_suite_name()) + "." + test->name() + "." + what];
    widen(largest, difference);
    testing::Test::RecordProperty(what, std::to_string(largest * 1e6) + "e-6");
    EXPECT_LT(difference, bound) << what;
}

}  // namespace lpes::test
