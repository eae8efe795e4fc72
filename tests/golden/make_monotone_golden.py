#!/usr/bin/env python3
"""Golden numbers for core/curve/monotone_cubic: scipy.interpolate.PchipInterpolator, end slopes included.

Curves of 2 to 12 points: random ones, rising and falling ones, with level stretches, and with points that nearly share a
depth. Needs scipy, numpy. Example: make_monotone_golden.py --out monotone_cubic.json
"""
import argparse
import json

import numpy
from scipy.interpolate import PchipInterpolator

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
out = parser.parse_args().out
rng = numpy.random.default_rng(17)


def depths(count):
    return numpy.concatenate([[0.0], numpy.sort(rng.random(count - 2)), [1.0]])


cases = [("the definition's check value", [0.0, 1 / 3, 2 / 3, 1.0], [1.0, 1.6, 2.0, 1.2])]
for count in (2, 3, 4, 5, 8, 12):
    cases.append(("random", depths(count), rng.uniform(0.5, 2.5, count)))
    cases.append(("rising", depths(count), numpy.sort(rng.uniform(0.5, 2.5, count))))
cases.append(("falling", depths(6), -numpy.sort(-rng.uniform(0.5, 2.5, 6))))
cases.append(("level in the middle", [0.0, 0.2, 0.5, 0.8, 1.0], [0.8, 1.4, 1.4, 1.4, 2.0]))
cases.append(("level at the ends", [0.0, 0.3, 0.6, 1.0], [1.2, 1.2, 1.9, 1.9]))
cases.append(("an end that is cut to three secants", [0.0, 0.5, 0.55, 1.0], [1.0, 1.1, 0.5, 0.6]))
cases.append(("points that nearly share a depth", [0.0, 0.4, 0.4 + 1e-9, 1.0], [1.0, 1.3, 2.1, 2.4]))
rows = []
for name, x, y in cases:
    x, y = numpy.asarray(x, float), numpy.asarray(y, float)
    at = numpy.unique(numpy.concatenate([numpy.linspace(0.0, 1.0, 24), x, [1e-6, 1 - 1e-6]]))
    rows.append({"name": name, "points": [[float(a), float(b)] for a, b in zip(x, y)],
                 "values": [[float(d), float(v)] for d, v in zip(at, PchipInterpolator(x, y)(at))]})
with open(out, "w", encoding="ascii") as file:
    file.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
