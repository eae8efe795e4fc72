#pragma once

#include "core/search/archive.h"
#include "core/search/pareto.h"

namespace lpes::search {

/// How far the Pareto front of a search has come, generation by generation. thread-compatible.
class FrontMeasure {
  public:
    /// Sets frontSize and hypervolume by all candidates so far. The reference point is the worst of each objective
    /// among the candidates of the first call that finds any; without one there is no hypervolume.
    void measure(const Archive& archive, GenerationRecord& record);

  private:
    Objectives m_reference;
};

}  // namespace lpes::search
