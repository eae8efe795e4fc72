#pragma once

#include "core/model/leading_states.h"
#include "core/model/torch/decoder.h"

namespace lpes::model {

/// Puts the tokens behind the leading layers whose state is known, and returns how many those are. 0: none is, and the
/// tokens are as they were. `tokens` are embedded, along a single path.
[[nodiscard]] int takeLeadingLayers(PackedTokens& tokens, LeadingStates& leading);

/// Leaves the state behind the first `layers` layers where somebody wants it. The tokens stay as they are.
void leaveLeadingLayers(const PackedTokens& tokens, int layers, LeadingStates& leading);

}  // namespace lpes::model
