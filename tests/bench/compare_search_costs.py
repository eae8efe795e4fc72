#!/usr/bin/env python3
"""What a search costs until it has found as good a profile as the plain genetic one: one run, same seed, same items.

Usage: compare_search_costs.py --lpes build/ci/app/cli/lpes --work FOLDER [--seed 1] [--threads 2] [--fresh 60]
       [--only plain,gradient]

Every variant searches the demo study. The cost is counted in forward equivalents, as the search itself counts it: a
prompt is one, the slope of a prompt three (one there, and one back that counts as two), read from the data base.

"plain" is the genetic search that computes every layer of every prompt as a whole. "reuse" and "prefixes" are the same
run counted otherwise. "reuse" is less the layers that a candidate took over from another of its generation, as their
share of a prompt. "prefixes" counts a beginning that prompts of a pass have in common once: a prompt to a search item is
the share of tokens that was computed, the mean over the whole search (its result's prefixes_shared). "all" has every
saving, and descents for the best (--refine): what reuse of layers leaves is counted by the share of tokens. The others
are counted as "reuse" is. Of a slope the way there shares beginnings, the way back does not; short texts share none.
Whether time follows tokens bench_sharing measures.

After each generation the best candidate so far (by the search's own fitness) is what the search would answer. The answers
are scored on fresh items of another seed that no search has seen, teacher forced. A variant has reached the plain search's
quality at the first generation whose answer has a mean NLL on the fresh items no worse than that of the plain search's
last. Two tests on the fresh items pair each variant with plain's last answer (`lpes compare`): there, and at the variant's
own last.

A search that was ended (SIGTERM) behind its last generation serves as well as one with its held-out items reported.
"""
import argparse
import hashlib
import json
import pathlib
import sqlite3
import subprocess

VARIANTS = {
    "plain": [],
    "reuse": [],
    "prefixes": [],
    "racing": ["--racing", "0.05"],
    "all": ["--refine", "1", "--racing", "0.05"],
    "gradient": ["--optimizer", "gradient"],
    "cma-es": ["--optimizer", "cma-es"],
    "random": ["--optimizer", "random"],
}

OF_PLAIN = ["reuse", "prefixes"]  # other counts of plain's run
EVERY_LAYER = ["plain", "prefixes"]
SHARED = ["prefixes", "all"]

parser = argparse.ArgumentParser()
parser.add_argument("--lpes", required=True)
parser.add_argument("--work", required=True, help="profiles and data bases are left there; what is there is not run again")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--fresh", type=int, default=60, help="fresh items that answers are scored on")
parser.add_argument("--fresh-seed", type=int, default=4242)
parser.add_argument("--only", default=",".join(VARIANTS))
parser.add_argument("--extra", default="", help="options for every search, separated by spaces")
args = parser.parse_args()
work = pathlib.Path(args.work)
work.mkdir(parents=True, exist_ok=True)


def lpes(*words):
    done = subprocess.run([args.lpes, *words, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"lpes {' '.join(words)}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def searched(name):
    """The data base of a variant's search."""
    path = work / f"{'plain' if name in OF_PLAIN else name}-{args.seed}.db"
    if not path.exists():
        lpes("search", "--model", "demo", "--seed", str(args.seed), "--guardrail", "0", "--analysis-items", "0",
             "--threads-per-worker", str(args.threads), "--db", str(path), *VARIANTS[name], *args.extra.split())
    return path


def course(name):
    """[(forward equivalents so far, scales of the best so far)] by generation."""
    db = sqlite3.connect(searched(name))
    slopes = db.execute("SELECT variant_id, count(*) FROM slopes WHERE split = 'search' GROUP BY 1").fetchall()
    prompts, texts = (dict(db.execute("SELECT variant_id, count(*) FROM outcomes WHERE split = ? AND NOT skipped_too_long"
                                      " GROUP BY 1", (split,)).fetchall()) for split in ("search", "guardrail"))
    (result, layers), = db.execute("SELECT result_json, layers FROM runs r JOIN models m ON m.id = r.model_id").fetchall()
    result = json.loads(result)
    reused = [] if name in EVERY_LAYER else (result.get("layers_reused") or {}).get("by_generation", [])
    spared = {row["generation"]: row["not_computed"] / layers for row in reused}
    shared = result["prefixes_shared"] if name in SHARED else None
    computed = shared["computed"] / shared["tokens"] if shared else 1.0
    steps, best, cost, paid = [], None, 0, set()
    for (generation,) in db.execute("SELECT generation FROM generations ORDER BY 1").fetchall():
        rows = db.execute("SELECT variant_id, state, fitness, scales_json FROM candidates c JOIN variants v ON v.id ="
                          " c.variant_id WHERE generation = ? ORDER BY idx", (generation,)).fetchall()
        for variant, state, fitness, scales in rows:
            if variant not in paid:
                paid.add(variant)
                cost += computed * prompts.get(variant, 0) + texts.get(variant, 0)
            if state == "evaluated" and (best is None or fitness > best[0]):
                best = (fitness, scales)
        cost -= computed * spared.get(generation, 0)
        # A generation's descents are over before its candidates are there, and variants are numbered as they come.
        newest = max(row[0] for row in rows)
        cost_of_slopes = (computed + 2) * sum(count for variant, count in slopes if variant < newest)
        steps.append((round(cost + cost_of_slopes), json.loads(best[1])))
    return steps


def profile(scales):
    """A file for these scales, made once."""
    path = work / f"profile-{hashlib.sha256(repr(scales).encode()).hexdigest()[:16]}.json"
    if not path.exists():
        last = len(scales) - 1
        points = ",".join(f"{layer / last!r}:{scale!r}" for layer, scale in enumerate(scales))
        lpes("profile", "new", "--model", "demo", "--curve", "free", "--grid-step", "none", "--points", points,
             "--out", str(path))
    return path


def quality(path):
    """NLL on the fresh items, asked once."""
    seen = work / f"fresh-{args.fresh}-{args.fresh_seed}-{path.stem if path else 'baseline'}.json"
    if not seen.exists():
        method = f"lpes:{path}" if path else "baseline"
        result = lpes("eval", "--model", "demo", "--task", "kv", "--pairs", "20", "--keys", "words", "--limit",
                      str(args.fresh), "--item-seed", str(args.fresh_seed), "--threads-per-worker", str(args.threads),
                      "--db", str(work / "fresh.db"), "--method", method)
        seen.write_text(json.dumps(result["mean_answer_nll"]))
    return json.loads(seen.read_text())


names = [name for name in args.only.split(",") if name]
courses = {name: course(name) for name in names}
print(f"baseline {quality(None):.4f} on {args.fresh} fresh items", flush=True)
plain = courses.get("plain")
target = quality(profile(plain[-1][1])) if plain else None


def paired(files):
    """path -> how its NLL differs from that of plain's last answer, item by item."""
    others = [path for path in dict.fromkeys(files) if path != plain_file]
    if not others:
        return {}
    result = lpes("compare", "--model", "demo", "--task", "kv", "--pairs", "20", "--keys", "words", "--limit",
                  str(args.fresh), "--item-seed", str(args.fresh_seed), "--threads-per-worker", str(args.threads),
                  "--guardrail", "0", "--db", str(work / "paired.db"), "--methods",
                  ";".join(f"lpes:{path}" for path in [plain_file, *others]))
    return {path: method for path, method in zip(others, result["methods"][1:])}


reached = {}
for name, steps in courses.items():
    parts = []
    for step in steps:
        # Behind the first that is as good, the last alone is of interest.
        if reached.get(name) and step is not steps[-1]:
            parts.append(f"{step[0]}: –")
            continue
        parts.append(f"{step[0]}: {quality(profile(step[1])):.4f}")
        if target is not None and name not in reached and quality(profile(step[1])) <= target:
            reached[name] = step
    print(f"{name:10} {'  '.join(parts)}", flush=True)
if plain:
    plain_cost, plain_file = plain[-1][0], profile(plain[-1][1])
    print(f"plain's last answer: NLL {target:.4f} after {plain_cost}")
    tests = paired([profile(step[1]) for step in reached.values()] +
                   [profile(steps[-1][1]) for steps in courses.values()])

    def words(path):
        if path == plain_file:
            return "the same profile"
        difference = tests[path]["nll_difference"]
        low, high = difference["low"], difference["high"]
        spread = "" if low is None else f" ({low:+.3f} to {high:+.3f})"
        return f"NLL {difference['mean']:+.3f}{spread} to plain's, p = {tests[path]['p_value_vs_first']:.4f}"

    for name, steps in courses.items():
        step = reached.get(name)
        share = "not reached" if step is None else f"reached at {step[0]} ({step[0] / plain_cost:.3f} of plain)"
        there = "" if step is None else f": {words(profile(step[1]))}"
        print(f"{name:10} {share}{there}; last at {steps[-1][0]}: {words(profile(steps[-1][1]))}", flush=True)
