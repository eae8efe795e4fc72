#!/usr/bin/env python3
"""Attention Buckets' waveform and base search, Ms-PoE's grids and orders, and NTK bases (rivals.json), written from their
definitions with numpy and nothing of ours. Needs numpy. Run it in this folder."""
import itertools, json, pathlib
import numpy as np


def wave(base, dim, first, last):
    angles = np.arange(first, last + 1)[:, None] * base ** (-2.0 * np.arange(dim // 2) / dim)
    return 2 / np.sqrt(dim) * np.cos(angles).sum(1)


def turns(base, dim, first, last):
    y = wave(base, dim, first, last)
    inner = np.arange(1, len(y) - 1)
    peaks = inner[(y[inner] > y[inner - 1]) & (y[inner] > y[inner + 1])] + first
    troughs = inner[(y[inner] < y[inner - 1]) & (y[inner] < y[inner + 1])] + first
    return peaks.tolist(), troughs.tolist()


def filled(peaks, troughs, tolerance):
    """(peak, trough) for every peak whose nearest trough is within the tolerance; the earlier of two equally near ones."""
    if not peaks or not troughs:
        return []
    gaps = np.abs(np.subtract.outer(peaks, troughs))
    nearest = gaps.argmin(1)  # the first of equal ones
    pairs = [(peak, troughs[t]) for peak, t, gap in zip(peaks, nearest, gaps.min(1)) if gap <= tolerance]
    return pairs


def search(dim, first, last, low, high, step, count, tolerance, start):
    candidates = [low + step * k for k in range(int((high - low) / step) + 1)]
    of = {base: turns(base, dim, first, last) for base in {*candidates, *start}}

    def fit(chosen, base):
        return filled(of[base][0], chosen[1], tolerance), filled(chosen[0], of[base][1], tolerance)

    def rank(chosen, base):
        pairs = sum(fit(chosen, base), [])
        return -len(pairs), float(np.mean([(p - t) ** 2 for p, t in pairs])) if pairs else np.inf

    def added(chosen, base):
        new_peaks, new_troughs = fit(chosen, base)
        gone_peaks, gone_troughs = {p for p, _ in new_troughs}, {t for _, t in new_peaks}
        own_peaks, own_troughs = {p for p, _ in new_peaks}, {t for _, t in new_troughs}
        return (sorted([p for p in chosen[0] if p not in gone_peaks] + [p for p in of[base][0] if p not in own_peaks]),
                sorted([t for t in chosen[1] if t not in gone_troughs] + [t for t in of[base][1] if t not in own_troughs]))

    bases = list(start) or list(min(itertools.combinations(candidates, 2), key=lambda ab: (rank(of[ab[0]], ab[1]), ab)))
    chosen = ([], [])
    for base in bases:
        chosen = added(chosen, base)
    while len(bases) < count:
        bases.append(min((b for b in candidates if b not in bases), key=lambda b: (rank(chosen, b), b)))
        chosen = added(chosen, bases[-1])
    return bases


SEARCHES = [
    dict(dim=128, first=1000, last=4090, low=10000.0, high=30000.0, step=500.0, count=6, tolerance=3, start=[]),
    dict(dim=128, first=1000, last=4090, low=10000.0, high=30000.0, step=500.0, count=6, tolerance=3,
         start=[10000.0, 18000.0, 19000.0]),
    dict(dim=16, first=0, last=600, low=5000.0, high=20000.0, step=1000.0, count=5, tolerance=2, start=[]),
    dict(dim=16, first=0, last=600, low=5000.0, high=20000.0, step=1000.0, count=4, tolerance=0, start=[7500.0]),
    dict(dim=64, first=100, last=900, low=100000.0, high=160000.0, step=20000.0, count=4, tolerance=1, start=[]),
]
random = np.random.default_rng(7)
orders = []
for heads in (1, 4, 32):
    scores = random.integers(0, 12, heads) / 12  # some equal
    ratios = np.linspace(1.2, 1.8, heads)
    order = np.argsort(-scores, kind="stable")
    rank = np.empty(heads, int)
    rank[order] = np.arange(heads)
    orders.append({"scores": scores.tolist(), "ratios": ratios.tolist(), "paper": ratios[rank].tolist(),
                   "code": ratios[order].tolist()})
out = {
    "script": "make_rivals_golden.py",
    "waves": [{"base": base, "dim": dim, "first": first, "values": wave(base, dim, first, first + 4).tolist()}
              for base, dim, first in ((10000.0, 128, 1000), (25000.0, 128, 4086), (1e6, 64, 0))],
    "searches": [{**one, "bases": search(**one)} for one in SEARCHES],
    "ntk": [{"base": base, "factor": factor, "dim": dim, "result": float(base * factor ** (dim / (dim - 2)))}
            for base, factor, dim in ((1e4, 2.0, 128), (1e4, 4.0, 128), (1e6, 3.5, 64), (5e5, 8.0, 96))],
    "orders": orders,
}
path = pathlib.Path(__file__).with_name("rivals.json")
path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
