#pragma once

#include <optional>
#include <vector>

#include "core/search/genome.h"
#include "core/search/slope.h"

/// Scales are continuous, and so is what the model makes of them: one pass there and back gives the slope of the
/// answers' likelihood over all of them, and the curve carries it over to its control points.
namespace lpes::search {

/// [genes of the genome, point by point, x before y] ∂loss/∂gene, by the chain rule over what the curves decode to
/// without rounding; 0 for an x that is no gene. `slope` [L·G].
[[nodiscard]] std::vector<double> geneSlopes(const SearchSettings& settings, int numLayers, const Genome& genome,
                                             const std::vector<double>& slope);

/// What the curves give without rounding, [L·G].
[[nodiscard]] std::vector<double> unrounded(const SearchSettings& settings, int numLayers, const Genome& genome);

/// A descent from one genome: projected steps against a running mean of the slopes (momentum). All genes share one
/// measure of length, the running root mean square of the slopes, so that a step keeps the slope's direction and has
/// the length that the settings say; the first steps are shorter, as the means are not worth much then, and those of
/// later rounds, as the optimum is near. A depth counts as kDepthUnit of a scale. thread-compatible.
class Descent {
  public:
    Descent(const SearchSettings& settings, int numLayers, Genome start);

    [[nodiscard]] const Genome& at() const { return m_at; }
    /// One step against `slope` [L·G] of the loss at `at()`, then back into the bounds: y clamped, no inner point left
    /// of the one before.
    void step(const std::vector<double>& slope);
    /// The mean of the places since the descent began or beginRound was called: a step's items are few, and their noise
    /// cancels in the mean. The first half of a descent's first round is left out, because the way there would hold the
    /// mean back (tail averaging, arXiv 1610.03774). `at()` while there is none.
    [[nodiscard]] Genome mean() const;
    void beginRound();

    static constexpr double kDepthUnit = 0.5;

  private:
    void project();

    const SearchSettings& m_settings;
    const int m_numLayers;
    Genome m_at;
    std::vector<double> m_momentum;  ///< [2·points]
    double m_square = 0.0;
    int m_steps = 0;
    Genome m_sum;
    int m_summed = 0;
};

/// Descents side by side: each step of all of them is measured together. thread-compatible.
class Descents {
  public:
    Descents(const SearchSettings& settings, int numLayers) : m_settings(settings), m_numLayers(numLayers) {}

    /// New descents in place of those before.
    void begin(const std::vector<Genome>& starts);
    /// A new round of the same descents.
    void goOn();
    [[nodiscard]] int count() const { return static_cast<int>(m_descents.size()); }
    /// The slopes that the next step needs; none when the round is over. `round`: rounds of this search so far, which
    /// items are fresh follows from it.
    [[nodiscard]] std::vector<SlopeRequest> wanted(int round) const;
    void take(const std::vector<std::optional<Slope>>& slopes);
    [[nodiscard]] Genome result(int index) const { return m_descents[static_cast<std::size_t>(index)].mean(); }

  private:
    const SearchSettings& m_settings;
    const int m_numLayers;
    std::vector<Descent> m_descents;
    int m_step = 0;  ///< of this round
};

}  // namespace lpes::search
