#!/usr/bin/env python3
"""Golden numbers for core/analysis/cochran_q and the curvature in core/analysis/position_bias.

Q and its chi-squared p value: statsmodels.stats.contingency_tables.cochrans_q. Exact p value: every deal of each item's
successes to the conditions is enumerated. Curvature: numpy.polyfit of degree 2.

Needs statsmodels, scipy, numpy. Example: make_position_bias_golden.py --out position_bias.json
"""
import argparse
import itertools
import json

import numpy
from statsmodels.stats.contingency_tables import cochrans_q

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
out = parser.parse_args().out
rng = numpy.random.default_rng(11)


def exact(table):
    k = table.shape[1]
    rows = [r for r in table.sum(1) if 0 < r < k]
    observed = (table[[0 < r < k for r in table.sum(1)]].sum(0) ** 2).sum()
    deals = [[numpy.bincount(c, minlength=k) for c in itertools.combinations(range(k), r)] for r in rows]
    sums = [(sum(choice) ** 2).sum() >= observed for choice in itertools.product(*deals)]
    return float(numpy.mean(sums))


tables = []
for items, k, shares in [(6, 2, (0.8, 0.3)), (7, 3, (0.7, 0.4, 0.5)), (6, 4, (0.9, 0.2, 0.3, 0.6)), (7, 3, (0.5,) * 3), (40, 3, (0.55, 0.1, 0.1)),
                         (60, 5, (0.6, 0.4, 0.3, 0.4, 0.5)), (200, 3, (0.5, 0.45, 0.5)), (500, 11, numpy.linspace(0.5, 0.4, 11))]:
    table = (rng.random((items, k)) < numpy.asarray(shares)).astype(int)
    result = cochrans_q(table)
    row = {"table": ["".join(map(str, r)) for r in table], "q": float(result.statistic), "df": int(result.df), "p": float(result.pvalue)}
    if items <= 7:
        row["exact"] = exact(table)
    tables.append(row)
curves = []
for n in (3, 4, 5, 11):
    positions = sorted(rng.random(n)) if n != 5 else numpy.linspace(0, 1, 5)
    scores = rng.random(n)
    curves.append({"positions": list(map(float, positions)), "scores": scores.tolist(),
                   "curvature": float(numpy.polyfit(2 * numpy.asarray(positions) - 1, scores, 2)[0])})
with open(out, "w", encoding="ascii") as file:
    json.dump({"cochran": tables, "curves": curves}, file, indent=0)
    file.write("\n")
