#include "tests/support/tiny_model.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/random.h"
#include "tests/support/block_quantizer.h"

namespace lpes::test {

using model::StorageType;

namespace {

struct Wanted {
    std::string name;
    std::vector<std::int64_t> shape;
    double mean;
    double deviation;
};

std::vector<Wanted> wantedTensors(const TinyModelSpec& spec) {
    const std::int64_t hidden = spec.hiddenSize;
    const std::int64_t queries = std::int64_t{spec.numHeads} * spec.headDim;
    const std::int64_t keys = std::int64_t{spec.numKvHeads} * spec.headDim;
    const std::int64_t inner = spec.intermediateSize;
    std::vector<Wanted> wanted = {{"embedding", {spec.vocabSize, hidden}, 0.0, 0.2},
                                  {"final_norm", {hidden}, 1.0, 0.1}};
    if (!spec.tiedHead) wanted.push_back({"head", {spec.vocabSize, hidden}, 0.0, 0.2});
    for (int layer = 0; layer < spec.numLayers; ++layer) {
        const std::string at = "layer." + std::to_string(layer) + ".";
        wanted.push_back({at + "attention_norm", {hidden}, 1.0, 0.1});
        wanted.push_back({at + "q", {queries, hidden}, 0.0, 0.2});
        wanted.push_back({at + "k", {keys, hidden}, 0.0, 0.2});
        wanted.push_back({at + "v", {keys, hidden}, 0.0, 0.1});
        wanted.push_back({at + "o", {hidden, queries}, 0.0, 0.1});
        wanted.push_back({at + "mlp_norm", {hidden}, 1.0, 0.1});
        wanted.push_back({at + "gate", {inner, hidden}, 0.0, 0.1});
        wanted.push_back({at + "up", {inner, hidden}, 0.0, 0.1});
        wanted.push_back({at + "down", {hidden, inner}, 0.0, 0.1});
        if (spec.qkvBias) {
            wanted.push_back({at + "q_bias", {queries}, 0.0, 0.5});
            wanted.push_back({at + "k_bias", {keys}, 0.0, 0.5});
            wanted.push_back({at + "v_bias", {keys}, 0.0, 0.2});
        }
        if (spec.outputBias) wanted.push_back({at + "o_bias", {hidden}, 0.0, 0.1});
        if (spec.mlpBias) {
            wanted.push_back({at + "gate_bias", {inner}, 0.0, 0.1});
            wanted.push_back({at + "up_bias", {inner}, 0.0, 0.1});
            wanted.push_back({at + "down_bias", {hidden}, 0.0, 0.1});
        }
    }
    return wanted;
}

}  // namespace

TinyModel makeTinyModel(const TinyModelSpec& spec) {
    TinyModel tiny{spec, {}};
    if (spec.architecture == model::Architecture::Qwen2) tiny.spec.qkvBias = true;
    std::uint32_t number = 0;
    for (const Wanted& wanted : wantedTensors(tiny.spec)) {
        RandomStream random(spec.seed, kStreamTests, number++);
        std::int64_t count = 1;
        for (const std::int64_t dim : wanted.shape) count *= dim;
        TinyTensor tensor{wanted.shape, std::vector<float>(static_cast<std::size_t>(count))};
        for (float& value : tensor.values) value = static_cast<float>(wanted.mean + wanted.deviation * random.normal());
        tiny.tensors.emplace(wanted.name, std::move(tensor));
    }
    return tiny;
}

TinyModel storedAs(const TinyModel& tiny, StorageType type, bool vectorsToo) {
    TinyModel stored = tiny;
    for (auto& [name, tensor] : stored.tensors) {
        if (tensor.shape.size() > 1 || vectorsToo) tensor.values = decode(encode(tensor.values, type), type);
    }
    return stored;
}

}  // namespace lpes::test
