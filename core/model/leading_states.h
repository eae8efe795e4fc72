#pragma once

#include <cstdint>
#include <memory>

/// Hidden states that scoring passes hand on to one another.
namespace lpes::model {

/// The hidden states of all tokens of a pass behind some of the layers. Opaque and immutable; only for sessions of the
/// model that made it, with as many threads.
class LayerState {
  public:
    virtual ~LayerState() = default;
    [[nodiscard]] virtual std::int64_t bytes() const = 0;
};

/// What one pass takes over from earlier passes over the same batch under methods that are the same up to some layer,
/// and what it leaves for later ones. A session that is given one begins behind the layers that are known; the answers
/// are those without it, bit for bit, because a layer's output depends on the batch and on the method's own values for
/// it and the layers before it. Whoever makes one knows which methods are the same up to which layer.
/// thread-compatible: for one pass at a time; where the states lie is the implementation's to guard.
class LeadingStates {
  public:
    virtual ~LeadingStates() = default;

    struct Known {
        int layers = 0;                           ///< leading layers that need not be computed; 0: none
        std::shared_ptr<const LayerState> state;  ///< behind them; null: there is none
    };
    /// What is known of this pass, asked for once at its beginning.
    [[nodiscard]] virtual Known begin() = 0;
    /// Does anybody want the state behind the first `layers` layers, and is there room for so many bytes?
    [[nodiscard]] virtual bool wanted(int layers, std::int64_t bytes) = 0;
    virtual void keep(int layers, std::shared_ptr<const LayerState> state) = 0;
};

}  // namespace lpes::model
