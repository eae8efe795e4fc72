#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/base/stop.h"
#include "core/model/formats/weight_source.h"
#include "core/model/model_config.h"
#include "core/model/session_values.h"
#include "core/rope/position_method.h"
#include "core/text/tokenizer.h"

/// A running causal language model. No LibTorch type appears here; core/model/torch implements it.
namespace lpes::model {

/// "auto", "float32", "bfloat16" or "float16", which loading refuses on a CPU: it is ten times slower there.
[[nodiscard]] Result<std::optional<ComputeType>> parseComputeType(const std::string& text);
[[nodiscard]] std::string computeTypeName(ComputeType type);

/// Where a model's matrices are while it runs.
enum class Residency {
    Automatic,    ///< in memory in the compute type; as stored where that would not fit
    Dequantised,  ///< in memory in the compute type
    AsStored  ///< mapped as their file has them, dequantised block by block at each use: slower, but next to no memory
};

struct LoadOptions {
    std::optional<ComputeType> computeType;  ///< unset: bfloat16 where the device does it natively, else float32
    /// "cpu"; "cuda:N"; "cuda:0+cuda:1" splits the layers over several GPUs; "cuda:0,cuda:1" has a replica on each,
    /// which sessions take in turn. "cuda" is the first GPU, or as many as the model needs.
    std::string device = "cpu";
    Residency residency = Residency::Automatic;
};

/// What one thread works with: scratch, position tables per distinct scale, KV cache. thread-compatible: one owner at a
/// time; several sessions of one model run at the same time. Every call that computes checks `stop` at each layer and
/// answers Cancelled through `stopped()`.
///
/// Results are a function of (weights, ids, method, compute type, threads, batch composition) alone.
class ModelSession {
  public:
    virtual ~ModelSession() = default;

    /// Scores several prompts in one packed pass without padding: tokens of all prompts share the matrix products,
    /// attention stays inside each prompt, and logits are computed for answer positions only. A method that reads the
    /// prompt's attention (Ms-PoE) reads that of the prompt's last token, as if the answer were still to come. Usage
    /// for an empty prompt or answer or an id outside the vocabulary, BadInput from checkMethod or for a prompt longer
    /// than the context under the method, OutOfMemory. Failed with message kStoppedMessage when stopped.
    [[nodiscard]] virtual Result<std::vector<AnswerScore>> scoreAnswers(std::span<const ScoredPrompt> batch,
                                                                        const PositionMethod& method,
                                                                        std::stop_token stop = {},
                                                                        const ScoreOptions& options = {}) = 0;

    /// Log-probability of every token of a text. Logits are reduced in row blocks, never [T, V] at once.
    [[nodiscard]] virtual Result<TextScore> scoreText(std::span<const TokenId> ids, const PositionMethod& method,
                                                      int top, std::stop_token stop = {}) = 0;

    /// Attention of the last token of `prompt` by spans (last-row attention only, softmax in float32).
    /// This and the calls below: Unsupported for methods that have several attentions or several passes.
    [[nodiscard]] virtual Result<AttentionProbe> attentionOfLastToken(std::span<const TokenId> prompt,
                                                                      std::span<const TokenSpan> spans,
                                                                      const PositionMethod& method,
                                                                      std::stop_token stop = {}) = 0;

    /// Attention of all tokens of `prompt` by spans: what each key receives on average from its own query and every
    /// later one. Scores exist in blocks of rows; softmax in float32. Time grows with the square of the prompt.
    [[nodiscard]] virtual Result<AttentionProbe> attentionOfAllTokens(std::span<const TokenId> prompt,
                                                                      std::span<const TokenSpan> spans,
                                                                      const PositionMethod& method,
                                                                      std::stop_token stop = {}) = 0;

    /// Compares the hidden states of one prompt under two methods; the first is the reference whose sink mask
    /// (norm above 10 × median, per layer) is used for both.
    [[nodiscard]] virtual Result<RepresentationComparison> compareRepresentations(std::span<const TokenId> prompt,
                                                                                  const PositionMethod& reference,
                                                                                  const PositionMethod& method,
                                                                                  std::stop_token stop = {}) = 0;

    /// The prompt's hidden states under `method`, to be the reference of probePrompts. Memory: L·min(n², n·E) floats
    /// for n compared tokens.
    [[nodiscard]] virtual Result<std::shared_ptr<const RepresentationReference>> referenceRepresentation(
        std::span<const TokenId> prompt, const PositionMethod& method, std::stop_token stop = {}) = 0;
    /// attentionOfLastToken and the deviation of compareRepresentations of several prompts in one packed pass. The same
    /// tokens are compared as there; the kernel matrices are float32 here (deviations agree within 1e-6). Usage when a
    /// reference is of a prompt of another length or of another model.
    [[nodiscard]] virtual Result<std::vector<PromptProbe>> probePrompts(std::span<const ProbedPrompt> batch,
                                                                        const PositionMethod& method,
                                                                        std::stop_token stop = {}) = 0;

    /// Differentiates each prompt's mean answer NLL with respect to every scale of `method`, all prompts in one packed
    /// pass there and back (a differentiable path of its own; it agrees with scoreAnswers within rounding). Usage for
    /// no prompts or a method without scales; Unsupported for one that is more than scales by layer, by layer and
    /// key/value head, or divisors by layer and frequency; OutOfMemory.
    [[nodiscard]] virtual Result<std::vector<ScaleGradient>> scaleGradients(std::span<const ScoredPrompt> batch,
                                                                            const PositionMethod& method,
                                                                            std::stop_token stop = {},
                                                                            const GradientOptions& options = {}) = 0;

    // Generation with a KV cache.

    /// Sets the method for generation and drops the cache when it differs from that in force, because cached keys were
    /// rotated by the old one. The tokens so far are kept and are prefilled again by the next `advance`.
    [[nodiscard]] virtual Result<void> setMethod(const PositionMethod& method) = 0;
    [[nodiscard]] virtual const PositionMethod& currentMethod() const = 0;
    /// Appends ids to the sequence and returns the logits [V] float32 after the last of them. BadInput beyond the
    /// context under the method.
    [[nodiscard]] virtual Result<std::vector<float>> advance(std::span<const TokenId> ids,
                                                             std::stop_token stop = {}) = 0;
    /// Tokens whose keys and values are cached (0 after the method changed).
    [[nodiscard]] virtual int cachedTokens() const = 0;
    /// Forgets all but the first `tokens` of the sequence, so that a prompt with the same beginning is read on from
    /// there: the next `advance` completes a new prompt. The cache is dropped (cachedTokens() = 0), and the beginning
    /// is read again with the rest, where it depends on more than the beginning: under a method that reads the prompt's
    /// attention (Ms-PoE), and where a sequence of `tokens` has other frequencies than the longer one had (dynamic NTK,
    /// LongRoPE's switch). Usage for fewer than none or more than there are.
    [[nodiscard]] virtual Result<void> rewind(int tokens) = 0;
    /// Forgets sequence and cache.
    virtual void resetSequence() = 0;

    /// Greedy answers to several prompts, decoded together: each step reads the weights once for all answers that are
    /// not complete. Each has a cache of its own for as long as the call takes; the sequence above is left alone. Among
    /// equal logits the lower id is taken. As one prompt after the other within rounding. Usage for no prompts, an
    /// empty one or an id outside the vocabulary, or fewer than one new token; BadInput for a prompt longer than the
    /// context under the method (one that fills it gets an empty answer), OutOfMemory.
    [[nodiscard]] virtual Result<std::vector<GeneratedAnswer>> generateAnswers(
        std::span<const std::vector<TokenId>> prompts, const PositionMethod& method, const GenerateOptions& options,
        std::stop_token stop = {}) = 0;

    /// Applies `method` to this session's tables, reads the cos/sin of every layer (head, path, expert, ratio) back
    /// from the tensors that the layers use, and compares them with rope::positionTable, at early and late positions up
    /// to `maxPosition`. verified when no entry is off by more than the rounding of the compute type.
    [[nodiscard]] virtual Result<AppliedCheck> verifyApplied(const PositionMethod& method, int maxPosition) = 0;
    /// cos and sin [count, D/2] that layer `layer` uses under `method` (its first head and path), read back and widened
    /// to float.
    [[nodiscard]] virtual Result<rope::PositionTable> readBackTable(int layer, const PositionMethod& method, int first,
                                                                    int count) = 0;
};

using lpes::kStoppedMessage;
using lpes::wasStopped;

/// A loaded model: weights, immutable and shared by its sessions. thread-safe.
class CausalLm {
  public:
    virtual ~CausalLm() = default;
    [[nodiscard]] virtual const ModelConfig& config() const = 0;
    [[nodiscard]] virtual ComputeType computeType() const = 0;
    [[nodiscard]] virtual std::string device() const = 0;
    /// `threads` ≥ 1 cores for each matrix product of this session. Results depend on it: it is stored with every run.
    [[nodiscard]] virtual std::unique_ptr<ModelSession> newSession(int threads) const = 0;
    /// Bytes of weights in memory in the compute type.
    [[nodiscard]] virtual std::int64_t residentBytes() const = 0;
    /// The matrices stay as their file has them (Residency::AsStored); results differ from those of dequantised ones by
    /// the order of summation alone.
    [[nodiscard]] virtual bool keepsWeightsAsStored() const = 0;
};

/// Rows of all passes of a method that go through the layers together, unless those of one pass are more; what is
/// beyond goes one pass after another. Passes share what is read of the weights, but not more memory than that.
inline constexpr std::size_t kMostRowsTogether = 8192;

/// Estimated bytes for one forward pass of T tokens in one prompt plus a KV cache of T tokens, without weights. `cost`,
/// here and below: of the position method, which may have several passes, attentions and caches.
[[nodiscard]] std::int64_t estimateActivationBytes(const ModelConfig& config, ComputeType type, int tokens,
                                                   const rope::MethodCost& cost = {});
/// The same on a device that holds `layers` of the model's layers, and the head where `withHead`.
[[nodiscard]] std::int64_t estimateActivationBytes(const ModelConfig& config, ComputeType type, int tokens, int layers,
                                                   bool withHead, const rope::MethodCost& cost = {});
/// Bytes of every copy of the keys and values of T tokens.
[[nodiscard]] std::int64_t estimateKvCacheBytes(const ModelConfig& config, ComputeType type, int tokens,
                                                const rope::MethodCost& cost = {});
/// Bytes of the weights in the compute type.
[[nodiscard]] std::int64_t estimateWeightBytes(const ModelConfig& config, ComputeType type);
/// The longest context, up to the model's own, whose estimated activations and cache fit into `bytes` beside the
/// weights; 0 where not even one token does.
[[nodiscard]] int longestContext(const ModelConfig& config, ComputeType type, std::int64_t bytes,
                                 const rope::MethodCost& cost = {});
[[nodiscard]] int longestContext(const ModelConfig& config, ComputeType type, std::int64_t bytes, int layers,
                                 bool withHead, const rope::MethodCost& cost = {});
/// Bytes of memory that the kernel could hand out without swapping; empty where it does not say.
[[nodiscard]] std::optional<std::int64_t> availableMemory();

}  // namespace lpes::model
