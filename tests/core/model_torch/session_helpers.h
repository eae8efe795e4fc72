#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/base/random.h"
#include "core/model/torch/torch_runtime.h"
#include "tests/support/tiny_model.h"

/// Models for the tests of sessions.
namespace lpes::test {

/// Weights in memory: the tiny models without a file format in between.
class MemoryWeights final : public model::WeightSource {
  public:
    explicit MemoryWeights(const TinyModel& tiny, bool direct = false) : m_tiny(tiny), m_direct(direct) {
        const TinyModelSpec& spec = tiny.spec;
        const bool qwen = spec.architecture == model::Architecture::Qwen2;
        m_config.architecture = spec.architecture;
        m_config.name = spec.name;
        m_config.numLayers = spec.numLayers;
        m_config.hiddenSize = spec.hiddenSize;
        m_config.numHeads = spec.numHeads;
        m_config.numKvHeads = spec.numKvHeads;
        m_config.headDim = spec.headDim;
        m_config.intermediateSize = spec.intermediateSize;
        m_config.vocabSize = spec.vocabSize;
        m_config.contextLength = spec.contextLength;
        m_config.rmsNormEps = spec.rmsNormEps;
        m_config.tiedHead = spec.tiedHead;
        m_config.qkvBias = spec.qkvBias || qwen;
        m_config.outputBias = spec.outputBias;
        m_config.mlpBias = spec.mlpBias;
        m_config.attentionScale = 1.0 / std::sqrt(static_cast<double>(spec.headDim));
        m_config.rope.theta = spec.ropeTheta;
        m_config.rope.headDim = spec.headDim;
        m_config.rope.factor = spec.linearFactor;
        if (spec.linearFactor != 1.0) m_config.rope.type = rope::RopeConfig::Type::Linear;
        for (const auto& [name, tensor] : m_tiny.tensors) {
            m_views[name] = {name, tensor.shape, model::StorageType::F32, std::as_bytes(std::span(tensor.values)), {}};
        }
    }

    const model::ModelConfig& config() const override { return m_config; }
    std::vector<std::string> names() const override {
        std::vector<std::string> result;
        for (const auto& [name, view] : m_views) result.push_back(name);
        return result;
    }
    const model::TensorView* find(const std::string& name) const override {
        const auto found = m_views.find(name);
        return found == m_views.end() ? nullptr : &found->second;
    }
    std::span<const std::byte> direct(const std::string& name, model::ComputeType type) const override {
        if (!m_direct || type != model::ComputeType::Float32 || !m_views.contains(name)) return {};
        return m_views.at(name).bytes;
    }
    Result<void> readRows(const std::string& name, model::ComputeType type, std::int64_t firstRow,
                          std::int64_t rowCount, std::span<std::byte> out) const override {
        if (onRead) onRead(name);
        const std::vector<float>& all = m_tiny.tensors.at(name).values;
        const auto rows = static_cast<std::size_t>(model::rowCountOf(m_views.at(name)));
        const auto values = std::span(all).subspan(static_cast<std::size_t>(firstRow) * all.size() / rows,
                                                   static_cast<std::size_t>(rowCount) * all.size() / rows);
        if (type == model::ComputeType::Float32) {
            std::memcpy(out.data(), values.data(), out.size());
            return {};
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &values[i], 4);
            const auto half = static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
            std::memcpy(out.data() + 2 * i, &half, 2);
        }
        return {};
    }
    void release(const std::string&) const override {}
    Result<void> checkFinite(const std::string&) const override { return {}; }
    Result<text::TokenizerSpec> tokenizerSpec() const override {
        return fail(ErrorCode::BadInput, "weights in memory have no tokenizer; use a model file");
    }

    std::function<void(const std::string&)> onRead;  ///< called before each tensor is read

  private:
    TinyModel m_tiny;
    bool m_direct;
    model::ModelConfig m_config;
    std::map<std::string, model::TensorView> m_views;
};

inline std::shared_ptr<const model::CausalLm> load(std::shared_ptr<const model::WeightSource> weights,
                                                   model::ComputeType type = model::ComputeType::Float32) {
    NullObserver nobody;
    auto loaded = model::loadCausalLm(std::move(weights), {type, "cpu"}, nobody);
    if (!loaded) throw std::runtime_error(loaded.error().text());
    return *loaded;
}

inline std::shared_ptr<const model::CausalLm> loadTiny(const TinyModelSpec& spec = {},
                                                       model::ComputeType type = model::ComputeType::Float32) {
    return load(std::make_shared<MemoryWeights>(makeTinyModel(spec)), type);
}

inline std::shared_ptr<const model::CausalLm> loadFrom(const std::filesystem::path& path, model::ComputeType type) {
    auto weights = model::openWeights(path);
    if (!weights) throw std::runtime_error(weights.error().text());
    return load(*weights, type);
}

/// Random ids of a tiny model.
inline std::vector<text::TokenId> randomIds(int count, std::uint32_t stream, int vocabSize = 300) {
    RandomStream random(7, kStreamTests, stream);
    std::vector<text::TokenId> ids;
    for (int i = 0; i < count; ++i) {
        ids.push_back(static_cast<text::TokenId>(random.below(static_cast<std::uint64_t>(vocabSize))));
    }
    return ids;
}

inline model::ScoredPrompt randomPrompt(int promptTokens, int answerTokens, std::uint32_t stream) {
    return {randomIds(promptTokens, stream), randomIds(answerTokens, stream + 1000)};
}

}  // namespace lpes::test
