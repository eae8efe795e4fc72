#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/model/torch/torch_session.h"

namespace lpes::model {

/// One or several copies of a model; sessions take them in turn. thread-safe.
class TorchCausalLm final : public CausalLm {
  public:
    TorchCausalLm(std::vector<std::shared_ptr<const LoadedModel>> replicas, std::string device)
        : m_replicas(std::move(replicas)), m_device(std::move(device)) {}

    const ModelConfig& config() const override { return m_replicas.front()->config; }
    ComputeType computeType() const override { return m_replicas.front()->type; }
    std::string device() const override { return m_device; }
    std::unique_ptr<ModelSession> newSession(int threads) const override {
        return std::make_unique<TorchSession>(m_replicas[m_next++ % m_replicas.size()], threads);
    }
    std::int64_t residentBytes() const override {
        return m_replicas.front()->weights.residentBytes * static_cast<std::int64_t>(m_replicas.size());
    }
    bool keepsWeightsAsStored() const override { return m_replicas.front()->weights.asStored; }

    /// The first copy.
    [[nodiscard]] const LoadedModel& loaded() const { return *m_replicas.front(); }

  private:
    std::vector<std::shared_ptr<const LoadedModel>> m_replicas;
    std::string m_device;
    mutable std::atomic<std::size_t> m_next = 0;
};

}  // namespace lpes::model
