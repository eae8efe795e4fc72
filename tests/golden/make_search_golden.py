#!/usr/bin/env python3
"""Golden histories of the genetic search.

Written from the definitions (Philox4x32-10: Salmon et al., SC 2011; curve, operators and defaults: the notes in
core/search/*.h), without looking at what the C++ program prints: the test GeneticSearchGolden compares the two bit for
bit. The numbers pin stored behaviour: a search that is resumed breeds its candidates again, so a change here breaks
every unfinished search in every data base. Only a new stored version of the search may change them.

    python3 make_search_golden.py --out search_history.json
"""

import argparse
import bisect
import json
import math
from fractions import Fraction

INITIAL, BREEDING = 1, 2  # purposes of a stream
M32 = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & M32, (p0 >> 32) ^ c[3] ^ k[1], p0 & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


class Stream:
    def __init__(self, seed, purpose, a, b):
        self.key = [seed & M32, seed >> 32]
        self.counter = [0, purpose, a, b]
        self.words = []

    def word(self):
        if not self.words:
            self.words = philox(self.counter, self.key)
            self.counter[0] += 1
        return self.words.pop(0)

    def uniform(self, low=None, high=None):
        first, second = self.word() >> 5, self.word() >> 6
        u = ((first << 26) | second) * 2.0**-53
        return u if low is None else low + (high - low) * u

    def below(self, count):
        limit = 2**64 - 2**64 % count
        while True:
            first = self.word()
            value = (first << 32) | self.word()
            if value < limit:
                return value % count


def de_casteljau(points, t):
    values = [tuple(p) for p in points]
    while len(values) > 1:
        values = [tuple((1.0 - t) * a + t * b for a, b in zip(p, q)) for p, q in zip(values, values[1:])]
    return values[0]


def curve_at(kind, points, depth):
    if kind == "bezier":
        if depth <= 0.0:
            t = 0.0
        elif depth >= 1.0:
            t = 1.0
        else:
            low, high = 0.0, 1.0
            for _ in range(64):
                middle = 0.5 * (low + high)
                if de_casteljau(points, middle)[0] < depth:
                    low = middle
                else:
                    high = middle
            t = 0.5 * (low + high)
        return de_casteljau(points, t)[1]
    after = bisect.bisect_right([p[0] for p in points], depth)
    x, y = points[after - 1]
    if kind == "step" or after == len(points):
        return y
    share = (depth - x) / (points[after][0] - x)
    return (1.0 - share) * y + share * points[after][1]


def decode(s, points):
    low, high, step = s["scale_min"], s["scale_max"], s["grid_step"]
    scales = []
    for h in range(s["layers"]):
        y = points[h][1] if s["curve"] == "free" else curve_at(s["curve"], points, h / (s["layers"] - 1))
        y = min(max(y, low), high)
        if step is not None:
            decimal = Fraction(repr(step))
            quotient = y / step
            k = math.floor(quotient)
            if quotient - k >= 0.5:
                k += 1
            while float(k * decimal) < low:
                k += 1
            while float(k * decimal) > high:
                k -= 1
            y = float(k * decimal)
        scales.append(y)
    return scales


def repaired(s, points):
    points = [[min(max(x, 0.0), 1.0), min(max(y, s["scale_min"]), s["scale_max"])] for x, y in points]
    return [points[0], *sorted(points[1:-1], key=lambda p: p[0]), points[-1]]


def known(s, n):
    for first, last in ((1.0, 1.0), (1.5, 1.5), (1.15, 0.85)):
        points = [[k / (n - 1), (1.0 - k / (n - 1)) * first + k / (n - 1) * last] for k in range(n)]
        if all(s["scale_min"] <= y <= s["scale_max"] for _, y in points):
            yield points


def random_curve(s, n, r):
    xs = [k / (n - 1) for k in range(n)]
    if s["curve"] != "free":
        xs = [0.0, *sorted(r.uniform() for _ in range(n - 2)), 1.0]
    points, y = [], 1.0
    for x in xs:
        y = min(max(y + r.uniform(-0.3, 0.3), s["scale_min"]), s["scale_max"])
        points.append([x, y])
    return points


def child_of(s, kept, r):
    i, j = r.below(len(kept)), r.below(len(kept) - 1)
    if j >= i:
        j += 1
    a, b = kept[i]["points"], kept[j]["points"]
    points = repaired(s, [list(p) if r.uniform() < 0.5 else list(q) for p, q in zip(a, b)])
    for k, p in enumerate(points):
        if s["curve"] != "free" and 0 < k < len(points) - 1 and r.uniform() < s["mutation_rate"]:
            p[0] += r.uniform(-s["max_dx"], s["max_dx"])
        if r.uniform() < s["mutation_rate"]:
            p[1] += r.uniform(-s["max_dy"], s["max_dy"])
    return repaired(s, points)


def fitness(scales):
    """−Σ (s_h − (1.4 − 0.6·depth))², summed from layer 0; the test computes the same, operation by operation."""
    total = 0.0
    for h, scale in enumerate(scales):
        difference = scale - (1.4 - 0.6 * (h / (len(scales) - 1)))
        total -= difference * difference
    return total


def search(s):
    n = s["layers"] if s["curve"] == "free" else s["points"]
    everyone, seen, population, populations = [], {}, [], []

    def born(generation, index, points):
        scales = decode(s, points)
        original = seen.setdefault(tuple(scales), [generation, index])
        everyone.append({
            "generation": generation, "index": index, "points": points, "scales": scales, "fitness": fitness(scales),
            "duplicate_of": None if original == [generation, index] else original})
        return everyone[-1]

    def fresh(draw):
        for _ in range(20):
            points = draw()
            if tuple(decode(s, points)) not in seen:
                return points
        return draw()

    for generation in range(s["generations"] + 1):
        if generation == 0:
            given, bred = list(known(s, n)), []
            for index in range(s["population"]):
                r = Stream(s["seed"], INITIAL, 0, index)
                points = given[index] if index < len(given) else fresh(lambda: random_curve(s, n, r))
                bred.append(born(0, index, points))
        else:
            kept = population[: (s["population"] + 1) // 2]
            bred = []
            for index in range(s["population"] - len(kept)):
                r = Stream(s["seed"], BREEDING, generation, index)
                bred.append(born(generation, index, fresh(lambda: child_of(s, kept, r))))
            population = kept
        population = sorted(population + bred, key=lambda c: (-c["fitness"], c["generation"], c["index"]))
        populations.append([[c["generation"], c["index"]] for c in population])
    return {"settings": s, "candidates": everyone, "populations": populations}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="search_history.json")
    arguments = parser.parse_args()
    base = {"seed": 20240917, "population": 8, "generations": 2, "layers": 6, "curve": "bezier", "points": 4,
            "scale_min": 0.5, "scale_max": 2.5, "grid_step": 0.05, "mutation_rate": 0.3, "max_dx": 0.125, "max_dy": 0.2}
    variants = [
        {},
        {"seed": 2**63 + 11, "grid_step": None, "population": 9, "points": 6, "layers": 30},
        {"curve": "free", "seed": 3},
        {"curve": "linear", "points": 5, "seed": 4, "mutation_rate": 0.8},
        # A grid so coarse that children meet again: the retries and the shared evaluations are pinned too.
        {"curve": "step", "points": 2, "layers": 2, "seed": 5, "grid_step": 0.5, "generations": 4},
    ]
    note = "Made by make_search_golden.py; pins stored behaviour (see there)."
    golden = {"note": note, "searches": [search({**base, **v}) for v in variants]}
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
