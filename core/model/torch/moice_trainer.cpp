#include "core/model/torch/moice_trainer.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/model/moice_file.h"
#include "core/model/torch/moice_gradient.h"
#include "core/model/torch/request_checks.h"
#include "core/model/torch/torch_causal_lm.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {

namespace {

Result<void> checkRequest(const CausalLm& model, const rope::MoiceRouters& routers, std::span<const TokenId> ids) {
    if (auto r = checkIds(ids, "text", model.config()); !r) return r;
    if (ids.size() < 2) {
        return fail(ErrorCode::Usage, "the text has 1 token; the loss of a language model needs at least 2");
    }
    if (auto r = checkLength(ids.size(), "text", model.config().contextLength); !r) return r;
    rope::PositionMethod method;
    method.text = "moice";
    method.moice = std::make_shared<const rope::MoiceRouters>(routers);
    if (auto r = rope::checkMethod(method, methodModel(model.config())); !r) return r;
    return checkMoiceTrainingMemory(model, static_cast<std::int64_t>(ids.size()),
                                    static_cast<std::int64_t>(routers.bases.size()));
}

/// Shortens the gradient to the norm, as torch.nn.utils.clip_grad_norm_ does; gives the norm before.
double clip(std::vector<double>& gradient, double maxNorm) {
    double sum = 0.0;
    for (const double value : gradient) sum += value * value;
    const double norm = std::sqrt(sum), factor = maxNorm / (norm + 1e-6);
    if (maxNorm > 0.0 && factor < 1.0) {
        for (double& value : gradient) value *= factor;
    }
    return norm;
}

}  // namespace

double estimateMoiceTrainingBytes(const ModelConfig& config, ComputeType type, std::int64_t tokens,
                                  std::int64_t experts) {
    const double size = type == ComputeType::Float32 ? 4.0 : 2.0;
    const double queries = double(config.numHeads) * config.headDim, keys = double(config.numKvHeads) * config.headDim;
    const double hidden = config.hiddenSize, inner = config.intermediateSize, count = double(experts);
    // Kept for the gradient: each expert's rotated queries and keys, its output and that widened to float32; a mixed
    // sum in float32 for each, and its gradient.
    const double attention = count * ((3.0 * queries + keys) * size + 8.0 * queries) + 16.0 * (queries + keys);
    // Gate, up, the activation, their product and the gradients of two.
    const double mlp = 6.0 * inner * size;
    // The layers' inputs, and norms in float32.
    const double residual = hidden * (size * (config.numLayers + 8.0) + 16.0);
    double bytes = double(tokens) * (attention + mlp + residual);
    for (int layer = 0; layer < config.numLayers; ++layer) {
        if (config.attentionSoftcap == 0.0 && !config.slides(layer)) continue;
        // Scores, capped scores, shares and gradients in float32, of one layer at a time.
        bytes += 4.0 * 4.0 * count * config.numHeads * double(tokens) * double(tokens);
        break;
    }
    // Logits of a block of rows in float32, three times over, the head unpacked, and a layer's weights unpacked.
    return bytes + 256.0 * config.vocabSize * 12.0 + (double(config.vocabSize) * hidden + 4.0 * hidden * inner) * size;
}

Result<void> checkMoiceTrainingMemory(const CausalLm& model, std::int64_t tokens, std::int64_t experts) {
    const auto* torch = dynamic_cast<const TorchCausalLm*>(&model);
    // A GPU's memory is LibTorch's to count: what does not fit there is reported when it happens.
    if (torch && !torch->loaded().weights.devices.front().is_cpu()) return {};
    const double needed = estimateMoiceTrainingBytes(model.config(), model.computeType(), tokens, experts);
    const auto available = availableMemory();
    if (!available || needed <= static_cast<double>(*available)) return {};
    return fail(ErrorCode::OutOfMemory,
                fmt::format("training on sequences of {} tokens needs about {:.0f} MiB beside the weights and {} MiB "
                            "are free; use a smaller --max-length",
                            tokens, needed / (1 << 20), *available >> 20));
}

Result<MoiceLoss> moiceLoss(const CausalLm& model, const rope::MoiceRouters& routers, std::span<const TokenId> ids,
                            double auxCoefficient, int threads, std::stop_token stop) {
    if (auto r = checkRequest(model, routers, ids); !r) return fail(r.error());
    const auto* torch = dynamic_cast<const TorchCausalLm*>(&model);
    if (!torch) return fail(ErrorCode::Unsupported, "this model cannot be differentiated; load it with loadCausalLm");
    return guarded("training the routers", [&]() -> Result<MoiceLoss> {
        at::set_num_threads(threads);
        const c10::InferenceMode off(false);
        const LoadedModel& loaded = torch->loaded();
        MoiceSequence sequence =
            differentiateRouters(loaded.config, loaded.weights, std::make_shared<const rope::MoiceRouters>(routers),
                                 ids, auxCoefficient, stop);
        return MoiceLoss{sequence.lmLoss, sequence.auxLoss, std::move(sequence.gradient)};
    });
}

Result<void> trainMoiceStep(const CausalLm& model, const MoiceRecipe& recipe,
                            std::span<const std::vector<TokenId>> sequences, int threads, MoiceTrainingState& state,
                            const std::function<void(std::int64_t tokens)>& sequenceDone, std::stop_token stop) {
    if (sequences.empty()) return fail(ErrorCode::Usage, "a training step has no sequences; give at least one");
    MoiceStepRecord record;
    record.step = static_cast<int>(state.curve.size()) + 1;
    std::vector<double> gradient;
    const double share = 1.0 / static_cast<double>(sequences.size());
    for (const std::vector<TokenId>& ids : sequences) {
        const auto loss = moiceLoss(model, state.routers, ids, recipe.auxCoefficient, threads, stop);
        if (!loss) return fail(loss.error());
        gradient.resize(loss->gradient.size());
        for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += share * loss->gradient[i];
        record.lmLoss += share * loss->lmLoss;
        record.auxLoss += share * loss->auxLoss;
        record.tokens += static_cast<std::int64_t>(ids.size());
        sequenceDone(static_cast<std::int64_t>(ids.size()));
    }
    record.loss = record.lmLoss + recipe.auxCoefficient * record.auxLoss;
    record.gradNorm = clip(gradient, recipe.maxGradNorm);
    if (!std::isfinite(record.loss) || !std::isfinite(record.gradNorm)) {
        return fail(ErrorCode::Failed,
                    fmt::format("the loss of step {} is {} and the norm of its gradient {}; use a smaller --lr, or "
                                "--dtype float32",
                                record.step, record.loss, record.gradNorm));
    }
    rope::MoiceRouters routers = state.routers;
    const std::vector<MoiceMatrix> matrices = moiceMatrices(routers);
    std::vector<float> parameters;
    for (const MoiceMatrix& matrix : matrices)
        parameters.insert(parameters.end(), matrix.values->begin(), matrix.values->end());
    adamWStep(parameters, gradient, recipe.adamw, state.adamw);
    auto next = parameters.begin();
    for (const MoiceMatrix& matrix : matrices) {
        std::copy_n(next, matrix.values->size(), matrix.values->begin());
        next += static_cast<std::ptrdiff_t>(matrix.values->size());
    }
    state.routers = std::move(routers);
    state.curve.push_back(record);
    return {};
}

}  // namespace lpes::model
