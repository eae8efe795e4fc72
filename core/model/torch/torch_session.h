#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/model/causal_lm.h"
#include "core/model/torch/decoder.h"
#include "core/model/torch/decoder_weights.h"
#include "core/model/torch/kv_cache.h"
#include "core/model/torch/moice_step.h"
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

    Result<std::vector<AnswerScore>> scoreAnswers(std::span<const ScoredPrompt> batch, const PositionMethod& method,
                                                  std::stop_token stop, const ScoreOptions& options) override;
    Result<TextScore> scoreText(std::span<const TokenId> ids, const PositionMethod& method, int top,
                                std::stop_token stop) override;
    Result<AttentionProbe> attentionOfLastToken(std::span<const TokenId> prompt, std::span<const TokenSpan> spans,
                                                const PositionMethod& method, std::stop_token stop) override;
    Result<AttentionProbe> attentionOfAllTokens(std::span<const TokenId> prompt, std::span<const TokenSpan> spans,
                                                const PositionMethod& method, std::stop_token stop) override;
    Result<RepresentationComparison> compareRepresentations(std::span<const TokenId> prompt,
                                                            const PositionMethod& reference,
                                                            const PositionMethod& method,
                                                            std::stop_token stop) override;
    Result<std::shared_ptr<const RepresentationReference>> referenceRepresentation(std::span<const TokenId> prompt,
                                                                                   const PositionMethod& method,
                                                                                   std::stop_token stop) override;
    Result<std::vector<PromptProbe>> probePrompts(std::span<const ProbedPrompt> batch, const PositionMethod& method,
                                                  std::stop_token stop) override;
    Result<std::vector<ScaleGradient>> scaleGradients(std::span<const ScoredPrompt> batch, const PositionMethod& method,
                                                      std::stop_token stop, const GradientOptions& options) override;

    Result<void> setMethod(const PositionMethod& method) override;
    const PositionMethod& currentMethod() const override { return m_method; }
    Result<std::vector<float>> advance(std::span<const TokenId> ids, std::stop_token stop) override;
    int cachedTokens() const override { return m_sequence.cached; }
    Result<void> rewind(int tokens) override;
    void resetSequence() override;
    Result<std::vector<GeneratedAnswer>> generateAnswers(std::span<const std::vector<TokenId>> prompts,
                                                         const PositionMethod& method, const GenerateOptions& options,
                                                         std::stop_token stop) override;

    Result<AppliedCheck> verifyApplied(const PositionMethod& method, int maxPosition) override;
    Result<rope::PositionTable> readBackTable(int layer, const PositionMethod& method, int first, int count) override;

  private:
    [[nodiscard]] const ModelConfig& config() const { return m_model->config; }
    /// The method fits the model, and this many tokens its context and the machine's memory.
    [[nodiscard]] Result<void> checkPass(const PositionMethod& method, std::size_t tokensInAll, bool cached) const;
    [[nodiscard]] Result<void> checkProbedPrompt(const ProbedPrompt& item, const PositionMethod& method) const;
    [[nodiscard]] int contextLength(const PositionMethod& method) const;
    /// The step of a pass; `decidingRows` as in StepContext.
    [[nodiscard]] std::unique_ptr<AttentionStep> step(const PositionMethod& method,
                                                      std::span<const RotatedSequence> sequences,
                                                      std::span<const std::int64_t> decidingRows,
                                                      std::span<ChosenRatios* const> kept = {});
    /// Runs one prompt through all layers, for methods with one path.
    [[nodiscard]] PackedTokens run(std::span<const TokenId> ids, const PositionMethod& method,
                                   const std::stop_token& stop, const AttentionObserver& observer = {});
    /// Adds what it sees of a layer to the probe.
    using LayerProbe = std::function<void(const at::Tensor& queries, const at::Tensor& keys, const AttentionRule& rule,
                                          AttentionProbe& probe)>;
    /// What the two measurements of a prompt's attention have in common.
    [[nodiscard]] Result<AttentionProbe> probeLayers(std::span<const TokenId> prompt, std::span<const TokenSpan> spans,
                                                     const PositionMethod& method, const std::stop_token& stop,
                                                     const LayerProbe& probeLayer);
    /// Prompts on their way: `decidingRows` and `kept` as in StepContext, but for each prompt; `rows` of one path's
    /// packed rows that are wanted (undefined: all).
    struct PathRequest {
        std::span<const PackedPrompt> prompts;
        std::vector<std::int64_t> decidingRows;
        at::Tensor rows;
        KvCache* cache = nullptr;
        std::span<ChosenRatios* const> kept = {};
        LeadingStates* leading = nullptr;  ///< as in ScoreOptions
    };
    /// Hidden rows after all layers along every path of the method: [P, R, E].
    [[nodiscard]] at::Tensor runPaths(const PathRequest& request, const PositionMethod& method,
                                      const std::stop_token& stop);
    /// A sequence that grows, with its keys and values in a slot of a cache.
    struct CachedSequence {
        std::vector<TokenId> ids;
        std::size_t slot = 0;
        int cached = 0;                  ///< how many of its tokens are in the cache
        std::vector<int> variants = {};  ///< by which frequencies the cached keys were rotated (lengthVariants)
        int promptTokens = 0;            ///< 0: all that the next reading brings
        ChosenRatios ratios = {};        ///< under Ms-PoE
    };
    /// Forgets what is cached of a sequence when it has grown to other frequencies.
    void prepareToRead(CachedSequence& sequence, const PositionMethod& method) const;
    using ReadSequences = std::function<Result<void>(std::span<CachedSequence* const> sequences)>;
    /// Calls `read` for one prepared sequence after the other, with what it shares with another in its slot already.
    [[nodiscard]] Result<void> readPrompts(std::vector<CachedSequence>& sequences, KvCache& cache,
                                           const PositionMethod& method, bool share, const ReadSequences& read);
    /// Reads what the cache lacks of prepared sequences in one pass: logits after the last id of each, [sequences, V]
    /// float32. The cache has room for them.
    [[nodiscard]] at::Tensor readOn(std::span<CachedSequence* const> sequences, KvCache& cache,
                                    const PositionMethod& method, const std::stop_token& stop);
    /// Logits of R rows of every path, as the method combines them: [P, R, E] → [R, V] float32.
    [[nodiscard]] at::Tensor combinedRows(const at::Tensor& hidden, const PositionMethod& method) const;

    std::shared_ptr<const LoadedModel> m_model;
    const rope::MethodModel m_methodModel;
    int m_threads;
    Workspace m_workspace;
    Decoder m_decoder;
    PositionTables m_tables;

    std::shared_ptr<const MoiceWeights> m_moice;  ///< of the method that was used last

    PositionMethod m_method;  ///< of generation
    CachedSequence m_sequence;
    KvCache m_cache;
};

}  // namespace lpes::model
