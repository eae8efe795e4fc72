#include "tests/bench/plain_llama.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "core/model/cuda/rope_kernel.h"
#include "core/rope/rope_config.h"

namespace lpes::bench {
namespace {

void must(const cuda::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "bench_gpu: %s\n", status.message().c_str());
    std::exit(1);
}

cuda::DataType dataType(at::ScalarType type) {
    return type == at::kFloat  ? cuda::DataType::Float32
           : type == at::kHalf ? cuda::DataType::Float16
                               : cuda::DataType::BFloat16;
}

}  // namespace

PlainModel randomModel(const model::ModelConfig& config, at::ScalarType type, at::Device device) {
    const std::int64_t e = config.hiddenSize, q = std::int64_t{config.numHeads} * config.headDim;
    const std::int64_t kv = std::int64_t{config.numKvHeads} * config.headDim, inner = config.intermediateSize;
    at::manual_seed(11);
    // One draw, cut anew for each matrix: gigabytes of weights in seconds.
    const at::Tensor numbers = (at::randn({4999999}, at::kFloat) / std::sqrt(static_cast<double>(e))).to(device, type);
    std::int64_t drawn = 0;
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
        const std::int64_t start = drawn++ * 7919 % 100000, period = numbers.size(0) - start;
        const at::Tensor source = numbers.narrow(0, start, period);
        return source.repeat({(rows * columns + period - 1) / period})
            .narrow(0, 0, rows * columns)
            .view({rows, columns})
            .clone();
    };
    const auto ones = [&] { return at::ones({e}, at::TensorOptions(type).device(device)); };
    PlainModel model{config, {}, matrix(config.vocabSize, e), ones()};
    for (int layer = 0; layer < config.numLayers; ++layer) {
        model.layers.push_back(
            {ones(), matrix(q + 2 * kv, e), matrix(e, q), ones(), matrix(2 * inner, e), matrix(e, inner)});
    }
    return model;
}

Rotation plainRotation(const model::ModelConfig& config, std::int64_t tokens, at::ScalarType type, at::Device device) {
    struct Table {
        at::Tensor cos, sin;
    };
    auto tables = std::make_shared<std::map<double, Table>>();
    const std::vector<double> frequencies = rope::inverseFrequencies(config.rope, static_cast<int>(tokens));
    const std::int64_t heads = config.numHeads + config.numKvHeads, headDim = config.headDim;
    return [=](at::Tensor& qkv, double scale) {
        Table& table = (*tables)[scale];
        if (!table.cos.defined()) {
            const rope::PositionTable values = rope::positionTable(frequencies, scale, 0, static_cast<int>(tokens));
            const auto whole = [&](const std::vector<float>& half) {
                const at::Tensor rows = at::tensor(half).view({tokens, 1, headDim / 2}).to(device, type);
                return at::cat({rows, rows}, 2);
            };
            table = {whole(values.cos), whole(values.sin)};
        }
        const at::Tensor both = qkv.narrow(1, 0, heads * headDim).view({tokens, heads, headDim});
        const auto halves = both.chunk(2, 2);
        const at::Tensor turned = at::cat({-halves[1], halves[0]}, 2);
        both.copy_(both * table.cos + turned * table.sin);
    };
}

Rotation ownRotation(const model::ModelConfig& config, std::int64_t tokens, at::ScalarType type, at::Device device) {
    const at::Tensor positions = at::arange(tokens, at::kInt).to(device);
    const at::Tensor frequencies =
        at::tensor(rope::inverseFrequencies(config.rope, static_cast<int>(tokens)), at::kDouble).to(device);
    return [=](at::Tensor& qkv, double scale) {
        cuda::RopeTask task;
        task.type = dataType(type);
        task.rows = tokens;
        task.headDim = task.rotaryDim = config.headDim;
        task.q = qkv.data_ptr();
        task.k = static_cast<char*>(qkv.data_ptr()) +
                 static_cast<std::int64_t>(qkv.element_size()) * config.numHeads * config.headDim;
        task.qRowStride = task.kRowStride = qkv.stride(0);
        task.qHeads = config.numHeads;
        task.kHeads = config.numKvHeads;
        task.positions = positions.const_data_ptr<std::int32_t>();
        task.inverseFrequencies = frequencies.const_data_ptr<double>();
        task.scale = scale;
        must(device.is_cpu() ? cuda::ropeInPlaceCpu(task) : cuda::ropeInPlace(task, nullptr));
    };
}

at::Tensor plainPrefill(const PlainModel& model, const at::Tensor& ids, const Rotation& rotate, std::int64_t rows) {
    const model::ModelConfig& config = model.config;
    const std::int64_t tokens = ids.size(0), heads = config.numHeads, kvHeads = config.numKvHeads;
    const std::int64_t headDim = config.headDim, e = config.hiddenSize, inner = config.intermediateSize;
    at::Tensor hidden = at::embedding(model.embedding, ids);
    for (std::size_t index = 0; index < model.layers.size(); ++index) {
        const PlainLayer& layer = model.layers[index];
        at::Tensor qkv = at::linear(at::rms_norm(hidden, {e}, layer.attentionNorm, config.rmsNormEps), layer.qkv);
        rotate(qkv, 1.0 + static_cast<double>(index) / 100.0);
        const auto part = [&](std::int64_t first, std::int64_t count) {
            return qkv.narrow(1, first * headDim, count * headDim).view({1, tokens, count, headDim}).transpose(1, 2);
        };
        const at::Tensor attended = at::scaled_dot_product_attention(
            part(0, heads), part(heads, kvHeads), part(heads + kvHeads, kvHeads), {}, 0.0, true, {}, heads > kvHeads);
        hidden = hidden + at::linear(attended.transpose(1, 2).reshape({tokens, heads * headDim}), layer.output);
        const at::Tensor both = at::linear(at::rms_norm(hidden, {e}, layer.mlpNorm, config.rmsNormEps), layer.gateUp);
        const at::Tensor active = at::silu(both.narrow(1, 0, inner)) * both.narrow(1, inner, inner);
        hidden = hidden + at::linear(active, layer.down);
    }
    const at::Tensor last = hidden.narrow(0, tokens - rows, rows);
    return at::linear(at::rms_norm(last, {e}, model.finalNorm, config.rmsNormEps), model.embedding);
}

}  // namespace lpes::bench
