// What a GPU does with bfloat16 models of real sizes and random weights, everything measured in one run:
//   products   the layers' matrix products alone (the machine's limit for these shapes), TFLOP/s
//   prefill    8,192 tokens: plain LibTorch operations, the same with our RoPE kernel, and the program's own decoder,
//              each as a share of that limit
//   rope       our kernel against LibTorch's operations, one layer
//   columns    attention by position over all queries: our kernel against LibTorch in blocks of rows, one layer
//   logits     float32 on the GPU against float32 on the CPU
//   bench_gpu [--device cuda:N|cpu] [--tokens N] [--seconds S] [--only NAME] [--json FILE]
// --device cpu runs the references in the kernels' place, which checks this program where there is no GPU.
// Exit code 0 when all was measured, 4 when there is no GPU (the reason is printed), 1 when a comparison failed.
#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/model/cuda/column_sums.h"
#include "core/model/torch/devices.h"
#include "core/model/torch/torch_runtime.h"
#include "tests/bench/plain_llama.h"
#include "tests/bench/random_model.h"

namespace {

using namespace lpes;
using namespace lpes::model;
using nlohmann::json;

struct Bench {
    std::string device;
    std::int64_t tokens = 8192;
    double budget = 2.0;
    json results = json::object();
    bool failed = false;

    [[nodiscard]] at::Device at() const { return at::Device(device); }
    [[nodiscard]] at::TensorOptions options(at::ScalarType type) const { return at::TensorOptions(type).device(at()); }
    /// Waits for the GPU.
    void wait() const { (void)at::zeros({1}, options(at::kFloat)).item<float>(); }

    /// Median seconds of a call including the wait for the GPU, for about `budget` seconds and at least three times,
    /// after one call to warm up. `calls` per measurement where one is too short for a clock.
    double seconds(const std::function<void()>& body, int calls = 1) const {
        body();
        wait();
        std::vector<double> times;
        const double start = steadySeconds();
        while (times.size() < 3 || steadySeconds() - start < budget) {
            const double before = steadySeconds();
            for (int i = 0; i < calls; ++i) body();
            wait();
            times.push_back((steadySeconds() - before) / calls);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }
};

/// Why our kernels cannot be measured; empty when they can.
std::string kernelsProblem(const Bench& bench) {
    return bench.at().is_cpu() ? std::string() : cuda::kernelsProblem(bench.at().index());
}

/// As Llama 3.2 1B and Llama 3.1 8B (half its layers: what is measured per layer does not change).
std::vector<ModelConfig> models(std::int64_t tokens) {
    const int context = static_cast<int>(tokens);
    return {bench::llamaConfig("head_dim 64", 16, 2048, 32, 8, 64, 8192, 32000, context),
            bench::llamaConfig("head_dim 128", 16, 4096, 32, 8, 128, 14336, 32000, context)};
}

std::vector<TokenId> ids(std::int64_t count, int vocab) {
    RandomStream random(3, kStreamTests, 1);
    std::vector<TokenId> result;
    for (std::int64_t i = 0; i < count; ++i) {
        result.push_back(static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocab))));
    }
    return result;
}

at::Tensor idTensor(const std::vector<TokenId>& tokens, at::Device device) {
    return at::tensor(std::vector<std::int64_t>(tokens.begin(), tokens.end()), at::kLong).to(device);
}

/// Seconds of all layers' matrix products, every layer with weights of its own as in the model.
double productSeconds(const Bench& bench, const bench::PlainModel& model, double& flops) {
    const ModelConfig& config = model.config;
    const std::int64_t context = std::int64_t{config.numHeads} * config.headDim;
    const at::Tensor hidden = at::randn({bench.tokens, config.hiddenSize}, bench.options(at::kBFloat16));
    const at::Tensor attended = at::randn({bench.tokens, context}, bench.options(at::kBFloat16));
    const at::Tensor active = at::randn({bench.tokens, config.intermediateSize}, bench.options(at::kBFloat16));
    flops = 0.0;
    for (const bench::PlainLayer& layer : model.layers) {
        for (const at::Tensor* weight : {&layer.qkv, &layer.output, &layer.gateUp, &layer.down}) {
            flops += 2.0 * static_cast<double>(bench.tokens) * static_cast<double>(weight->numel());
        }
    }
    return bench.seconds([&] {
        for (const bench::PlainLayer& layer : model.layers) {
            (void)at::linear(hidden, layer.qkv);
            (void)at::linear(attended, layer.output);
            (void)at::linear(hidden, layer.gateUp);
            (void)at::linear(active, layer.down);
        }
    });
}

void measurePrefill(Bench& bench) {
    for (const ModelConfig& config : models(bench.tokens)) {
        json& out = bench.results["prefill"][config.name];
        double flops = 0.0, limit = 0.0;
        const auto report = [&](const char* name, double seconds) {
            std::printf("%-13s prefill of %lld tokens, %-30s %8.0f tokens/s, %5.1f %% of the products' rate\n",
                        config.name.c_str(), static_cast<long long>(bench.tokens), name,
                        static_cast<double>(bench.tokens) / seconds, 100.0 * limit / seconds);
            out[name] = {{"seconds", seconds}, {"share", limit / seconds}};
        };
        const std::vector<TokenId> prompt = ids(bench.tokens, config.vocabSize);
        {
            const c10::InferenceMode on;
            const bench::PlainModel model = bench::randomModel(config, at::kBFloat16, bench.at());
            limit = productSeconds(bench, model, flops);
            std::printf("%-13s matrix products alone: %.2f ms, %.0f TFLOP/s\n", config.name.c_str(), limit * 1e3,
                        flops / limit / 1e12);
            out["products"] = {{"seconds", limit}, {"tflops", flops / limit / 1e12}};
            const at::Tensor tokens = idTensor(prompt, bench.at());
            const auto plain = bench::plainRotation(config, bench.tokens, at::kBFloat16, bench.at());
            report("plain LibTorch", bench.seconds([&] { (void)bench::plainPrefill(model, tokens, plain, 1); }));
            if (const std::string problem = kernelsProblem(bench); !problem.empty()) {
                std::printf("%-13s our kernels are not measured: %s\n", config.name.c_str(), problem.c_str());
            } else {
                const auto own = bench::ownRotation(config, bench.tokens, at::kBFloat16, bench.at());
                report("LibTorch with our RoPE kernel",
                       bench.seconds([&] { (void)bench::plainPrefill(model, tokens, own, 1); }));
            }
        }
        NullObserver nobody;
        const auto loaded =
            loadCausalLm(std::make_shared<bench::RandomWeights>(config), {ComputeType::BFloat16, bench.device}, nobody);
        if (!loaded) {
            std::printf("%-13s the program's decoder is not measured: %s\n", config.name.c_str(),
                        loaded.error().text().c_str());
            continue;
        }
        const auto session = (*loaded)->newSession(1);
        const std::vector<ScoredPrompt> batch = {{{prompt.begin(), prompt.end() - 1}, {prompt.back()}}};
        const LayerScales scales(static_cast<std::size_t>(config.numLayers), 1.1);
        std::string problem;
        const double seconds = bench.seconds([&] {
            if (const auto scored = session->scoreAnswers(batch, scales); !scored) problem = scored.error().text();
        });
        if (!problem.empty()) {
            std::printf("%-13s the program's decoder failed: %s\n", config.name.c_str(), problem.c_str());
            bench.failed = true;
        } else {
            report("the program's decoder", seconds);
        }
    }
}

void measureRope(Bench& bench) {
    const c10::InferenceMode on;
    for (const ModelConfig& config : models(bench.tokens)) {
        const std::int64_t width = std::int64_t{config.numHeads + 2 * config.numKvHeads} * config.headDim;
        at::Tensor qkv = at::randn({bench.tokens, width}, bench.options(at::kBFloat16));
        at::Tensor copy = qkv.clone();
        const auto plain = bench::plainRotation(config, bench.tokens, at::kBFloat16, bench.at());
        const auto own = bench::ownRotation(config, bench.tokens, at::kBFloat16, bench.at());
        plain(qkv, 1.1);
        own(copy, 1.1);
        const double difference = (qkv - copy).abs().max().item<double>();
        const double theirs = bench.seconds([&] { plain(qkv, 1.1); }, 20),
                     ours = bench.seconds([&] { own(copy, 1.1); }, 20);
        const double moved =
            2.0 * 2.0 * static_cast<double>(bench.tokens) * (config.numHeads + config.numKvHeads) * config.headDim;
        std::printf(
            "%-13s RoPE of one layer: LibTorch %.3f ms, ours %.3f ms (%.1f times as fast, %.2f TB/s), largest "
            "difference %.3g\n",
            config.name.c_str(), theirs * 1e3, ours * 1e3, theirs / ours, moved / ours / 1e12, difference);
        bench.results["rope"][config.name] = {{"libtorch", theirs}, {"ours", ours}, {"difference", difference}};
        // Values of up to about 5 in bfloat16: units of 1/32, of which the products' roundings may take two.
        if (!(difference <= 0.0625)) bench.failed = true;
    }
}

/// The mean over heads of each column's sum, in LibTorch's operations, in blocks of rows so that memory suffices.
at::Tensor plainColumns(const at::Tensor& q, const at::Tensor& k, double scale) {
    const std::int64_t heads = q.size(0), tokens = q.size(1), group = heads / k.size(0), block = 512;
    const at::Tensor keys = k.repeat_interleave(group, 0).transpose(1, 2);
    at::Tensor sums = at::zeros({heads, tokens}, q.options().dtype(at::kFloat));
    for (std::int64_t first = 0; first < tokens; first += block) {
        const std::int64_t count = std::min(block, tokens - first), seen = first + count;
        at::Tensor scores = at::matmul(q.narrow(1, first, count), keys.narrow(2, 0, seen)).to(at::kFloat) * scale;
        const at::Tensor later = at::ones({count, seen}, q.options().dtype(at::kBool)).triu(first + 1);
        scores.masked_fill_(later, -std::numeric_limits<float>::infinity());
        sums.narrow(1, 0, seen).add_(at::softmax(scores, -1).sum(1));
    }
    return sums.mean(0);
}

void measureColumns(Bench& bench) {
    const c10::InferenceMode on;
    for (const ModelConfig& config : models(bench.tokens)) {
        const at::Tensor q = at::randn({config.numHeads, bench.tokens, config.headDim}, bench.options(at::kBFloat16));
        const at::Tensor k = at::randn({config.numKvHeads, bench.tokens, config.headDim}, bench.options(at::kBFloat16));
        const at::Tensor mean = at::empty({bench.tokens}, bench.options(at::kDouble));
        cuda::ColumnSumsTask task;
        task.type = cuda::DataType::BFloat16;
        task.heads = config.numHeads;
        task.kvHeads = config.numKvHeads;
        task.headDim = config.headDim;
        task.queries = task.keys = bench.tokens;
        task.q = q.const_data_ptr();
        task.k = k.const_data_ptr();
        task.qHeadStride = q.stride(0);
        task.qRowStride = q.stride(1);
        task.kHeadStride = k.stride(0);
        task.kRowStride = k.stride(1);
        task.scale = 1.0 / std::sqrt(static_cast<double>(config.headDim));
        task.mean = mean.mutable_data_ptr<double>();
        const at::Tensor scratch =
            at::empty({static_cast<std::int64_t>(cuda::columnSumsScratchBytes(task))}, bench.options(at::kByte));
        const auto own = [&] {
            if (const auto status = bench.at().is_cpu() ? cuda::columnSumsCpu(task)
                                                        : cuda::columnSums(task, scratch.mutable_data_ptr(), nullptr);
                !status.ok()) {
                std::fprintf(stderr, "bench_gpu: %s\n", status.message().c_str());
                bench.failed = true;
            }
        };
        own();
        const at::Tensor expected = plainColumns(q, k, task.scale).to(at::kDouble);
        // LibTorch rounds the scores to bfloat16 on the way; ours do not.
        const double difference = ((mean - expected).abs() / expected).max().item<double>();
        const double ours = bench.seconds(own), theirs = bench.seconds([&] { (void)plainColumns(q, k, task.scale); });
        const double flops = 2.0 * 2.0 * config.numHeads * static_cast<double>(bench.tokens) *
                             static_cast<double>(bench.tokens) / 2.0 * config.headDim;
        std::printf(
            "%-13s columns' sums of one layer: LibTorch %.2f ms, ours %.2f ms (%.1f times as fast, %.0f TFLOP/s), "
            "largest relative difference %.3g\n",
            config.name.c_str(), theirs * 1e3, ours * 1e3, theirs / ours, flops / ours / 1e12, difference);
        bench.results["columns"][config.name] = {{"libtorch", theirs}, {"ours", ours}, {"difference", difference}};
        if (!(difference <= 0.02)) bench.failed = true;
    }
}

void compareLogits(Bench& bench) {
    const ModelConfig config = bench::llamaConfig("small", 4, 512, 8, 2, 64, 1024, 1000, 1024);
    const std::vector<TokenId> prompt = ids(700, config.vocabSize);
    const auto compare = [&](const char* name, double difference, double tolerance) {
        std::printf("%-13s %s, float32, 700 tokens: largest difference between GPU and CPU %.3g\n", config.name.c_str(),
                    name, difference);
        bench.results["logits"][name] = difference;
        if (!(difference <= tolerance)) bench.failed = true;
    };
    if (kernelsProblem(bench).empty()) {
        const c10::InferenceMode on;
        const auto run = [&](at::Device device) {
            const bench::PlainModel model = bench::randomModel(config, at::kFloat, device);
            const auto own = bench::ownRotation(config, 700, at::kFloat, device);
            return bench::plainPrefill(model, idTensor(prompt, device), own, 700).to(at::kCPU);
        };
        compare("logits with our RoPE kernel", (run(bench.at()) - run(at::kCPU)).abs().max().item<double>(), 2e-3);
    }
    NullObserver nobody;
    const auto weights = std::make_shared<bench::RandomWeights>(config);
    std::vector<double> scores[2];
    for (int i = 0; i < 2; ++i) {
        const auto loaded = loadCausalLm(weights, {ComputeType::Float32, i == 0 ? "cpu" : bench.device}, nobody);
        if (!loaded) {
            std::printf("%-13s the program's decoder is not compared: %s\n", config.name.c_str(),
                        loaded.error().text().c_str());
            return;
        }
        const auto scored = (*loaded)->newSession(1)->scoreText(prompt, LayerScales(4, 1.2), 1);
        if (!scored) {
            std::printf("%-13s the program's decoder failed: %s\n", config.name.c_str(), scored.error().text().c_str());
            bench.failed = true;
            return;
        }
        scores[i] = scored->logProbs;
    }
    double difference = 0.0;
    for (std::size_t i = 0; i < scores[0].size(); ++i)
        difference = std::max(difference, std::abs(scores[0][i] - scores[1][i]));
    compare("log-probabilities of the program", difference, 2e-3);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Speed and agreement of a GPU");
    Bench bench;
    std::string only, file;
    bench.device = "cuda:0";
    app.add_option("--device", bench.device)->check([](const std::string& text) {
        const bool good = text.rfind("cuda:", 0) == 0 && text.size() == 6 && text[5] >= '0' && text[5] <= '9';
        return good || text == "cpu" ? std::string() : "'" + text + "' is neither cuda:N nor cpu";
    });
    app.add_option("--tokens", bench.tokens)->check(CLI::Range(64, 131072));
    app.add_option("--seconds", bench.budget);
    app.add_option("--only", only)->check(CLI::IsMember({"prefill", "rope", "columns", "logits"}));
    app.add_option("--json", file);
    CLI11_PARSE(app, argc, argv);

    if (bench.at().is_cuda()) {
        std::printf("LibTorch %s; %s\n", libTorchVersion().c_str(), gpuStatus().c_str());
        if (!loadGpuSupport().empty()) return 4;
        if (bench.at().index() >= static_cast<int>(discoverGpus().gpus.size())) {
            return std::printf("no GPU: there is no %s\n", bench.device.c_str()), 4;
        }
    }
    const std::string problem = kernelsProblem(bench);
    // Our kernels run on the current device, LibTorch's and ours being the same one.
    const c10::OptionalDeviceGuard current(bench.at().is_cuda() ? std::optional(bench.at()) : std::nullopt);
    if (bench.at().is_cuda() && problem.empty()) {
        if (const auto status = cuda::useDevice(bench.at().index()); !status.ok()) {
            return std::printf("no GPU: %s\n", status.message().c_str()), 4;
        }
    }
    const struct {
        const char* name;
        void (*run)(Bench&);
        bool needsKernels;
    } sections[] = {{"rope", measureRope, true},
                    {"columns", measureColumns, true},
                    {"logits", compareLogits, false},
                    {"prefill", measurePrefill, false}};
    for (const auto& section : sections) {
        if (!only.empty() && only != section.name) continue;
        if (section.needsKernels && !problem.empty()) {
            std::printf("%s: not measured: %s\n", section.name, problem.c_str());
            continue;
        }
        try {
            section.run(bench);
        } catch (const c10::Error& error) {
            std::printf("%s: LibTorch failed: %s\n", section.name, error.what_without_backtrace());
            bench.failed = true;
        }
        std::fflush(stdout);
    }
    if (!file.empty()) std::ofstream(file) << bench.results.dump(2) << '\n';
    if (bench.failed) std::printf("FAILED: a comparison or a measurement above did not hold\n");
    return bench.failed ? 1 : 0;
}
