#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/rope/position_method.h"
#include "core/text/tokenizer.h"

/// What a model's session (causal_lm.h) is asked and answers.
namespace lpes::model {

using rope::LayerScales;
using rope::PositionMethod;
using text::TokenId;

/// A prompt and the answer that is scored after it, in one prefill (teacher forcing, methods.md §2).
struct ScoredPrompt {
    std::vector<TokenId> prompt;
    std::vector<TokenId> answer;  ///< at least one id
};

class LeadingStates;  // leading_states.h

struct AnswerScore {
    std::vector<double> logProbs;  ///< natural log-probability of each answer id given everything before it
    bool allArgmax = false;        ///< every answer id has the highest logit (`strict`); a tie goes to the lower id
    double meanNll = 0.0;          ///< −mean(logProbs)
};

struct ScoreOptions {
    /// A beginning of at least 16 tokens that prompts of a batch have in common is computed once, and so is a prompt
    /// that comes with several answers. Results then differ by rounding from those without: in bfloat16 on matrix units
    /// only under a sliding window, in float32 by some 1e-5. Where the method does not allow it (sharesPrefixes) every
    /// prompt is computed for itself.
    bool sharePrefixes = false;
    /// States of leading layers to begin with and to leave for other passes; null: none. It outlives the call. The
    /// answers do not depend on it; methods with several passes or a choice by content, and sessions on other machines,
    /// leave it alone.
    LeadingStates* leading = nullptr;
};

/// Do prompts that begin alike have the same keys and values there, so that they can share them? Not where the method
/// reads each prompt's own attention (Ms-PoE). Where frequencies depend on a sequence's length (dynamic NTK, LongRoPE
/// with two lists) only sequences of the same frequencies share.
[[nodiscard]] bool sharesPrefixes(const PositionMethod& method);

struct GenerateOptions {
    int mostNewTokens = 100;           ///< at least one
    std::vector<TokenId> endIds = {};  ///< end an answer and are not part of it
    bool sharePrefixes = false;        ///< as in ScoreOptions
};

struct GradientOptions {
    /// As in ScoreOptions, but for the way there alone: on the way back each prompt has a gradient of its own.
    bool sharePrefixes = false;
};

struct GeneratedAnswer {
    std::vector<TokenId> ids;
    bool ended = false;  ///< by an end id; otherwise the answer or the context was full
};

struct TopToken {
    TokenId id = 0;
    double logProb = 0.0;
};

struct TextScore {
    std::vector<double> logProbs;    ///< of ids[1…], one fewer than ids
    std::vector<TokenId> argmax;     ///< highest logit after each of ids[0 … n−1]
    std::vector<TopToken> topAtEnd;  ///< after the last id, best first
};

/// Result of reading back what a running model really uses (conventions.md §1, rank 1).
struct AppliedCheck {
    bool verified = false;
    double maxAbsError = 0.0;  ///< largest |table − expectation| over layers, positions and frequencies
    int worstLayer = -1;
    std::vector<int> probedPositions;
};

struct TokenSpan {
    int begin = 0, end = 0;  ///< token indices, end exclusive
};
/// A prompt's attention, reduced to spans of tokens while it is computed: O(T) memory. With A_{t,k} the softmax's share
/// that query t gives to key k (0 for a key that it does not see), mean over heads, tokens counted from 0 (methods.md
/// §4):
///   attentionOfLastToken   share = Σ_{k in span} A_{T−1,k}                 all tokens together: 1
///   attentionOfAllTokens   share = Σ_{k in span} α_k,  α_k = (1/(T−k)) · Σ_{t ≥ k} A_{t,k}   (Gu et al., the measure
///                          of attention sinks). The mean runs over every later query, also over those whose sliding
///                          window hides the key. Σ_k (T−k)·α_k = T; the shares themselves add up to no fixed number.
struct AttentionProbe {
    std::vector<std::vector<double>> shareByLayer;  ///< [L][spans]
    std::vector<double> sinkByLayer;                ///< [L] of token 0 alone
};

/// ∂(mean answer NLL of a prompt)/∂s.
struct ScaleGradient {
    double meanNll = 0.0;
    /// Layer by layer: [L] of scales by layer, [L·K] by key/value head, [L·R/2] of divisors by frequency.
    std::vector<double> gradient;
};

/// How like two sets of hidden states are, layer by layer (methods.md §4). One entry per layer: output of layer h
/// before the final norm; rows are the prompt's tokens without token 0 and without sink tokens.
struct RepresentationComparison {
    std::vector<double> deviation;  ///< 1 − linear CKA
    std::vector<double> rsa;        ///< Spearman of the upper triangles of the 1−cosine distance matrices
    std::vector<double> meanCosine;
};

/// Hidden states of one prompt after every layer, kept so that those under other scales can be compared with them again
/// and again without another pass. Opaque and immutable; only for sessions of the model that made it.
class RepresentationReference {
  public:
    virtual ~RepresentationReference() = default;
    [[nodiscard]] virtual int promptTokens() const = 0;
    [[nodiscard]] virtual std::int64_t bytes() const = 0;
};

/// Attention and deviation of one prompt out of a single pass: what the editor shows while a curve is dragged.
struct ProbedPrompt {
    std::vector<TokenId> prompt;
    std::vector<TokenSpan> spans;
    std::shared_ptr<const RepresentationReference> reference;  ///< null: attention only
};
struct PromptProbe {
    AttentionProbe attention;
    std::vector<double> deviation;  ///< [L] 1 − linear CKA to the reference; empty without one
};

}  // namespace lpes::model
