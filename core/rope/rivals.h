#pragma once

#include <span>
#include <vector>

#include "core/rope/method_spec.h"

/// The plain mathematics of the rival methods (methods.md §1), in double: what the decoder's versions are checked
/// against, and what is small enough to be computed here. All functions are thread-safe.
namespace lpes::rope {

/// b·s^(d/(d−2)) (§1.2); d, more than 2, is how many values of a head are rotated.
[[nodiscard]] double ntkBase(double base, double factor, int headDim);

/// Ms-PoE's grid of ratios for H heads: paper min + (max−min)·i/(H−1), code min + (max−min)·i/H (§1.5). One head alone
/// has `min` in both.
[[nodiscard]] std::vector<double> msPoeRatios(int heads, double min, double max, MethodPart::Variant variant);

/// S_P of one head: the share of `attention` (one row, its length the mean's) that is at least (code: more than)
/// `threshold` times the row's mean. 0 for an empty row.
[[nodiscard]] double msPoeScore(std::span<const float> attention, double threshold, MethodPart::Variant variant);

/// The ratio of each query head. Paper: a head takes the ratio of its rank by descending score; code: gathers by the
/// permutation that sorts (§0.1). Equal scores keep the heads' order.
[[nodiscard]] std::vector<double> msPoeHeadRatios(std::span<const double> scores, std::span<const double> ratios,
                                                  MethodPart::Variant variant);

/// The ratio of each query head in the released code's fixed order (head_type "normal"): that of rank H−1−j for head j.
[[nodiscard]] std::vector<double> msPoeFixedRatios(std::span<const double> ratios);

/// The ratio of each key/value head: FirstHead takes that of its group's first query head; Mean (ours) is for scores
/// that were already made one per group.
[[nodiscard]] std::vector<double> msPoeKeyRatios(std::span<const double> headRatios, int kvHeads);

/// Attention Buckets' published bases, for retrieval (N = 7) — for models whose own base is not 10000 each is
/// multiplied by base/10000, our default.
[[nodiscard]] std::vector<double> attentionBucketBases(double modelBase);
/// MoICE's experts (N = 7), likewise.
[[nodiscard]] std::vector<double> moiceBases(double modelBase);

/// softmax over paths of each path's largest logit (§1.4).
[[nodiscard]] std::vector<double> bucketWeights(std::span<const double> largestLogits);

/// Attention Buckets' waveform f_b(m) = (2/√d)·Σ_i cos(m·b^(−2i/d)) for m = first … last (§1.4).
[[nodiscard]] std::vector<double> bucketWaveform(double base, int headDim, int first, int last);

/// The greedy search for bases of §1.4. Peaks and troughs are the waveform's local maxima and minima inside the range;
/// a plateau counts at its first position. Each peak fills the nearest trough within the tolerance (of two equally near
/// ones the earlier), and both are cancelled when the base is chosen. Equal counts go to the smaller mean squared
/// distance, then to the smaller base. The published script looks at the six main waves of each base only.
struct BucketSearch {
    int headDim = 128;
    int first = 1000, last = 4090;  ///< positions, inclusive
    double minBase = 10000.0, maxBase = 30000.0, step = 500.0;
    int count = 6;              ///< bases in the end; fewer where the candidates run out
    std::vector<double> start;  ///< bases to begin with, in this order; empty: the best pair
    int tolerance = 3;          ///< tokens between a peak and the trough that it fills

    [[nodiscard]] int candidates() const;  ///< bases from minBase to maxBase
};
/// Bases in the order in which they were chosen.
[[nodiscard]] std::vector<double> searchBucketBases(const BucketSearch& search);

}  // namespace lpes::rope
