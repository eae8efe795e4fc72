// Small matrices: what vector units would save is nothing against one evaluation, and their order of summation differs
// between machines, which a history must not.
#define EIGEN_DONT_VECTORIZE
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/search/optimizer.h"
#include "core/search/population.h"

namespace lpes::search {
namespace {

/// Standard deviations at the start, our defaults: as the random curves' steps, and half of the points' distance.
constexpr double kStartY = 0.3, kStartX = 0.15;

/// CMA-ES with rank-one and rank-µ update and positive weights, after N. Hansen, "The CMA Evolution Strategy: A
/// Tutorial" (arXiv 1604.00772), §5 and Appendix A, whose names the members carry. Samples are drawn with the symmetric
/// root of C, which has the same distribution as B·D·z and no arbitrary signs. Points that leave the bounds are put
/// back, and what is learnt is the point that was evaluated. The mean starts at the line s = 1.
class CmaEs : public Optimizer {
  public:
    CmaEs(const SearchSettings& settings, int numLayers)
        : m_settings(settings), m_numLayers(numLayers), m_line(levelGenome(settings, numLayers, 1.0)) {
        repair(settings, m_line);
        m_mean = variables(m_line);
        const auto n = m_mean.size();
        m_C = Eigen::MatrixXd::Identity(n, n);
        m_root = m_C;
        m_inverseRoot = m_C;
        m_pathC = Eigen::VectorXd::Zero(n);
        m_pathSigma = m_pathC;
    }

    [[nodiscard]] int candidates(int generation) const override { return candidatesOf(m_settings, generation); }
    [[nodiscard]] RandomStream stream(int generation, int index) const override {
        return candidateStream(m_settings, generation, index);
    }
    [[nodiscard]] Proposal propose(int generation, int index, RandomStream& random) override {
        // The model as it is belongs to every search.
        if (generation == 0 && index == 0) return {m_line, true};
        Eigen::VectorXd z(m_mean.size());
        for (double& value : z) value = random.normal();
        Genome genome = genomeOf(m_mean + m_sigma * (m_root * z));
        repair(m_settings, genome);
        return {std::move(genome), false};
    }
    void learn(const Archive& archive, std::size_t first) override {
        std::vector<std::size_t> places;
        for (std::size_t place = first; place < archive.size(); ++place) places.push_back(place);
        std::ranges::sort(
            places, [&](std::size_t a, std::size_t b) { return ranksBefore(archive[a].record, archive[b].record); });
        std::vector<Eigen::VectorXd> steps;  // y_{i:λ}, the better half
        for (const std::size_t place : places) {
            if (archive[place].record.evaluation.failed || steps.size() == places.size() / 2) break;
            steps.push_back((variables(archive[place].record.candidate.points) - m_mean) / m_sigma);
        }
        // A failed candidate teaches nothing; without two that did not fail there is no direction.
        if (steps.size() >= 2) update(steps, static_cast<double>(places.size()));
    }

  private:
    /// The genes that vary, each in units of its first standard deviation.
    [[nodiscard]] Eigen::VectorXd variables(const Genome& genome) const {
        std::vector<double> values;
        for (std::size_t k = 0; k < genome.size(); ++k) {
            if (xIsGene(m_settings, m_numLayers, static_cast<int>(k))) values.push_back(genome[k].x / kStartX);
            values.push_back(genome[k].y / kStartY);
        }
        return Eigen::Map<Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
    }
    [[nodiscard]] Genome genomeOf(const Eigen::VectorXd& values) const {
        Genome genome = m_line;
        Eigen::Index next = 0;
        for (std::size_t k = 0; k < genome.size(); ++k) {
            if (xIsGene(m_settings, m_numLayers, static_cast<int>(k))) genome[k].x = values[next++] * kStartX;
            genome[k].y = values[next++] * kStartY;
        }
        return genome;
    }

    void update(const std::vector<Eigen::VectorXd>& steps, double lambda) {
        const double n = static_cast<double>(m_mean.size());
        std::vector<double> weights;
        for (std::size_t i = 0; i < steps.size(); ++i)
            weights.push_back(std::log((lambda + 1.0) / 2.0) - std::log(static_cast<double>(i) + 1.0));
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        double squares = 0.0;
        for (double& weight : weights) {
            weight /= sum;
            squares += weight * weight;
        }
        const double muEff = 1.0 / squares;
        const double cSigma = (muEff + 2.0) / (n + muEff + 5.0);
        const double dSigma = 1.0 + 2.0 * std::max(0.0, std::sqrt((muEff - 1.0) / (n + 1.0)) - 1.0) + cSigma;
        const double cC = (4.0 + muEff / n) / (n + 4.0 + 2.0 * muEff / n);
        const double c1 = 2.0 / ((n + 1.3) * (n + 1.3) + muEff);
        const double cMu =
            std::min(1.0 - c1, 2.0 * (0.25 + muEff + 1.0 / muEff - 2.0) / ((n + 2.0) * (n + 2.0) + muEff));
        const double chiN = std::sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));

        Eigen::VectorXd step = Eigen::VectorXd::Zero(m_mean.size());
        for (std::size_t i = 0; i < steps.size(); ++i) step += weights[i] * steps[i];
        m_mean += m_sigma * step;
        ++m_updates;
        m_pathSigma =
            (1.0 - cSigma) * m_pathSigma + std::sqrt(cSigma * (2.0 - cSigma) * muEff) * (m_inverseRoot * step);
        const double expected = 1.0 - std::pow(1.0 - cSigma, 2.0 * m_updates);
        const bool stalled = m_pathSigma.norm() / std::sqrt(expected) < (1.4 + 2.0 / (n + 1.0)) * chiN;
        m_pathC *= 1.0 - cC;
        if (stalled) m_pathC += std::sqrt(cC * (2.0 - cC) * muEff) * step;
        const double lost = stalled ? 0.0 : cC * (2.0 - cC);
        m_C *= 1.0 + c1 * lost - c1 - cMu;
        m_C += c1 * m_pathC * m_pathC.transpose();
        for (std::size_t i = 0; i < steps.size(); ++i) m_C += cMu * weights[i] * steps[i] * steps[i].transpose();
        m_sigma *= std::exp(std::min(1.0, cSigma / dSigma * (m_pathSigma.norm() / chiN - 1.0)));
        takeRoots();
    }

    void takeRoots() {
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(m_C);
        // Rounding may leave a direction that has collapsed with less than nothing.
        const Eigen::VectorXd roots = solver.eigenvalues().cwiseMax(1e-20).cwiseSqrt();
        const Eigen::MatrixXd& axes = solver.eigenvectors();
        m_root = axes * roots.asDiagonal() * axes.transpose();
        m_inverseRoot = axes * roots.cwiseInverse().asDiagonal() * axes.transpose();
    }

    const SearchSettings& m_settings;
    const int m_numLayers;
    Genome m_line;
    Eigen::VectorXd m_mean, m_pathC, m_pathSigma;
    Eigen::MatrixXd m_C, m_root, m_inverseRoot;
    double m_sigma = 1.0;
    double m_updates = 0.0;
};

}  // namespace

std::unique_ptr<Optimizer> makeCmaEs(const SearchSettings& settings, int numLayers) {
    return std::make_unique<CmaEs>(settings, numLayers);
}

}  // namespace lpes::search
