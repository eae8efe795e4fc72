#include "core/model/torch/torch_runtime.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <string>
#include <utility>

#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/processor.h"
#include "core/model/torch/torch_errors.h"
#include "core/model/torch/torch_session.h"

namespace lpes::model {
namespace {

class TorchCausalLm final : public CausalLm {
  public:
    explicit TorchCausalLm(std::shared_ptr<const LoadedModel> model) : m_model(std::move(model)) {}

    const ModelConfig& config() const override { return m_model->config; }
    ComputeType computeType() const override { return m_model->type; }
    std::string device() const override { return "cpu"; }
    std::unique_ptr<ModelSession> newSession(int threads) const override {
        return std::make_unique<TorchSession>(m_model, threads);
    }
    std::int64_t residentBytes() const override { return m_model->weights.residentBytes; }
    bool keepsWeightsAsStored() const override { return m_model->weights.asStored; }

  private:
    std::shared_ptr<const LoadedModel> m_model;
};

}  // namespace

bool hasNativeBFloat16() {
    return processor().avx512Bf16 || processor().amxBf16;
}

std::string libTorchVersion() {
    return TORCH_VERSION;
}

std::string deviceDescription(const std::string& device) {
    return device == "cpu" ? processor().description() : device;
}

ComputeType defaultComputeType() {
    return hasNativeBFloat16() ? ComputeType::BFloat16 : ComputeType::Float32;
}

std::vector<std::string> availableDevices() {
    return {"cpu"};
}

Result<std::shared_ptr<const CausalLm>> loadCausalLm(std::shared_ptr<const WeightSource> weights,
                                                     const LoadOptions& options, ProgressObserver& observer,
                                                     std::stop_token stop) {
    if (options.device != "cpu") {
        return fail(ErrorCode::Unsupported,
                    fmt::format("the device '{}' is not supported by this version; use cpu", options.device));
    }
    return guarded("loading the model", [&]() -> Result<std::shared_ptr<const CausalLm>> {
        auto model = std::make_shared<LoadedModel>();
        model->config = weights->config();
        model->type = options.computeType.value_or(defaultComputeType());
        auto loaded = loadDecoderWeights(weights, model->type, options.residency, observer, stop);
        if (!loaded) return fail(loaded.error());
        model->weights = std::move(*loaded);
        return std::make_shared<const TorchCausalLm>(std::move(model));
    });
}

}  // namespace lpes::model
