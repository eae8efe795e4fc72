#pragma once

#include <map>
#include <memory>
#include <utility>

#include "core/model/leading_states.h"

namespace lpes::test {

/// Keeps the state behind every layer of one pass, and begins another behind as many of them as `from` says.
class KeptLayers final : public model::LeadingStates {
  public:
    Known begin() override {
        ++asked;
        return from == 0 ? Known{} : Known{from, states.at(from)};
    }
    bool wanted(int layers, std::int64_t bytes) override {
        largest = bytes > largest ? bytes : largest;
        return keeping && !states.contains(layers);
    }
    void keep(int layers, std::shared_ptr<const model::LayerState> state) override {
        states.emplace(layers, std::move(state));
    }

    bool keeping = true;
    int from = 0;
    int asked = 0;
    std::int64_t largest = 0;
    std::map<int, std::shared_ptr<const model::LayerState>> states;
};

}  // namespace lpes::test
