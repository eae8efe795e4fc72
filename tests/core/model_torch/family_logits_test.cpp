// Every family against transformers, at short and long positions: numbers made by tests/golden/make_family_models.py
// from the files that are read here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/core/model_torch/kept_layers.h"
#include "tests/core/model_torch/session_helpers.h"

namespace lpes::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const json& golden() {
    static const json numbers = json::parse(std::ifstream(fs::path(LPES_TEST_DATA) / "golden" / "family_logits.json"));
    return numbers;
}

struct Case {
    std::string model, format;
};

void PrintTo(const Case& which, std::ostream* out) {
    *out << which.model << " as " << which.format;
}

class FamilyLogits : public testing::TestWithParam<Case> {
  protected:
    const json& numbers() const { return golden().at("models").at(GetParam().model); }
    std::vector<TokenId> ids() const {
        return numbers().at(numbers().contains("all_ids") ? "all_ids" : "ids").get<std::vector<TokenId>>();
    }
    std::vector<TokenId> shortIds() const {
        auto all = ids();
        all.resize(numbers().at("short").get<std::size_t>());
        return all;
    }
    LayerScales scales() const { return numbers().at("scales").get<LayerScales>(); }
    static fs::path file(const Case& which) {
        const fs::path folder = fs::path(LPES_TEST_DATA) / "golden" / "families";
        if (which.format == "gguf") return folder / (which.model + ".gguf");
        return folder / (which.format == "pytorch" ? which.model + ".bin.d" : which.model);
    }
    std::shared_ptr<const CausalLm> load(ComputeType type) const { return test::loadFrom(file(GetParam()), type); }

    /// Log-probabilities at the rows that the file keeps.
    std::vector<double> kept(const TextScore& score) const {
        if (numbers().at("rows").is_null()) return score.logProbs;
        std::vector<double> chosen;
        for (const int row : numbers().at("rows").get<std::vector<int>>()) {
            chosen.push_back(score.logProbs[static_cast<std::size_t>(row)]);
        }
        return chosen;
    }
    static double largestDifference(const std::vector<double>& a, const std::vector<double>& b) {
        EXPECT_EQ(a.size(), b.size());
        double largest = 0.0;
        for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
            largest = std::max(largest, std::abs(a[i] - b[i]));
        }
        return largest;
    }
    std::vector<double> expected(const char* name) const { return numbers().at(name).get<std::vector<double>>(); }

    static void expectRow(const std::vector<float>& logits, const json& row, double tolerance) {
        const auto step = golden().at("column_step").get<std::size_t>();
        for (std::size_t column = 0; column < row.size(); ++column) {
            ASSERT_NEAR(logits[column * step], row[column].get<double>(), tolerance) << "column " << column * step;
        }
    }
};

// transformers multiplies positions and frequencies in float32: at position 9,000 its angles are off by some 5e-4.
double tolerance(const std::string& model) {
    return model == "llama31" ? 5e-4 : 1.5e-4;
}

TEST_P(FamilyLogits, OfAPrefillAgreeAtShortAndLongPositionsInFloat32) {
    const auto model = load(ComputeType::Float32);
    const auto session = model->newSession(2);
    const std::map<std::string, std::pair<std::vector<TokenId>, LayerScales>> passes = {
        {"prefill", {ids(), {}}},
        {"short_prefill", {shortIds(), {}}},
        {"per_layer", {ids(), scales()}},
        {"per_layer_short", {shortIds(), scales()}}};
    for (const auto& [name, pass] : passes) {
        const auto score = session->scoreText(pass.first, pass.second, 1);
        ASSERT_TRUE(score.has_value()) << score.error().text();
        const bool shortOne = name.ends_with("short") || name.starts_with("short");
        const double largest = largestDifference(shortOne ? score->logProbs : kept(*score), expected(name.c_str()));
        EXPECT_LT(largest, tolerance(GetParam().model)) << name;
        RecordProperty("max_difference_" + name, std::to_string(largest));
    }
}

TEST_P(FamilyLogits, OfTokensThatAreDecodedAgreeWithThoseOfTransformersCache) {
    const auto model = load(ComputeType::Float32);
    const auto session = model->newSession(1);
    const auto all = ids();
    const auto decoded = golden().at("decoded").get<std::size_t>();
    // Where transformers' cache would mix keys of different frequencies, the prefill's rows are what is right.
    const json& rows = numbers().contains("decode") ? numbers().at("decode") : numbers().at("last_logits");
    ASSERT_TRUE(session->advance(std::span(all).first(all.size() - decoded)).has_value());
    for (std::size_t i = 0; i < decoded; ++i) {
        const auto logits = session->advance(std::span(all).subspan(all.size() - decoded + i, 1));
        ASSERT_TRUE(logits.has_value()) << logits.error().text();
        // Behind the last token but in dynamic NTK: earlier rows of one long prefill were rotated for its full length.
        if (!numbers().contains("decode") && i + 1 < decoded) continue;
        expectRow(*logits, rows[i], 2.0 * tolerance(GetParam().model));
    }
}

TEST_P(FamilyLogits, OfABatchOfUnequalLengthsAreThoseOfEachPromptAlone) {
    const auto model = load(ComputeType::Float32);
    const auto session = model->newSession(2);
    const auto all = ids();
    const auto last = static_cast<std::ptrdiff_t>(std::min<std::size_t>(all.size(), 260));
    const std::vector<ScoredPrompt> prompts = {{shortIds(), {7, 11}},
                                               {std::vector<TokenId>(all.begin(), all.begin() + last), {5}},
                                               {std::vector<TokenId>(all.begin(), all.begin() + 3), {9, 4, 8}}};
    for (const LayerScales& profile : {LayerScales{}, scales()}) {
        const auto together = session->scoreAnswers(prompts, profile);
        ASSERT_TRUE(together.has_value()) << together.error().text();
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            const auto alone = session->scoreAnswers(std::span(prompts).subspan(i, 1), profile);
            ASSERT_TRUE(alone.has_value());
            EXPECT_LT(largestDifference((*together)[i].logProbs, (*alone)[0].logProbs), 1e-5) << i;
        }
    }
    if (!numbers().contains("batch")) return;
    // Against transformers' left-padded batch: the log-probability of ids from one row of logits is all that differs.
    const auto lengths = numbers().at("batch_lengths").get<std::vector<std::size_t>>();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        session->resetSequence();
        const auto logits = session->advance(std::span(all).first(lengths[i]));
        ASSERT_TRUE(logits.has_value());
        expectRow(*logits, numbers().at("batch")[i], tolerance(GetParam().model));
    }
}

TEST_P(FamilyLogits, OfPromptsThatBeginAlikeAreThoseOfEachPromptAlone) {
    const auto all = ids();
    const auto first = [&](std::size_t count) {
        return std::vector<TokenId>(all.begin(),
                                    all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size() - 5)));
    };
    std::vector<ScoredPrompt> prompts = {
        {first(60), {7, 11}}, {first(60), {8}}, {first(200), {5}}, {first(100), {3, 4}}};
    // A branch that ends longer than any sliding window, and one shorter than the matrix units' blocks.
    for (const std::size_t length : {std::size_t{45}, std::size_t{6}}) {
        ScoredPrompt& branch = prompts.emplace_back(ScoredPrompt{first(120), {9, 2}});
        for (std::size_t i = 0; i < length; ++i) branch.prompt.push_back(all[(7 * i) % all.size()]);
    }
    std::map<bool, std::vector<AnswerScore>> exactScores;  // by whether there is a profile
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const auto session = load(type)->newSession(2);
        for (const LayerScales& profile : {LayerScales{}, scales()}) {
            const auto together = session->scoreAnswers(prompts, profile);
            const auto shared = session->scoreAnswers(prompts, profile, {}, {.sharePrefixes = true});
            ASSERT_TRUE(together.has_value() && shared.has_value());
            std::vector<AnswerScore>& inFloat = exactScores.try_emplace(profile.empty(), *together).first->second;
            double found = 0.0, noise = 0.0;
            for (std::size_t i = 0; i < prompts.size(); ++i) {
                const auto alone = session->scoreAnswers(std::span(prompts).subspan(i, 1), profile);
                ASSERT_TRUE(alone.has_value());
                found = std::max(found, largestDifference((*shared)[i].logProbs, (*alone)[0].logProbs));
                noise = std::max(noise, largestDifference((*together)[i].logProbs, inFloat[i].logProbs));
            }
            // In bfloat16 another kernel rounds otherwise, but no worse than bfloat16 does anyway.
            EXPECT_LT(found, type == ComputeType::Float32 ? 1e-5 : 2.0 * noise) << computeTypeName(type);
            RecordProperty((profile.empty() ? "baseline_" : "profile_") + computeTypeName(type),
                           std::to_string(found) + " beside " + std::to_string(noise));
        }
    }
}

TEST_P(FamilyLogits, BehindLayersThatAnotherPassComputedAreTheSameBits) {
    const auto all = ids();
    const auto first = [&](std::size_t count) {
        return std::vector<TokenId>(all.begin(),
                                    all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size() - 5)));
    };
    const std::vector<ScoredPrompt> prompts = {{first(60), {7, 11}}, {first(200), {5}}, {first(100), {3, 4}}};
    const LayerScales one = scales();
    const std::size_t common = one.size() / 2;
    LayerScales other = one;
    for (std::size_t layer = common; layer < other.size(); ++layer) other[layer] += 0.25;
    for (const ComputeType type : {ComputeType::Float32, ComputeType::BFloat16}) {
        const auto session = load(type)->newSession(1);
        for (const bool share : {false, true}) {
            test::KeptLayers kept;
            ASSERT_TRUE(session->scoreAnswers(prompts, one, {}, {share, &kept}).has_value());
            kept.from = static_cast<int>(common);
            const auto expected = session->scoreAnswers(prompts, other, {}, {share});
            const auto found = session->scoreAnswers(prompts, other, {}, {share, &kept});
            ASSERT_TRUE(expected.has_value() && found.has_value());
            EXPECT_EQ(kept.asked, 2);
            for (std::size_t i = 0; i < prompts.size(); ++i)
                EXPECT_EQ((*found)[i].logProbs, (*expected)[i].logProbs) << computeTypeName(type) << " " << i;
        }
    }
}

TEST_P(FamilyLogits, OfASequenceThatIsReadOnFromItsBeginningAreThoseOfAFreshOne) {
    const auto model = load(ComputeType::Float32);
    const auto session = model->newSession(1), fresh = model->newSession(1);
    const auto all = ids();
    const std::size_t half = all.size() / 2;
    ASSERT_TRUE(session->advance(all).has_value());
    ASSERT_TRUE(session->rewind(static_cast<int>(half)).has_value());
    const std::vector<TokenId> other(all.begin(), all.begin() + 20);
    std::vector<TokenId> whole(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half));
    whole.insert(whole.end(), other.begin(), other.end());
    const auto found = session->advance(other), expected = fresh->advance(whole);
    ASSERT_TRUE(found.has_value() && expected.has_value());
    for (std::size_t i = 0; i < found->size(); ++i) ASSERT_NEAR((*found)[i], (*expected)[i], 1e-4) << i;
}

TEST_P(FamilyLogits, InBFloat16AreNoFartherAwayThanTransformersOwn) {
    const auto model = load(ComputeType::BFloat16);
    const auto session = model->newSession(2);
    const auto score = session->scoreText(ids(), {}, 1);
    ASSERT_TRUE(score.has_value()) << score.error().text();
    const auto ours = kept(*score), theirs = expected("prefill");
    double sum = 0.0;
    for (std::size_t i = 0; i < ours.size(); ++i) sum += std::abs(ours[i] - theirs[i]);
    const double mean = sum / static_cast<double>(ours.size());
    EXPECT_LT(mean, 1.3 * numbers().at("bfloat16_mean_difference").get<double>());
    RecordProperty("mean_difference", std::to_string(mean));
    RecordProperty("max_difference", std::to_string(largestDifference(ours, theirs)));
}

TEST_P(FamilyLogits, GradientsOfTheScalesAreThoseOfTheScoredAnswer) {
    const auto model = load(ComputeType::Float32);
    const auto session = model->newSession(2);
    auto prompt = ids();
    prompt.resize(150);
    const ScoredPrompt item{prompt, {5, 17}};
    const auto at = [&](const LayerScales& where) {
        const auto scored = session->scoreAnswers(std::span(&item, 1), where);
        EXPECT_TRUE(scored.has_value());
        return (*scored)[0].meanNll;
    };
    const auto gradient = session->scaleGradients(std::span(&item, 1), scales());
    ASSERT_TRUE(gradient.has_value()) << gradient.error().text();
    EXPECT_NEAR(gradient->front().meanNll, at(scales()), 1e-4);
    for (std::size_t layer = 0; layer < scales().size(); ++layer) {
        constexpr double kStep = 1e-4;
        LayerScales above = scales(), below = scales();
        above[layer] += kStep;
        below[layer] -= kStep;
        const double measured = (at(above) - at(below)) / (2.0 * kStep);
        EXPECT_NEAR(gradient->front().gradient[layer], measured, 0.03 * std::abs(measured) + 0.05) << layer;
    }
}

TEST_P(FamilyLogits, GradientsOfPromptsThatBeginAlikeAreEachItsOwn) {
    const auto session = load(ComputeType::Float32)->newSession(2);
    auto prompt = ids();
    prompt.resize(60);
    std::vector<ScoredPrompt> batch{{prompt, {5, 17}}, {prompt, {9}}};
    prompt.resize(40);
    prompt.insert(prompt.end(), {21, 8, 30});
    batch.push_back({prompt, {17}});
    const auto shared = session->scaleGradients(batch, scales(), {}, {.sharePrefixes = true});
    const auto apart = session->scaleGradients(batch, scales());
    ASSERT_TRUE(shared.has_value() && apart.has_value()) << shared.error().text();
    for (std::size_t i = 0; i < batch.size(); ++i) {
        EXPECT_NEAR((*shared)[i].meanNll, (*apart)[i].meanNll, 1e-4);
        for (std::size_t layer = 0; layer < scales().size(); ++layer) {
            const double own = (*apart)[i].gradient[layer];
            EXPECT_NEAR((*shared)[i].gradient[layer], own, 0.01 * std::abs(own) + 1e-3) << i << ", " << layer;
        }
    }
}

TEST_P(FamilyLogits, ProfilesAreReadBackAsApplied) {
    const auto model = load(ComputeType::BFloat16);
    const auto session = model->newSession(1);
    for (const int last : {20, std::min(model->config().contextLength, 3000) - 1}) {
        const auto check = session->verifyApplied(scales(), last);
        ASSERT_TRUE(check.has_value()) << check.error().text();
        EXPECT_TRUE(check->verified) << check->maxAbsError << " in layer " << check->worstLayer;
    }
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const auto& [name, numbers] : golden().at("models").items()) {
        for (const char* format : {"safetensors", "gguf", "pytorch"}) {
            const fs::path folder = fs::path(LPES_TEST_DATA) / "golden" / "families";
            if (std::string(format) == "gguf" && !fs::exists(folder / (name + ".gguf"))) continue;
            all.push_back({name, format});
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Every, FamilyLogits, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.model + "_" + param.param.format; });

}  // namespace
}  // namespace lpes::model
