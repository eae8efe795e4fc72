#pragma once

#include "core/model/torch/row_kernels.h"
#include "core/model/torch/vector_math.h"

// The attention part of row_kernels_impl.h, under the same rules.
namespace lpes::model {
namespace {

using namespace lanes;

constexpr float kNoScore = -__builtin_inff();

/// tanh(x) = 1 − 2 / (e^2x + 1), within 2⁻²³.
inline Floats hyperbolicTangent(Floats x) {
    return broadcast(1.0f) - broadcast(2.0f) / (exponential(x + x) + broadcast(1.0f));
}

/// Lane i becomes the sum of rows[i]'s lanes.
inline Floats sumEach(Floats (&rows)[kLanes]) {
    // Each step halves the rows: neighbours share a row, one in the even places, the other in the odd ones.
    constexpr Words kEven{0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30};
    constexpr Words kOdd{1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31};
    constexpr Words kEvenPairs{0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29};
    constexpr Words kOddPairs{2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31};
    constexpr Words kEvenFours{0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27};
    constexpr Words kOddFours{4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31};
    constexpr Words kLow{0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
    constexpr Words kHigh{8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31};
    const auto merged = [](Floats a, Floats b, Words first, Words second) {
        return __builtin_shuffle(a, b, first) + __builtin_shuffle(a, b, second);
    };
    for (int i = 0; i < 8; ++i) rows[i] = merged(rows[2 * i], rows[2 * i + 1], kEven, kOdd);
    for (int i = 0; i < 4; ++i) rows[i] = merged(rows[2 * i], rows[2 * i + 1], kEvenPairs, kOddPairs);
    for (int i = 0; i < 2; ++i) rows[i] = merged(rows[2 * i], rows[2 * i + 1], kEvenFours, kOddFours);
    return merged(rows[0], rows[1], kLow, kHigh);
}

/// `size` values as floats, zeros up to a whole number of lanes behind them.
template <class T>
inline void widenRow(const T* from, std::int64_t size, float* to) {
    const std::int64_t whole = size - size % kLanes;
    for (std::int64_t i = 0; i < whole; i += kLanes) store(to + i, load(from + i));
    if (whole < size) store(to + whole, loadSome(from + whole, size - whole));
}

/// count scores → probabilities, zeros up to a whole number of lanes behind them.
inline void softmaxScores(float* scores, std::int64_t count, const ScoreRule& rule) {
    const std::int64_t filled = (count + kLanes - 1) / kLanes * kLanes;
    float scale = rule.scale;
    if (rule.softcap > 0.0f) {
        const Floats inner = broadcast(scale / rule.softcap), cap = broadcast(rule.softcap);
        for (std::int64_t i = 0; i < filled; i += kLanes)
            store(scores + i, cap * hyperbolicTangent(load(scores + i) * inner));
        scale = 1.0f;
    }
    for (std::int64_t i = count; i < filled; ++i) scores[i] = kNoScore;
    Floats largest = broadcast(kNoScore);
    for (std::int64_t i = 0; i < filled; i += kLanes) {
        const Floats value = load(scores + i);
        largest = value > largest ? value : largest;
    }
    float maximum = kNoScore;
    for (int i = 0; i < kLanes; ++i) maximum = largest[i] > maximum ? largest[i] : maximum;
    const Floats factor = broadcast(scale), shift = broadcast(maximum * scale);
    Floats sums{};
    for (std::int64_t i = 0; i < filled; i += kLanes) {
        const Floats score = load(scores + i), share = exponential(score * factor - shift);
        const Floats seen = score == kNoScore ? Floats{} : share;
        sums += seen;
        store(scores + i, seen);
    }
    const Floats part = broadcast(1.0f / sum(sums));
    for (std::int64_t i = 0; i < filled; i += kLanes) store(scores + i, load(scores + i) * part);
}

template <class T>
void attendRow(const T* q, std::int64_t qStride, std::int64_t heads, std::int64_t size, const T* keys, const T* values,
               std::int64_t count, const ScoreRule& rule, float* scores, T* out) {
    const std::int64_t padded = (size + kLanes - 1) / kLanes * kLanes, stride = (count + kLanes - 1) / kLanes * kLanes;
    float* queries = scores + heads * stride;
    float* block = queries + heads * padded;  // sixteen keys, widened once for all heads
    for (std::int64_t head = 0; head < heads; ++head) widenRow(q + head * qStride, size, queries + head * padded);
    for (std::int64_t first = 0; first < count; first += kLanes) {
        const std::int64_t rows = count - first < kLanes ? count - first : kLanes;
        for (std::int64_t i = 0; i < rows; ++i) widenRow(keys + (first + i) * size, size, block + i * padded);
        for (std::int64_t i = rows * padded; i < kLanes * padded; ++i) block[i] = 0.0f;
        for (std::int64_t head = 0; head < heads; ++head) {
            Floats sums[kLanes] = {};
            for (std::int64_t d = 0; d < padded; d += kLanes) {
                const Floats query = load(queries + head * padded + d);
                for (int i = 0; i < kLanes; ++i) sums[i] += query * load(block + i * padded + d);
            }
            store(scores + head * stride + first, sumEach(sums));
        }
    }
    for (std::int64_t head = 0; head < heads; ++head) softmaxScores(scores + head * stride, count, rule);
    constexpr std::int64_t kTogether = 4;
    for (std::int64_t head = 0; head < heads; head += kTogether) {
        const std::int64_t together = heads - head < kTogether ? heads - head : kTogether;
        // Heads that are not there repeat the last one.
        const float* shares[kTogether];
        for (std::int64_t i = 0; i < kTogether; ++i)
            shares[i] = scores + (head + (i < together ? i : together - 1)) * stride;
        for (std::int64_t d = 0; d < size; d += kLanes) {
            const std::int64_t present = size - d < kLanes ? size - d : kLanes;
            Floats sums[kTogether] = {};
            for (std::int64_t key = 0; key < count; ++key) {
                const T* from = values + key * size + d;
                const Floats value = present == kLanes ? load(from) : loadSome(from, present);
                for (int i = 0; i < kTogether; ++i) sums[i] += value * shares[i][key];
            }
            for (std::int64_t i = 0; i < together; ++i) {
                T* target = out + (head + i) * size + d;
                if (present == kLanes) {
                    store(target, sums[i]);
                } else {
                    storeSome(target, sums[i], present);
                }
            }
        }
    }
}

/// One row, columns first … visible−1 of `width`; answers by what the row's earlier results have to be multiplied.
inline float softmaxRow(float* scores, std::int64_t first, std::int64_t visible, std::int64_t width,
                        const ScoreRule& rule, Bf16* shares, float& maximum, float& total) {
    const std::int64_t begin = first - first % kLanes, filled = (visible + kLanes - 1) / kLanes * kLanes;
    float scale = rule.scale;
    if (rule.softcap > 0.0f) {
        const Floats inner = broadcast(scale / rule.softcap), cap = broadcast(rule.softcap);
        for (std::int64_t i = begin; i < filled; i += kLanes)
            store(scores + i, cap * hyperbolicTangent(load(scores + i) * inner));
        scale = 1.0f;
    }
    for (std::int64_t i = begin; i < first; ++i) scores[i] = kNoScore;
    for (std::int64_t i = visible; i < filled; ++i) scores[i] = kNoScore;
    Floats largest = broadcast(kNoScore);
    for (std::int64_t i = begin; i < filled; i += kLanes) {
        const Floats value = load(scores + i);
        largest = value > largest ? value : largest;
    }
    float newMaximum = maximum;
    for (int i = 0; i < kLanes; ++i) {
        const float value = largest[i] * scale;
        newMaximum = value > newMaximum ? value : newMaximum;
    }
    const Floats factor = broadcast(scale), shift = broadcast(newMaximum);
    Floats sums{};
    for (std::int64_t i = 0; i < begin; ++i) shares[i] = Bf16{0};
    for (std::int64_t i = begin; i < filled; i += kLanes) {
        const Floats score = load(scores + i), share = exponential(score * factor - shift);
        const Floats seen = score == kNoScore ? Floats{} : share;  // the exponential ends at e^−87
        sums += seen;
        store(shares + i, seen);
    }
    for (std::int64_t i = filled; i < width; ++i) shares[i] = Bf16{0};
    const float correction = exponential(broadcast(maximum - newMaximum))[0];
    total = total * correction + sum(sums);
    maximum = newMaximum;
    return correction;
}

void softmaxBlock(float* scores, std::int64_t stride, std::int64_t visible, std::int64_t rows, std::int64_t width,
                  std::int64_t headDim, const ScoreRule& rule, Bf16* shares, float* maxima, float* sums,
                  float* results) {
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t wanted = visible + row, seen = wanted < 0 ? 0 : wanted > width ? width : wanted;
        const std::int64_t first = rule.window > 0 && wanted > rule.window ? wanted - rule.window : 0;
        Bf16* target = shares + row * stride;
        if (first >= seen) {
            std::memset(static_cast<void*>(target), 0, static_cast<std::size_t>(width) * sizeof(Bf16));
            continue;
        }
        const float correction =
            softmaxRow(scores + row * stride, first, seen, width, rule, target, maxima[row], sums[row]);
        if (results && correction != 1.0f) {
            for (std::int64_t i = 0; i < headDim; ++i) results[row * headDim + i] *= correction;
        }
    }
}

void packKeys(const std::uint16_t* keys, std::int64_t count, std::int64_t half, std::int64_t width,
              std::uint32_t* packed) {
    constexpr std::int64_t kTile = 16;
    const auto word = [&](std::int64_t row, std::int64_t pair) {
        std::uint32_t value;
        std::memcpy(&value, keys + (row * half + pair) * 2, sizeof value);
        return value;
    };
    for (std::int64_t first = 0; first < width; first += kTile) {
        const std::int64_t present = count - first > kTile ? kTile : count - first;
        for (std::int64_t pair = 0; pair < half; ++pair) {
            std::uint32_t* target = packed + pair * width + first;
            for (std::int64_t i = 0; i < present; ++i) target[i] = word(first + i, pair);
            for (std::int64_t i = present > 0 ? present : 0; i < kTile; ++i) target[i] = 0;
        }
    }
}

void packValues(const std::uint16_t* values, std::int64_t count, std::int64_t headDim, std::int64_t rows,
                std::uint32_t* packed) {
    for (std::int64_t row = 0; row < rows; row += 2) {
        std::uint32_t* target = packed + row / 2 * headDim;
        const std::uint16_t* low = values + row * headDim;
        if (row + 1 < count) {
            const std::uint16_t* high = low + headDim;
            for (std::int64_t i = 0; i < headDim; ++i) {
                target[i] = static_cast<std::uint32_t>(low[i]) | static_cast<std::uint32_t>(high[i]) << 16;
            }
        } else {
            for (std::int64_t i = 0; i < headDim; ++i) target[i] = row < count ? low[i] : 0u;
        }
    }
}

void finishRow(const float* results, float total, std::int64_t headDim, Bf16* out) {
    const Floats factor = broadcast(1.0f / total);
    const std::int64_t whole = headDim - headDim % kLanes, rest = headDim % kLanes;
    for (std::int64_t i = 0; i < whole; i += kLanes) store(out + i, load(results + i) * factor);
    if (rest > 0) storeSome(out + whole, loadSome(results + whole, rest) * factor, rest);
}

}  // namespace
}  // namespace lpes::model
