// What shared beginnings and joint decoding are worth, on prompts of key-value retrieval (20 pairs of words):
//   kv3, kv11   an item with its evidence at begin, middle and end, and at every 10 %: prompts/s in one packed pass
//   choices     one prompt with four answers of three tokens
//   slopes3, slopes11   the slopes of the same items over all scales
//   decode      greedy answers of 32 tokens to 1, 4 and 8 prompts: new tokens/s one after the other and together
//   bench_sharing [--model PATH] [--threads N] [--seconds S] [--dtype float32|bfloat16] [--only NAME]
// Both sides take turns, so that other work on the machine hits both; the ratio is the median of the pairs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/model/torch/torch_runtime.h"
#include "core/tasks/kv_items.h"

namespace {

using namespace lpes;
using namespace lpes::model;

constexpr int kPairs = 20, kNewTokens = 32;

/// The value, or the end of the program with the error's message.
template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    std::fprintf(stderr, "%s\n", result.error().text().c_str());
    std::exit(exitCode(result.error().code));
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Calls both in turn for about `budget` seconds, at least three times after the first, and prints things/s.
void compare(const std::string& name, const char* what, double things, double budget,
             const std::array<std::function<void()>, 2>& sides) {
    std::array<std::vector<double>, 2> times;
    std::vector<double> ratios;
    for (const auto& side : sides) side();
    const double start = steadySeconds();
    while (ratios.size() < 3 || steadySeconds() - start < budget) {
        for (std::size_t side = 0; side < 2; ++side) {
            const double before = steadySeconds();
            sides[side]();
            times[side].push_back(steadySeconds() - before);
        }
        ratios.push_back(times[0].back() / times[1].back());
    }
    std::printf("%-9s %9.2f %s apart %9.2f together, %.2f times as fast (%zu pairs)\n", name.c_str(),
                things / median(times[0]), what, things / median(times[1]), median(ratios), ratios.size());
    std::fflush(stdout);
}

double largestDifference(const std::vector<AnswerScore>& one, const std::vector<AnswerScore>& other) {
    double largest = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        for (std::size_t k = 0; k < one[i].logProbs.size(); ++k)
            largest = std::max(largest, std::abs(one[i].logProbs[k] - other[i].logProbs[k]));
    }
    return largest;
}

struct Bench {
    std::unique_ptr<ModelSession> session;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    std::vector<tasks::KvItem> items;
    int layers = 0;
    double budget = 3.0;

    [[nodiscard]] std::vector<TokenId> ids(const std::string& text) const { return must(tokenizer->encode(text)).ids; }

    [[nodiscard]] ScoredPrompt prompt(std::size_t item, double place) const {
        const auto rendered = tasks::renderKvPrompt(items[item], static_cast<int>(std::lround(place * (kPairs - 1))));
        return {ids(rendered.prompt), ids(rendered.answer)};
    }

    void score(const std::string& name, const std::vector<ScoredPrompt>& batch) const {
        const auto scored = [&](bool share) { return must(session->scoreAnswers(batch, {}, {}, {share})); };
        compare(name, "prompts/s", static_cast<double>(batch.size()), budget,
                {[&] { (void)scored(false); }, [&] { (void)scored(true); }});
        std::size_t tokens = 0;
        for (const ScoredPrompt& one : batch) tokens += one.prompt.size() + one.answer.size();
        std::printf("%-9s %zu prompts of %zu tokens in all; log-probabilities at most %.1e apart\n", "", batch.size(),
                    tokens, largestDifference(scored(false), scored(true)));
    }

    void slopes(const std::string& name, const std::vector<ScoredPrompt>& batch) const {
        const LayerScales level(static_cast<std::size_t>(layers), 1.0);
        const auto measured = [&](bool share) { return must(session->scaleGradients(batch, level, {}, {share})); };
        compare(name, "prompts/s", static_cast<double>(batch.size()), budget,
                {[&] { (void)measured(false); }, [&] { (void)measured(true); }});
        const auto apart = measured(false), together = measured(true);
        double largest = 0.0, difference = 0.0;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            for (std::size_t scale = 0; scale < apart[i].gradient.size(); ++scale) {
                largest = std::max(largest, std::abs(apart[i].gradient[scale]));
                difference = std::max(difference, std::abs(apart[i].gradient[scale] - together[i].gradient[scale]));
            }
        }
        std::printf("%-9s the largest slope is %.1e, slopes are at most %.1e apart\n", "", largest, difference);
    }

    void decode(std::size_t count) const {
        std::vector<std::vector<TokenId>> prompts;
        for (std::size_t i = 0; i < count; ++i) prompts.push_back(prompt(i, 0.5).prompt);
        const GenerateOptions options{.mostNewTokens = kNewTokens};
        const auto apart = [&] {
            for (const auto& one : prompts) {
                session->resetSequence();
                auto logits = must(session->advance(one));
                for (int i = 1; i < kNewTokens; ++i) {
                    const TokenId next[] = {
                        static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
                    logits = must(session->advance(next));
                }
            }
        };
        compare("decode" + std::to_string(count), "tokens/s", static_cast<double>(count) * kNewTokens, budget,
                {apart, [&] { (void)must(session->generateAnswers(prompts, {}, options)); }});
    }
};

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Shared beginnings and joint decoding beside one prompt after the other");
    std::filesystem::path path = userDataFolder() / "models" / "demo" / "SmolLM2-135M-Instruct.Q4_1.gguf";
    int threads = 2;
    std::string dtype = "bfloat16", only;
    Bench bench;
    app.add_option("--model", path);
    app.add_option("--threads", threads);
    app.add_option("--seconds", bench.budget);
    app.add_option("--dtype", dtype)->check(CLI::IsMember({"float32", "bfloat16"}));
    app.add_option("--only", only);
    CLI11_PARSE(app, argc, argv);
    const auto weights = must(openWeights(path));
    bench.tokenizer = must(text::makeTokenizer(must(weights->tokenizerSpec())));
    NullObserver nobody;
    const auto type = dtype == "float32" ? ComputeType::Float32 : ComputeType::BFloat16;
    const auto model = must(loadCausalLm(weights, {type, "cpu"}, nobody));
    bench.session = model->newSession(threads);
    bench.layers = model->config().numLayers;
    const auto generator =
        must(tasks::KvGenerator::create(must(tasks::parseKeyKind("words")), kPairs, 1, tasks::commonWords()));
    for (int i = 0; i < 8; ++i) bench.items.push_back(generator.item(i));
    std::printf("%s, %s, %d threads, %s\n", model->config().name.c_str(), deviceDescription("cpu").c_str(), threads,
                computeTypeName(model->computeType()).c_str());

    const auto wanted = [&](const char* name) { return only.empty() || only == name; };
    for (const int places : {3, 11}) {
        std::vector<ScoredPrompt> batch;
        for (int i = 0; i < places; ++i) batch.push_back(bench.prompt(0, static_cast<double>(i) / (places - 1)));
        const std::string scored = "kv" + std::to_string(places), differentiated = "slopes" + std::to_string(places);
        if (wanted(scored.c_str())) bench.score(scored, batch);
        if (wanted(differentiated.c_str())) bench.slopes(differentiated, batch);
    }
    if (wanted("choices")) {
        std::vector<ScoredPrompt> batch(4, bench.prompt(0, 0.5));
        for (std::size_t i = 0; i < batch.size(); ++i) {
            batch[i].answer = bench.prompt(i + 1, 0.5).answer;
            batch[i].answer.resize(3, batch[i].answer.front());
        }
        bench.score("choices", batch);
    }
    if (wanted("decode")) {
        for (const std::size_t count : {1, 4, 8}) bench.decode(count);
    }
    return 0;
}
