#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/rope/position_method.h"
#include "core/text/tokenizer.h"
#include "tests/support/tiny_model.h"

/// A Llama and the position methods written out in float64 from their definitions (methods.md §1): whole prompts, no
/// cache, nothing shared with the decoder but the weights.
namespace lpes::test {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

/// b^(−2i/d), i = 0 … d/2−1.
[[nodiscard]] Row baseFrequencies(double base, int headDim);
/// §1.3, the code's ramp.
[[nodiscard]] Row yarnFrequencies(double base, int headDim, double factor, double context);

struct MsPoeDefinition {
    double min = 1.2, max = 1.8;
    bool code = false;   ///< un-rotated scores, strict comparison, gather, a grid that ends before `max`
    bool means = false;  ///< one ratio per group, from the mean of its scores (ours)
    bool fixed = false;  ///< head_type "normal": head j has ratio H−1−j, no score is read
    int first = 0, last = 1 << 20;
    double threshold = 3.0;
    int promptTokens = 0;  ///< the last of them decides
};

struct MoiceDefinition {
    Row bases;
    int topK = 0;
    std::vector<rope::MoiceRouters::Layer> routers;
};

/// The angle of position m in a head of group g is m / scales[g] · frequencies[i].
struct LayerDefinition {
    Row frequencies;  ///< [D/2]
    Row scales;       ///< [K]
};

struct Definition {
    std::vector<LayerDefinition> layers;
    double amplitude = 1.0;  ///< multiplies cos and sin
    std::optional<MsPoeDefinition> msPoe{};
    std::optional<MoiceDefinition> moice{};
};

struct ReferencePass {
    Rows logits;                      ///< [T][V]
    std::vector<Rows> lastAttention;  ///< [L][H][T] of the last token
    std::vector<Rows> hidden;         ///< [L][T][E] after each layer
    Rows ratios;                      ///< [L][H] of Ms-PoE
    /// Of Ms-PoE: the least distance of an attention from the bound that it is compared with, as a share of the bound.
    double margin = 1e9;
};

class ReferenceModel {
  public:
    explicit ReferenceModel(const TinyModel& tiny);
    ~ReferenceModel();
    ReferenceModel(const ReferenceModel&) = delete;
    ReferenceModel& operator=(const ReferenceModel&) = delete;

    /// The model as it is, or with another base.
    [[nodiscard]] Definition plain(std::optional<double> base = {}) const;
    [[nodiscard]] ReferencePass run(std::span<const text::TokenId> ids, const Definition& definition) const;
    /// Log-probabilities [T][V].
    [[nodiscard]] Rows logProbs(std::span<const text::TokenId> ids, const Definition& definition) const;
    /// Those of Attention Buckets (§1.4).
    [[nodiscard]] Rows bucketLogProbs(std::span<const text::TokenId> ids, const Row& bases, bool probabilities) const;

  private:
    struct Weights;
    TinyModelSpec m_spec;
    std::unique_ptr<Weights> m_weights;
};

[[nodiscard]] Row logSoftmax(const Row& logits);
/// §1.4: logits of one token along every path → log-probabilities of their combination.
[[nodiscard]] Row combinedPaths(const Rows& logits, bool probabilities);
/// Ratios from the smallest up, for `count` heads or groups (§1.5).
[[nodiscard]] Row msPoeGrid(const MsPoeDefinition& definition, int count);
/// The ratio of each head or group by its score (§1.5).
[[nodiscard]] Row msPoeAssignment(const Row& scores, const Row& grid, bool code);
/// 1 − linear CKA of two sets of rows, columns centred (§4).
[[nodiscard]] double structureDeviation(const Rows& one, const Rows& other);

}  // namespace lpes::test
