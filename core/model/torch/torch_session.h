#pragma once

#include <memory>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/model/torch/decoder.h"
#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/kv_cache.h"
#include "core/model/torch/position_tables.h"

namespace lpes::model {

/// What the sessions of one model share. immutable.
struct LoadedModel {
    ModelConfig config;
    ComputeType type = ComputeType::Float32;
    DecoderWeights weights;
};

/// ModelSession on LibTorch. thread-compatible. Whichever thread calls, each computing call sets that thread's own
/// InferenceMode and OpenMP thread count.
class TorchSession final : public ModelSession {
  public:
    TorchSession(std::shared_ptr<const LoadedModel> model, int threads);

    Result<std::vector<AnswerScore>> scoreAnswers(std::span<const ScoredPrompt> batch, const LayerScales& scales,
                                                  std::stop_token stop) override;
    Result<TextScore> scoreText(std::span<const TokenId> ids, const LayerScales& scales, int top,
                                std::stop_token stop) override;
    Result<AttentionProbe> attentionOfLastToken(std::span<const TokenId> prompt, std::span<const TokenSpan> spans,
                                                const LayerScales& scales, std::stop_token stop) override;
    Result<AttentionProbe> attentionOfAllTokens(std::span<const TokenId> prompt, std::span<const TokenSpan> spans,
                                                const LayerScales& scales, std::stop_token stop) override;
    Result<RepresentationComparison> compareRepresentations(std::span<const TokenId> prompt,
                                                            const LayerScales& reference, const LayerScales& scales,
                                                            std::stop_token stop) override;
    Result<std::shared_ptr<const RepresentationReference>> referenceRepresentation(std::span<const TokenId> prompt,
                                                                                   const LayerScales& scales,
                                                                                   std::stop_token stop) override;
    Result<std::vector<PromptProbe>> probePrompts(std::span<const ProbedPrompt> batch, const LayerScales& scales,
                                                  std::stop_token stop) override;
    Result<ScaleGradient> scaleGradient(const ScoredPrompt& prompt, const LayerScales& scales,
                                        std::stop_token stop) override;

    Result<void> setScales(const LayerScales& scales) override;
    const LayerScales& currentScales() const override { return m_scales; }
    Result<std::vector<float>> advance(std::span<const TokenId> ids, std::stop_token stop) override;
    int cachedTokens() const override { return m_cached; }
    void resetSequence() override;

    Result<AppliedCheck> verifyApplied(const LayerScales& scales, int maxPosition) override;
    Result<rope::PositionTable> readBackTable(int layer, const LayerScales& scales, int first, int count) override;

  private:
    [[nodiscard]] const ModelConfig& config() const { return m_model->config; }
    [[nodiscard]] Result<void> checkMemory(std::size_t tokens, bool cached) const;
    [[nodiscard]] Result<void> checkProbedPrompt(const ProbedPrompt& item) const;
    /// Tables for one prompt (or sequence) of that many tokens.
    [[nodiscard]] std::vector<RotaryTable> tables(const LayerScales& scales, std::size_t positions);
    /// Tables for packed prompts.
    [[nodiscard]] std::vector<RotaryTable> tables(const LayerScales& scales, std::span<const Segment> prompts);
    /// Runs one prompt through all layers.
    [[nodiscard]] PackedTokens run(std::span<const TokenId> ids, const LayerScales& scales, const std::stop_token& stop,
                                   const AttentionObserver& observer = {});

    std::shared_ptr<const LoadedModel> m_model;
    int m_threads;
    Workspace m_workspace;
    Decoder m_decoder;
    PositionTables m_tables;

    LayerScales m_scales;             ///< of generation
    std::vector<TokenId> m_sequence;  ///< of generation
    int m_cached = 0;                 ///< how many tokens of m_sequence are in the cache
    std::vector<int> m_variants;      ///< by which frequencies the cached keys were rotated (rope::lengthVariant)
    KvCache m_cache;
};

}  // namespace lpes::model
