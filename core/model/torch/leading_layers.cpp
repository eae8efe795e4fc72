#include "core/model/torch/leading_layers.h"

#include <ATen/ATen.h>

#include <memory>
#include <utility>

namespace lpes::model {
namespace {

/// hidden + pending [N, E] in the compute type, on the device of the last layer ahead of it. The next layer's norm
/// would form this very sum and round it alike (kernels::addRmsNorm), so that the sum is all that has to be kept.
class TorchLayerState final : public LayerState {
  public:
    explicit TorchLayerState(at::Tensor hidden) : m_hidden(std::move(hidden)) {}
    [[nodiscard]] std::int64_t bytes() const override { return static_cast<std::int64_t>(m_hidden.nbytes()); }
    [[nodiscard]] const at::Tensor& hidden() const { return m_hidden; }

  private:
    const at::Tensor m_hidden;
};

}  // namespace

int takeLeadingLayers(PackedTokens& tokens, LeadingStates& leading) {
    const LeadingStates::Known known = leading.begin();
    if (!known.state) return 0;
    const auto* state = dynamic_cast<const TorchLayerState*>(known.state.get());
    TORCH_CHECK(state && state->hidden().sizes() == tokens.hidden.sizes() &&
                    state->hidden().scalar_type() == tokens.hidden.scalar_type(),
                "the kept states of leading layers are of another pass");
    // Layers change the tokens in place; the state is for others as well.
    tokens.hidden = state->hidden().clone();
    tokens.pending.reset();
    return known.layers;
}

void leaveLeadingLayers(const PackedTokens& tokens, int layers, LeadingStates& leading) {
    if (!leading.wanted(layers, static_cast<std::int64_t>(tokens.hidden.nbytes()))) return;
    leading.keep(layers, std::make_shared<TorchLayerState>(tokens.pending.defined() ? tokens.hidden + tokens.pending
                                                                                    : tokens.hidden.clone()));
}

}  // namespace lpes::model
