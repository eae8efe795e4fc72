// Prefill tokens/s of the demo model in bfloat16 with the machine's limit beside it, scored prompts/s of the search's
// workload (three prompts of 190 tokens packed into one pass), and greedy decoding with the KV cache.
//   bench_prefill [--model PATH] [--threads N] [--seconds S] [--dtype float32|bfloat16] [--only NAME] [--json]
//   [--prompts] [--list]
// The limits are measured in the same run with the same threads: LibTorch's matrix products of the model's own shapes,
// plus causal attention's flops (half of T², what a causal kernel has to do) at the rate of those products; for
// decoding, reading as many bytes as the weights have. --json prints {"rows": […]}; --prompts adds the token ids, so
// that another engine can be timed on the same prompts (compare_transformers.py); --list names the rows and measures
// nothing.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/random.h"
#include "core/model/torch/large_pages.h"
#include "core/model/torch/torch_runtime.h"

namespace {

using namespace lpes;
using namespace lpes::model;

/// Median seconds of a call, called for about `budget` seconds and at least three times. A body that answers seconds
/// has timed itself.
template <class Body>
double medianSeconds(double budget, const Body& body) {
    body();
    std::vector<double> times;
    const double start = steadySeconds();
    while (times.size() < 3 || steadySeconds() - start < budget) {
        const double before = steadySeconds();
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            times.push_back(steadySeconds() - before);
        } else {
            times.push_back(body());
        }
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

struct Limit {
    double seconds = 0.0, flops = 0.0;
};

/// One layer's matrix products for `tokens` rows, weights of all layers in turn so that they come from memory as they
/// do in the model.
Limit gemmLimit(const ModelConfig& config, at::ScalarType type, int tokens, int threads, double budget) {
    at::set_num_threads(threads);
    const c10::InferenceMode on;
    const std::int64_t qkv = (config.numHeads + 2 * config.numKvHeads) * config.headDim;
    const std::int64_t context = config.numHeads * config.headDim;
    const std::int64_t shapes[][2] = {{qkv, config.hiddenSize},
                                      {config.hiddenSize, context},
                                      {2 * config.intermediateSize, config.hiddenSize},
                                      {config.hiddenSize, config.intermediateSize}};
    std::vector<std::vector<at::Tensor>> weights;
    std::vector<at::Tensor> inputs, outputs;
    Limit limit;
    for (const auto& shape : shapes) {
        std::vector<at::Tensor>& layers = weights.emplace_back();
        for (int layer = 0; layer < config.numLayers; ++layer)
            layers.push_back(at::randn({shape[0], shape[1]}).to(type));
        inputs.push_back(at::randn({tokens, shape[1]}).to(type));
        outputs.push_back(at::empty({tokens, shape[0]}, type));
        limit.flops += 2.0 * static_cast<double>(shape[0] * shape[1]) * tokens * config.numLayers;
    }
    limit.seconds = medianSeconds(budget, [&] {
        for (int layer = 0; layer < config.numLayers; ++layer) {
            for (std::size_t i = 0; i < weights.size(); ++i) {
                at::mm_out(outputs[i], inputs[i], weights[i][static_cast<std::size_t>(layer)].t());
            }
        }
    });
    return limit;
}

std::vector<TokenId> ids(int count, int vocab, std::uint32_t stream) {
    RandomStream random(1, kStreamTests, stream);
    std::vector<TokenId> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocab))));
    }
    return result;
}

struct Row {
    const char* name;
    int prompts, tokens;
};

// The lengths of the issue tracker's figures, then the search's workload: an item at three positions in one pass.
constexpr Row kRows[] = {
    {"1x190", 1, 190}, {"1x811", 1, 811}, {"1x4096", 1, 4096}, {"3x190", 3, 190}, {"6x190", 6, 190}};
constexpr int kAnswerTokens = 4;

// Decoding: greedy tokens after a prompt.
constexpr const char* kDecode = "decode";
constexpr int kDecodePrompt = 190, kNewTokens = 64;

/// Seconds of kNewTokens greedy tokens, each from the logits before, after the prompt's prefill.
double decodeSeconds(ModelSession& session, const std::vector<TokenId>& prompt) {
    session.resetSequence();
    auto logits = session.advance(prompt);
    const double start = steadySeconds();
    for (int i = 0; logits && i < kNewTokens; ++i) {
        const auto best = std::max_element(logits->begin(), logits->end()) - logits->begin();
        const TokenId next[] = {static_cast<TokenId>(best)};
        logits = session.advance(next);
    }
    if (!logits) std::fprintf(stderr, "%s\n", logits.error().text().c_str());
    return steadySeconds() - start;
}

/// Sum of `count` words from four places at once, each asked for early and a cache line at a time: what keeps the most
/// lines on their way. With the widest vectors that the processor has.
[[gnu::target_clones("avx512f", "avx2", "default")]] std::uint64_t readWords(const std::uint64_t* words,
                                                                             std::int64_t count) {
    constexpr std::int64_t kStreams = 4, kLine = 8, kAhead = 16 * kLine;
    const std::int64_t each = count / kStreams / kLine * kLine;
    std::uint64_t lanes[kStreams][kLine] = {};
    for (std::int64_t i = 0; i < each; i += kLine) {
#pragma GCC unroll 4
        for (std::int64_t stream = 0; stream < kStreams; ++stream) {
            const std::uint64_t* line = words + stream * each + i;
            __builtin_prefetch(line + kAhead);
            for (std::int64_t lane = 0; lane < kLine; ++lane) lanes[stream][lane] += line[lane];
        }
    }
    std::uint64_t sum = 0;
    for (const auto& stream : lanes) {
        for (const std::uint64_t lane : stream) sum += lane;
    }
    return sum;
}

/// Bytes/s at which the threads read a buffer of that size, on large pages as the weights are: what every token has to
/// do with them.
double readingRate(std::int64_t bytes, int threads, double budget) {
    at::set_num_threads(threads);
    const at::Tensor buffer = emptyOnLargePages({bytes / 8}, at::kLong).fill_(1);
    const auto* words = reinterpret_cast<const std::uint64_t*>(buffer.const_data_ptr<std::int64_t>());
    std::uint64_t total = 0;
    const double seconds = medianSeconds(budget, [&] {
        std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads));
        at::parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t part = begin; part < end; ++part) {
                const std::int64_t first = bytes / 8 * part / threads, last = bytes / 8 * (part + 1) / threads;
                sums[static_cast<std::size_t>(part)] = readWords(words + first, last - first);
            }
        });
        for (const std::uint64_t sum : sums) total += sum;
    });
    if (total == 0) std::fprintf(stderr, "nothing was read\n");
    return static_cast<double>(bytes) / seconds;
}

/// Floating-point operations of causal attention: both products, of the keys that each query sees.
double attentionFlops(const ModelConfig& config, const Row& row) {
    const double pairs = 0.5 * row.tokens * (row.tokens + 1.0);
    return 4.0 * row.prompts * pairs * config.numHeads * config.headDim * config.numLayers;
}

}  // namespace

int main(int argc, char** argv) {
    using nlohmann::json;
    CLI::App app("Prefill tokens/s beside the matrix-multiply limit of this machine");
    std::filesystem::path path = userDataFolder() / "models" / "demo" / "SmolLM2-135M-Instruct.Q4_1.gguf";
    int threads = 2;
    double budget = 3.0;
    std::string dtype = "bfloat16", only;
    bool asJson = false, withPrompts = false, list = false;
    app.add_option("--model", path);
    app.add_option("--threads", threads);
    app.add_option("--seconds", budget);
    app.add_option("--dtype", dtype)->check(CLI::IsMember({"float32", "bfloat16"}));
    app.add_option("--only", only);
    app.add_flag("--json", asJson);
    app.add_flag("--prompts", withPrompts);
    app.add_flag("--list", list);
    CLI11_PARSE(app, argc, argv);
    json out = {{"rows", json::array()}};
    if (list) {
        for (const Row& row : kRows) out["rows"].push_back({{"name", row.name}});
        out["rows"].push_back({{"name", kDecode}});
        return std::printf("%s\n", out.dump().c_str()), 0;
    }
    const auto weights = openWeights(path);
    if (!weights) return std::fprintf(stderr, "%s\n", weights.error().text().c_str()), exitCode(weights.error().code);
    NullObserver nobody;
    const bool wide = dtype == "float32";
    const double start = steadySeconds();
    const auto model = loadCausalLm(*weights, {wide ? ComputeType::Float32 : ComputeType::BFloat16, "cpu"}, nobody);
    if (!model) return std::fprintf(stderr, "%s\n", model.error().text().c_str()), exitCode(model.error().code);
    const ModelConfig& config = (*model)->config();
    if (!asJson) {
        std::printf("%s, %s, %d threads, %s; loaded in %.2f s\n", config.name.c_str(), deviceDescription("cpu").c_str(),
                    threads, computeTypeName((*model)->computeType()).c_str(), steadySeconds() - start);
    }
    const auto session = (*model)->newSession(threads);
    for (const Row& row : kRows) {
        if (!only.empty() && only != row.name) continue;
        std::vector<ScoredPrompt> batch;
        json prompts = json::array();
        for (int i = 0; i < row.prompts; ++i) {
            ScoredPrompt prompt{ids(row.tokens - kAnswerTokens, config.vocabSize, static_cast<std::uint32_t>(i)),
                                ids(kAnswerTokens, config.vocabSize, static_cast<std::uint32_t>(100 + i))};
            std::vector<TokenId> whole = prompt.prompt;
            whole.insert(whole.end(), prompt.answer.begin(), prompt.answer.end());
            prompts.push_back(std::move(whole));
            batch.push_back(std::move(prompt));
        }
        const Limit limit =
            gemmLimit(config, wide ? at::kFloat : at::kBFloat16, row.prompts * row.tokens, threads, budget / 2);
        const double seconds = medianSeconds(budget, [&] {
            if (const auto r = session->scoreAnswers(batch, {}); !r)
                std::fprintf(stderr, "%s\n", r.error().text().c_str());
        });
        const double count = static_cast<double>(row.prompts) * row.tokens;
        // Attention at the products' rate: its own flops, half of T² because a query sees no later keys.
        const double best = limit.seconds * (1.0 + attentionFlops(config, row) / limit.flops);
        json measured = {{"name", row.name},
                         {"tokens", count},
                         {"answer_tokens", kAnswerTokens},
                         {"tokens_per_second", count / seconds},
                         {"prompts_per_second", row.prompts / seconds},
                         {"limit_tokens_per_second", count / best},
                         {"gemm_tokens_per_second", count / limit.seconds},
                         {"gemm_gflops", limit.flops / limit.seconds / 1e9}};
        if (withPrompts) measured["prompts"] = std::move(prompts);
        if (!asJson) {
            std::printf(
                "%-7s %7.0f tokens/s %7.2f prompts/s | products and attention at the products' %5.0f GFLOP/s: "
                "%7.0f tokens/s (we reach %4.1f %%); products alone: %7.0f\n",
                row.name, count / seconds, row.prompts / seconds, limit.flops / limit.seconds / 1e9, count / best,
                100.0 * best / seconds, count / limit.seconds);
        }
        out["rows"].push_back(std::move(measured));
    }
    if (only.empty() || only == kDecode) {
        const std::vector<TokenId> prompt = ids(kDecodePrompt, config.vocabSize, 1);
        const double seconds = medianSeconds(budget, [&] { return decodeSeconds(*session, prompt); });
        const double rate = readingRate((*model)->residentBytes(), threads, budget / 2);
        const double limit = rate / static_cast<double>((*model)->residentBytes());
        json measured = {{"name", kDecode},
                         {"new_tokens", kNewTokens},
                         {"tokens_per_second", kNewTokens / seconds},
                         {"limit_tokens_per_second", limit},
                         {"read_gigabytes_per_second", rate / 1e9}};
        if (withPrompts) measured["prompts"] = {prompt};
        if (!asJson) {
            std::printf(
                "%-7s %7.1f tokens/s after %d tokens | reading %.0f MB of weights alone, %.1f GB/s: %.1f "
                "tokens/s (we reach %4.1f %% of it)\n",
                kDecode, kNewTokens / seconds, kDecodePrompt, static_cast<double>((*model)->residentBytes()) / 1e6,
                rate / 1e9, limit, 100.0 * kNewTokens / seconds / limit);
        }
        out["rows"].push_back(std::move(measured));
    }
    if (asJson) std::printf("%s\n", out.dump().c_str());
    return 0;
}
