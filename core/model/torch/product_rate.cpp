#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <vector>

#include "core/base/clock.h"
#include "core/model/torch/compute_scope.h"
#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/torch_runtime.h"

namespace lpes::model {

Result<double> measureProductRate(const ModelConfig& config, ComputeType type, int tokens, int threads, double seconds,
                                  std::stop_token stop) {
    return computing("measuring matrix products", threads, [&]() -> Result<double> {
        const std::int64_t context = std::int64_t{config.numHeads} * config.headDim;
        const std::int64_t qkv = context + 2 * std::int64_t{config.numKvHeads} * config.headDim;
        const std::int64_t shapes[][2] = {{qkv, config.hiddenSize},
                                          {config.hiddenSize, context},
                                          {2 * std::int64_t{config.intermediateSize}, config.hiddenSize},
                                          {config.hiddenSize, config.intermediateSize}};
        struct Product {
            at::Tensor weight, input, output;
        };
        std::vector<Product> products;
        double flops = 0.0;
        for (const auto& shape : shapes) {
            const at::TensorOptions options(scalarType(type));
            products.push_back({at::randn({shape[0], shape[1]}).to(options.dtype()),
                                at::randn({tokens, shape[1]}).to(options.dtype()),
                                at::empty({tokens, shape[0]}, options)});
            flops += 2.0 * static_cast<double>(shape[0] * shape[1]) * tokens;
        }
        // The best of several rounds: what the machine can do when nothing else disturbs it.
        double best = 0.0;
        const double start = steadySeconds();
        for (int round = 0; round < 3 || steadySeconds() - start < seconds; ++round) {
            if (stop.stop_requested()) throw StopRequested{};
            const double before = steadySeconds();
            for (Product& product : products) at::mm_out(product.output, product.input, product.weight.t());
            best = std::max(best, flops / (steadySeconds() - before));
        }
        return best * 1e-9;
    });
}

}  // namespace lpes::model
