#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace lpes {

/// One block of Philox4x32-10: four 32-bit words for a 128-bit counter under a 64-bit key.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key);

/// A stream of random numbers that depends on (seed, a, b) alone: no state is shared, so what candidate (generation,
/// index) draws does not depend on who draws before it or on which thread. Every number that is stored comes from
/// here, never from std::*_distribution, whose results differ between libraries.
/// thread-compatible.
class RandomStream {
  public:
    /// Names one stream: `purpose` keeps different uses of one seed apart (see StreamPurpose), `a` and `b` number the
    /// stream within it (generation and index, say).
    RandomStream(std::uint64_t seed, std::uint32_t purpose, std::uint32_t a = 0, std::uint32_t b = 0);

    /// 32 random bits.
    std::uint32_t next();
    /// Uniform in [0, 1), 53 bits.
    double uniform();
    /// Uniform in [low, high).
    double uniform(double low, double high);
    /// Uniform in 0 … count−1 without bias; count ≥ 1.
    std::uint64_t below(std::uint64_t count);
    /// Standard normal (Box–Muller, both values used).
    double normal();

    /// Fisher–Yates.
    template <class T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
    }

  private:
    std::array<std::uint32_t, 2> m_key;
    std::array<std::uint32_t, 4> m_counter;
    std::array<std::uint32_t, 4> m_block{};
    int m_used = 4;
    double m_spareNormal = 0.0;
    bool m_hasSpare = false;
};

/// What a stream is for. The values are stored behaviour: never renumber.
enum StreamPurpose : std::uint32_t {
    kStreamInitialPopulation = 1,
    kStreamBreeding = 2,
    kStreamItems = 3,
    kStreamSplits = 4,
    kStreamBootstrap = 5,
    kStreamVariants = 6,
    kStreamSampling = 7,
    kStreamTests = 8,
    kStreamRouters = 9,
    kStreamTrainingText = 10,
    kStreamDistractors = 11,
    kStreamNeedles = 12,
    kStreamHaystack = 13,
    kStreamSlots = 14,
    kStreamSlopeItems = 15,
};

}  // namespace lpes
