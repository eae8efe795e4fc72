#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/model/formats/weight_source.h"

/// Models of real sizes with random weights, made in memory: what is measured does not depend on the weights.
namespace lpes::bench {

/// A Llama without biases.
inline model::ModelConfig llamaConfig(const std::string& name, int layers, int hidden, int heads, int kvHeads,
                                      int headDim, int inner, int vocab, int context) {
    model::ModelConfig config;
    config.format = "random";
    config.name = name;
    config.numLayers = layers;
    config.hiddenSize = hidden;
    config.numHeads = heads;
    config.numKvHeads = kvHeads;
    config.headDim = headDim;
    config.intermediateSize = inner;
    config.vocabSize = vocab;
    config.contextLength = context;
    config.rmsNormEps = 1e-5;
    config.tiedHead = true;
    config.attentionScale = 1.0 / std::sqrt(static_cast<double>(headDim));
    config.rope.theta = 500000.0;
    config.rope.headDim = headDim;
    config.rope.originalBlock = "null";
    config.fingerprint = "random";
    return config;
}

/// Weights of about 1/√E around zero, norms of one. A block of random numbers is drawn once and repeated from another
/// place for each tensor, so that gigabytes of weights take seconds.
class RandomWeights final : public model::WeightSource {
  public:
    explicit RandomWeights(model::ModelConfig config) : m_config(std::move(config)) {
        const std::int64_t e = m_config.hiddenSize, q = std::int64_t{m_config.numHeads} * m_config.headDim;
        const std::int64_t kv = std::int64_t{m_config.numKvHeads} * m_config.headDim, i = m_config.intermediateSize;
        add("embedding", {m_config.vocabSize, e});
        add("final_norm", {e});
        for (int layer = 0; layer < m_config.numLayers; ++layer) {
            const std::string prefix = "layer." + std::to_string(layer) + ".";
            add(prefix + "attention_norm", {e});
            add(prefix + "q", {q, e});
            add(prefix + "k", {kv, e});
            add(prefix + "v", {kv, e});
            add(prefix + "o", {e, q});
            add(prefix + "mlp_norm", {e});
            add(prefix + "gate", {i, e});
            add(prefix + "up", {i, e});
            add(prefix + "down", {e, i});
        }
        RandomStream random(7, kStreamTests, 0);
        const double width = 3.4 / std::sqrt(static_cast<double>(e));  // uniform, of standard deviation 1/√E
        m_numbers.resize(kNumbers);
        for (float& value : m_numbers) value = static_cast<float>((random.uniform() - 0.5) * width);
    }

    [[nodiscard]] const model::ModelConfig& config() const override { return m_config; }
    [[nodiscard]] std::vector<std::string> names() const override { return m_names; }
    [[nodiscard]] const model::TensorView* find(const std::string& name) const override {
        const auto found = m_views.find(name);
        return found == m_views.end() ? nullptr : &found->second;
    }
    [[nodiscard]] std::span<const std::byte> direct(const std::string&, model::ComputeType) const override {
        return {};
    }
    [[nodiscard]] Result<void> readRows(const std::string& name, model::ComputeType type, std::int64_t firstRow,
                                        std::int64_t, std::span<std::byte> out) const override {
        const model::TensorView& view = *find(name);
        const bool norm = view.shape.size() == 1, wide = type == model::ComputeType::Float32;
        const auto skipped = static_cast<std::size_t>(norm ? 0 : firstRow * view.shape[1]);
        std::size_t at = (std::hash<std::string>{}(name) + skipped) % kNumbers;
        const std::size_t count = out.size() / (wide ? 4 : 2);
        for (std::size_t i = 0; i < count; ++i, at = at + 1 == kNumbers ? 0 : at + 1) {
            const float value = norm ? 1.0f : m_numbers[at];
            std::uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            // bfloat16 by cutting: these are random numbers anyway.
            const std::uint16_t upper = static_cast<std::uint16_t>(bits >> 16);
            if (wide) {
                std::memcpy(out.data() + 4 * i, &bits, sizeof bits);
            } else {
                std::memcpy(out.data() + 2 * i, &upper, sizeof upper);
            }
        }
        return {};
    }
    void release(const std::string&) const override {}
    [[nodiscard]] Result<void> checkFinite(const std::string&) const override { return {}; }
    [[nodiscard]] Result<text::TokenizerSpec> tokenizerSpec() const override {
        return fail(ErrorCode::BadInput, "a random model has no tokenizer");
    }

  private:
    static constexpr std::size_t kNumbers = 4999999;  // prime: no row of a tensor repeats another

    void add(const std::string& name, std::vector<std::int64_t> shape) {
        m_names.push_back(name);
        m_views[name] = {name, std::move(shape), model::StorageType::BF16, {}, {}};
    }

    model::ModelConfig m_config;
    std::vector<std::string> m_names;
    std::map<std::string, model::TensorView> m_views;
    std::vector<float> m_numbers;
};

}  // namespace lpes::bench
