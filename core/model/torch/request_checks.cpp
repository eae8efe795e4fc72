#include "core/model/torch/request_checks.h"

#include <fmt/format.h>

namespace lpes::model {

Result<void> checkIds(std::span<const TokenId> ids, const char* what, const ModelConfig& config) {
    if (ids.empty()) return fail(ErrorCode::Usage, fmt::format("the {} has no tokens; give at least one", what));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= config.vocabSize) {
            return fail(ErrorCode::Usage,
                        fmt::format("token {} of the {} is {}, outside the model's vocabulary of {}; use ids made with "
                                    "this model's tokenizer",
                                    i, what, ids[i], config.vocabSize));
        }
    }
    return {};
}

Result<void> checkLength(std::size_t tokens, const char* what, int contextLength) {
    if (tokens <= static_cast<std::size_t>(contextLength)) return {};
    return fail(ErrorCode::BadInput,
                fmt::format("the {} has {} tokens but the model's context is {}; shorten it (nothing "
                            "is cut off in silence)",
                            what, tokens, contextLength));
}

Result<void> checkMemoryFor(std::size_t tokens, bool cached, const PositionMethod& method, const ModelConfig& config,
                            ComputeType type) {
    constexpr std::int64_t kSmallPass = std::int64_t{512} << 20;
    const auto count = static_cast<int>(tokens);
    const rope::MethodCost cost = rope::methodCost(method);
    const std::int64_t cache = cached ? 0 : estimateKvCacheBytes(config, type, count, cost);
    const std::int64_t needed = estimateActivationBytes(config, type, count, cost) - cache;
    if (needed <= kSmallPass) return {};
    const auto available = availableMemory();
    if (!available || needed <= *available) return {};
    return fail(
        ErrorCode::OutOfMemory,
        fmt::format("{} tokens under the method '{}' need about {} MiB beside the weights and {} MiB are free; about "
                    "{} tokens fit (no length is changed in silence)",
                    tokens, method.text, needed >> 20, *available >> 20,
                    longestContext(config, type, *available, cost)));
}

Result<void> checkGradientMemory(std::size_t tokens, const ModelConfig& config, ComputeType type) {
    const auto count = static_cast<int>(tokens);
    double needed = static_cast<double>(estimateActivationBytes(config, type, count)) * config.numLayers;
    for (int layer = 0; layer < config.numLayers; ++layer) {
        if (config.attentionSoftcap == 0.0 && !config.slides(layer)) continue;
        // Scores, capped scores and shares, in float32.
        needed += 3.0 * 4.0 * config.numHeads * static_cast<double>(tokens) * static_cast<double>(tokens);
    }
    const auto available = availableMemory();
    if (!available || needed <= static_cast<double>(*available)) return {};
    return fail(ErrorCode::OutOfMemory,
                fmt::format("differentiating prompts of {} tokens needs about {:.0f} MiB and {} MiB are free; use "
                            "shorter or fewer prompts at a time",
                            tokens, needed / (1 << 20), *available >> 20));
}

Result<void> checkScoredPrompt(const ScoredPrompt& prompt, const ModelConfig& config, int contextLength) {
    if (auto r = checkIds(prompt.prompt, "prompt", config); !r) return r;
    if (auto r = checkIds(prompt.answer, "answer", config); !r) return r;
    return checkLength(prompt.prompt.size() + prompt.answer.size(), "prompt with its answer", contextLength);
}

Result<void> checkSpans(std::span<const TokenSpan> spans, std::size_t tokens) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const TokenSpan& span = spans[i];
        if (span.begin < 0 || span.begin > span.end || static_cast<std::size_t>(span.end) > tokens) {
            return fail(ErrorCode::Usage,
                        fmt::format("span {} covers tokens {} to {}, which are not inside a prompt of {} "
                                    "tokens; give 0 ≤ begin ≤ end ≤ length",
                                    i, span.begin, span.end, tokens));
        }
    }
    return {};
}

}  // namespace lpes::model
