#include "core/model/torch/attention_step.h"

#include "core/model/torch/moice_step.h"
#include "core/model/torch/ms_poe_step.h"
#include "core/model/torch/rotating_step.h"

namespace lpes::model {

std::unique_ptr<AttentionStep> makeAttentionStep(const rope::PositionMethod& method, const StepContext& context) {
    if (method.moice) return std::make_unique<MoiceStep>(method, context, context.moice);
    if (method.msPoe) return std::make_unique<MsPoeStep>(method, context);
    return std::make_unique<TableStep>(context.tables.forLayers(method, context.sequences));
}

}  // namespace lpes::model
