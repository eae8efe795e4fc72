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

struct Table {
    at::Tensor cos, sin;            ///< [N, D/2]
    at::Tensor wholeCos, wholeSin;  ///< [N, 1, D] both halves alike
};

/// Tables of cos and sin for every scale that comes.
class TablesOfScales {
  public:
    TablesOfScales(const model::ModelConfig& config, std::int64_t tokens, at::ScalarType type, at::Device device)
        : m_frequencies(rope::inverseFrequencies(config.rope, static_cast<int>(tokens))),
          m_tokens(tokens),
          m_type(type),
          m_device(device) {}
    [[nodiscard]] const Table& of(double scale) const {
        Table& table = (*m_tables)[scale];
        if (!table.cos.defined()) {
            const auto values = rope::positionTable(m_frequencies, scale, 0, static_cast<int>(m_tokens));
            const auto placed = [&](const std::vector<float>& half) {
                return at::tensor(half).view({m_tokens, -1}).to(m_device, m_type);
            };
            const at::Tensor cos = placed(values.cos), sin = placed(values.sin);
            table = {cos, sin, at::cat({cos, cos}, 1).unsqueeze(1), at::cat({sin, sin}, 1).unsqueeze(1)};
        }
        return table;
    }

  private:
    std::vector<double> m_frequencies;
    std::int64_t m_tokens;
    at::ScalarType m_type;
    at::Device m_device;
    std::shared_ptr<std::map<double, Table>> m_tables = std::make_shared<std::map<double, Table>>();
};

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
    const TablesOfScales tables(config, tokens, type, device);
    const std::int64_t heads = config.numHeads + config.numKvHeads, headDim = config.headDim;
    return [=](at::Tensor& qkv, double scale) {
        const Table& table = tables.of(scale);
        const at::Tensor both = qkv.narrow(1, 0, heads * headDim).view({tokens, heads, headDim});
        const auto halves = both.chunk(2, 2);
        const at::Tensor turned = at::cat({-halves[1], halves[0]}, 2);
        both.copy_(both * table.wholeCos + turned * table.wholeSin);
    };
}

Rotation ownRotation(const model::ModelConfig& config, std::int64_t tokens, at::ScalarType type, at::Device device) {
    const TablesOfScales tables(config, tokens, type, device);
    return [=](at::Tensor& qkv, double scale) {
        const Table& table = tables.of(scale);
        cuda::RopeTask task;
        task.type = dataType(type);
        task.rows = tokens;
        task.headDim = task.rotaryDim = config.headDim;
        const auto inPlace = [&](std::int64_t firstHead, int heads) {
            void* data =
                static_cast<char*>(qkv.data_ptr()) + qkv.element_size() * firstHead * std::int64_t{config.headDim};
            return cuda::RopeHeads{data, qkv.stride(0), heads, data, config.headDim, qkv.stride(0)};
        };
        task.q = inPlace(0, config.numHeads);
        task.k = inPlace(config.numHeads, config.numKvHeads);
        task.cos = table.cos.const_data_ptr();
        task.sin = table.sin.const_data_ptr();
        must(device.is_cpu() ? cuda::applyRopeCpu(task) : cuda::applyRope(task, nullptr));
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
