// Prefill tokens/s of the demo model in bfloat16 with the machine's matrix-multiply limit for the same shapes beside
// it, and scored prompts/s of the search's workload (three prompts of 190 tokens packed into one pass).
//   bench_prefill [MODEL [THREADS [SECONDS_PER_ROW [float32|bfloat16]]]]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/random.h"
#include "core/model/torch/torch_runtime.h"

namespace {

using namespace lpes;
using namespace lpes::model;

/// Median seconds of a call, called for about `budget` seconds and at least three times.
template <class Body>
double medianSeconds(double budget, const Body& body) {
    body();
    std::vector<double> times;
    const double start = steadySeconds();
    while (times.size() < 3 || steadySeconds() - start < budget) {
        const double before = steadySeconds();
        body();
        times.push_back(steadySeconds() - before);
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

}  // namespace

int main(int argc, char** argv) {
    const std::filesystem::path path = argc > 1
                                           ? std::filesystem::path(argv[1])
                                           : userDataFolder() / "models" / "demo" / "SmolLM2-135M-Instruct.Q4_1.gguf";
    const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
    const double budget = argc > 3 ? std::atof(argv[3]) : 3.0;
    const bool wide = argc > 4 && std::string(argv[4]) == "float32";
    const auto weights = openWeights(path);
    if (!weights) return std::fprintf(stderr, "%s\n", weights.error().text().c_str()), exitCode(weights.error().code);
    NullObserver nobody;
    const double start = steadySeconds();
    const auto model = loadCausalLm(*weights, {wide ? ComputeType::Float32 : ComputeType::BFloat16, "cpu"}, nobody);
    if (!model) return std::fprintf(stderr, "%s\n", model.error().text().c_str()), exitCode(model.error().code);
    const ModelConfig& config = (*model)->config();
    std::printf("%s, %s, %d threads, %s; loaded in %.2f s\n", config.name.c_str(), deviceDescription("cpu").c_str(),
                threads, computeTypeName((*model)->computeType()).c_str(), steadySeconds() - start);
    const at::ScalarType type = wide ? at::kFloat : at::kBFloat16;
    const auto session = (*model)->newSession(threads);

    const auto row = [&](const char* what, int prompts, int tokens) {
        std::vector<ScoredPrompt> batch;
        for (int i = 0; i < prompts; ++i) {
            batch.push_back({ids(tokens - 3, config.vocabSize, static_cast<std::uint32_t>(i)),
                             ids(4, config.vocabSize, static_cast<std::uint32_t>(100 + i))});
        }
        const Limit limit = gemmLimit(config, type, prompts * tokens, threads, budget / 2);
        const double seconds = medianSeconds(budget, [&] {
            if (const auto r = session->scoreAnswers(batch, {}); !r)
                std::fprintf(stderr, "%s\n", r.error().text().c_str());
        });
        const double count = static_cast<double>(prompts) * tokens;
        std::printf(
            "%-10s %5d tokens: %7.0f tokens/s %7.2f prompts/s | matrix products alone: %7.0f tokens/s, %5.0f "
            "GFLOP/s (we use %4.1f %% of it)\n",
            what, prompts * tokens, count / seconds, prompts / seconds, count / limit.seconds,
            limit.flops / limit.seconds / 1e9, 100.0 * limit.seconds / seconds);
    };
    row("1 x 190", 1, 190);
    row("1 x 811", 1, 811);
    row("1 x 4096", 1, 4096);
    row("3 x 190", 3, 190);
    row("6 x 190", 6, 190);

    session->resetSequence();
    (void)session->advance(ids(190, config.vocabSize, 1));
    const double decode = medianSeconds(budget, [&] { (void)session->advance(ids(1, config.vocabSize, 2)); });
    std::printf("decode after 190 tokens: %.1f tokens/s\n", 1.0 / decode);
    return 0;
}
