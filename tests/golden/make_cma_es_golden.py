#!/usr/bin/env python3
"""Golden samples of CMA-ES over control points.

Written from N. Hansen's tutorial (arXiv 1604.00772: equations of the table in Appendix A, positive weights) with numpy,
and the search's definitions in core/search/*.h, without looking at what the C++ program prints. Random numbers and
decoding are those of make_search_golden.py. Needs numpy.

    python3 make_cma_es_golden.py --out cma_es_history.json
"""
import argparse
import json
import math

import numpy as np

from make_search_golden import BREEDING, INITIAL, Stream, decode, repaired

START_X, START_Y = 0.15, 0.3


def normals(stream, count):
    """Box and Muller, both values used."""
    values = []
    while len(values) < count:
        radius = math.sqrt(-2.0 * math.log(1.0 - stream.uniform()))
        angle = 2.0 * math.pi * stream.uniform()
        values += [radius * math.cos(angle), radius * math.sin(angle)]
    return np.array(values[:count])


def to_vector(points):
    out = []
    for k, (x, y) in enumerate(points):
        if 0 < k < len(points) - 1:
            out.append(x / START_X)
        out.append(y / START_Y)
    return np.array(out)


def to_points(vector, count):
    values, points = iter(vector), []
    for k in range(count):
        x = next(values) * START_X if 0 < k < count - 1 else k / (count - 1)
        points.append([float(x), float(next(values)) * START_Y])
    return points


def run(s, fitness):
    count = s["points"]
    line = [[k / (count - 1), 1.0] for k in range(count)]
    m = to_vector(line)
    n, sigma, g = len(m), 1.0, 0
    C, pc, ps = np.eye(n), np.zeros(n), np.zeros(n)
    candidates = []
    for generation in range(s["generations"] + 1):
        size = s["population"] if generation == 0 else s["population"] - (s["population"] + 1) // 2
        d, B = np.linalg.eigh(C)
        root, inverse = B @ np.diag(np.sqrt(d)) @ B.T, B @ np.diag(1 / np.sqrt(d)) @ B.T
        told = []
        for index in range(size):
            if generation == 0 and index == 0:
                points = line
            else:
                stream = Stream(s["seed"], INITIAL if generation == 0 else BREEDING, generation, index)
                points = repaired(s, to_points(m + sigma * (root @ normals(stream, n)), count))
            value = fitness(decode(s, points))
            told.append((value, index, points))
            candidates.append({"generation": generation, "index": index, "points": points, "fitness": value})
        told.sort(key=lambda one: (-one[0], one[1]))
        mu = size // 2
        y = [(to_vector(points) - m) / sigma for _, _, points in told[:mu]]
        w = np.array([math.log((size + 1) / 2) - math.log(i + 1) for i in range(mu)])
        w /= w.sum()
        mueff = 1 / (w**2).sum()
        cs = (mueff + 2) / (n + mueff + 5)
        ds = 1 + 2 * max(0, math.sqrt((mueff - 1) / (n + 1)) - 1) + cs
        cc = (4 + mueff / n) / (n + 4 + 2 * mueff / n)
        c1 = 2 / ((n + 1.3) ** 2 + mueff)
        cmu = min(1 - c1, 2 * (1 / 4 + mueff + 1 / mueff - 2) / ((n + 2) ** 2 + mueff))
        chi = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
        yw = sum(wi * yi for wi, yi in zip(w, y))
        m = m + sigma * yw
        g += 1
        ps = (1 - cs) * ps + math.sqrt(cs * (2 - cs) * mueff) * (inverse @ yw)
        h = 1.0 if np.linalg.norm(ps) / math.sqrt(1 - (1 - cs) ** (2 * g)) < (1.4 + 2 / (n + 1)) * chi else 0.0
        pc = (1 - cc) * pc + h * math.sqrt(cc * (2 - cc) * mueff) * yw
        lost = (1 - h) * cc * (2 - cc)
        C = (1 + c1 * lost - c1 - cmu) * C + c1 * np.outer(pc, pc)
        C = C + cmu * sum(wi * np.outer(yi, yi) for wi, yi in zip(w, y))
        sigma *= math.exp(min(1, cs / ds * (np.linalg.norm(ps) / chi - 1)))
    return candidates


def distance(scales):
    last = len(scales) - 1
    return -sum((s - (1.4 - 0.6 * (h / last))) ** 2 for h, s in enumerate(scales))


parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
args = parser.parse_args()
searches = []
for seed, points, layers, low in ((1, 4, 12, 0.5), (7, 3, 30, 0.5), (9, 5, 8, 0.9)):
    settings = {"seed": seed, "population": 12, "generations": 6, "curve": "bezier", "points": points, "layers": layers,
                "scale_min": low, "scale_max": 2.5, "grid_step": None}
    searches.append({"settings": settings, "candidates": run(settings, distance)})
with open(args.out, "w", encoding="utf-8") as file:
    json.dump({"searches": searches}, file)
    file.write("\n")
