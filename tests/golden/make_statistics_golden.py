#!/usr/bin/env python3
"""Golden numbers for core/analysis/statistics.

Wilson intervals: scipy.stats.binomtest(k, n).proportion_ci(method="wilson").
McNemar: scipy.stats.binomtest(min(b, c), b + c, 0.5), two-sided.
Bootstrap: this file's own Philox4x32-10 (Salmon et al., SC 2011; checked below against the published vectors), an index
from two words (high word first) by rejection of the incomplete last multiple, resample after resample; numpy's default
percentile; p = 2 min((#(mean <= 0) + 1), (#(mean >= 0) + 1)) / (resamples + 1).
Figures of several means: the same draws of whole rows; a resample without a figure counts as the range's low end for the
lower percentile and as its high end for the upper one. Cohen's kappa by its definition from the 2 x 2 table.

Needs scipy and numpy. Example: make_statistics_golden.py --out statistics.json
"""
import argparse
import json

import numpy
import scipy
from scipy.stats import binomtest

MASK = 0xFFFFFFFF
BOOTSTRAP_PURPOSE = 5


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & MASK, (a >> 32) ^ c3 ^ k1, a & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
assert philox((MASK,) * 4, (MASK,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def words(seed, purpose):
    block = 0
    while True:
        yield from philox((block, purpose, 0, 0), (seed & MASK, seed >> 32))
        block += 1


def below(source, count):
    limit = 2**64 - 2**64 % count
    while True:
        value = next(source) << 32
        value |= next(source)
        if value < limit:
            return value % count


def means(values, seed, resamples):
    source, result = words(seed, BOOTSTRAP_PURPOSE), []
    for _ in range(resamples):
        total = 0.0
        for _ in values:
            total += values[below(source, len(values))]
        result.append(total / len(values))
    return result


def paired(name, a, b, seed, resamples):
    differences = [y - x for x, y in zip(a, b)]
    drawn = means(differences, seed, resamples)
    fewer = min(sum(m <= 0 for m in drawn), sum(m >= 0 for m in drawn))
    total = 0.0
    for d in differences:
        total += d
    low, high = numpy.percentile(drawn, [2.5, 97.5])
    return {"name": name, "a": a, "b": b, "seed": str(seed), "resamples": resamples, "mean_difference": total / len(a),
            "low": float(low), "high": float(high), "p": min(1.0, 2 * (fewer + 1) / (resamples + 1))}


def gap(means):
    return max(means) - min(means)


def sensitivity(means):
    return 1 - min(means) / max(means) if max(means) > 0 else None


def kappa(counts):
    """Of how many prompts are right in neither way, in the second alone, in the first alone, in both."""
    neither, second, first, both = counts
    n = sum(counts)
    chance = (both + first) / n * (both + second) / n + (neither + second) / n * (neither + first) / n
    return ((both + neither) / n - chance) / (1 - chance) if chance < 1 else None


def of_rows(name, figure, span, rows, seed, resamples):
    source, drawn = words(seed, BOOTSTRAP_PURPOSE), []
    for _ in range(resamples):
        picked = [rows[below(source, len(rows))] for _ in rows]
        drawn.append(figure([sum(column) / len(rows) for column in zip(*picked)]))
    ends = [numpy.percentile([end if value is None else value for value in drawn], share)
            for end, share in zip(span, (2.5, 97.5))]
    return {"name": name, "figure": figure.__name__, "rows": rows, "seed": str(seed), "resamples": resamples,
            "undefined": sum(value is None for value in drawn), "low": float(ends[0]), "high": float(ends[1])}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", required=True)
    options = arguments.parse_args()

    wilson = []
    for k, n, confidence in ((0, 1, .95), (0, 10, .95), (1, 10, .95), (5, 10, .95), (10, 10, .95), (18, 40, .95),
                             (4, 40, .95), (22, 40, .99), (250, 500, .95), (3, 500, .9), (123456, 1000000, .95)):
        interval = binomtest(k, n).proportion_ci(confidence_level=confidence, method="wilson")
        wilson.append({"successes": k, "n": n, "confidence": confidence, "low": float(interval.low),
                       "high": float(interval.high)})
    mcnemar = []
    for b, c in ((0, 0), (1, 0), (0, 5), (0, 6), (1, 9), (9, 1), (3, 5), (10, 10), (2, 12), (40, 60), (400, 500)):
        p = 1.0 if b + c == 0 else binomtest(min(b, c), b + c, 0.5).pvalue
        mcnemar.append({"only_a": b, "only_b": c, "p": float(p)})

    # Values of three decimals without any library's random numbers: the fractional parts of multiples of sqrt(2).
    def series(offset, size):
        return [round(1.0 + ((offset + 1.41421356 * i) % 1.0), 3) for i in range(1, size + 1)]

    base = series(0.0, 40)
    bootstrap = [
        paired("better", base, [round(x - 0.05 + 0.3 * (y - 1.5), 3) for x, y in zip(base, series(0.37, 40))], 7, 10000),
        paired("worse", base, [round(x + 0.08 + 0.3 * (y - 1.5), 3) for x, y in zip(base, series(0.37, 40))], 7, 10000),
        paired("noise", base, series(0.61, 40), 2**63 + 11, 2000),
        paired("two items", [1.0, 2.0], [1.5, 1.75], 1, 1000),
        paired("equal", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 3, 500),
    ]
    lost_middle = [[1, 0, 1]] * 7 + [[1, 1, 1]] * 4 + [[0, 0, 1]] * 3 + [[0, 0, 0]] * 6
    hard = [[0, 0, 0]] * 14 + [[1, 0, 0], [0, 0, 1]]
    graded = [[series(0.1, 20)[i] - 1, round(0.5 * series(0.4, 20)[i] - 0.5, 3), series(0.7, 20)[i] - 1]
              for i in range(20)]
    graded = [[round(value, 3) for value in row] for row in graded]
    both_ways = [[0, 0, 0, 3]] * 5 + [[1, 1, 0, 1]] * 4 + [[3, 0, 0, 0]] * 3 + [[1, 0, 1, 1]] * 2
    figures = [
        of_rows("lost middle", gap, (0, 1), lost_middle, 1, 10000),
        of_rows("lost middle", sensitivity, (0, 1), lost_middle, 1, 10000),
        of_rows("some resamples have none", sensitivity, (0, 1), hard, 5, 3000),
        of_rows("graded", gap, (0, 1), graded, 2**40 + 3, 3000),
        of_rows("both ways", kappa, (-1, 1), both_ways, 9, 10000),
    ]
    result = {"origin": "scipy %s, numpy %s" % (scipy.__version__, numpy.__version__), "wilson": wilson,
              "mcnemar": mcnemar, "bootstrap": bootstrap, "figures": figures}
    with open(options.out, "w", encoding="utf-8") as out:
        json.dump(result, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
