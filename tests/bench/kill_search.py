#!/usr/bin/env python3
"""A search killed (SIGKILL) at random moments and resumed: its history must be that of an undisturbed one, bit for bit.

Usage: kill_search.py --lpes build/ci/app/cli/lpes --work FOLDER [--kills 20] [--seed 1] [--model demo]
       [--extra "--racing 0.1"]

One search of the demo study, made small, runs undisturbed; its duration is what the moments are drawn from. Then as
many searches as asked for are killed at one moment each, resumed with one or two workers in turn, killed once more at a
random moment of what is left, and resumed to their end. Compared are the result without its times and what a sitting
spared, and every row of generations, candidates, splits, outcomes, positions, slopes and probes, told apart by scales
and not by ids.
"""
import argparse
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import time

parser = argparse.ArgumentParser()
parser.add_argument("--lpes", required=True)
parser.add_argument("--work", required=True)
parser.add_argument("--kills", type=int, default=20)
parser.add_argument("--seed", type=int, default=1, help="of the moments")
parser.add_argument("--model", default="demo")
parser.add_argument("--extra", default="", help="options for every search, separated by spaces")
args = parser.parse_args()
work = pathlib.Path(args.work)
work.mkdir(parents=True, exist_ok=True)
SEARCH = ["search", "--model", args.model, "--task", "kv", "--keys", "words", "--pairs", "8", "--population", "6",
          "--max-generations", "3", "--search-items", "4", "--select-items", "4", "--report-items", "6",
          "--analysis-items", "2", "--guardrail", "4", "--seed", "7", "--threads-per-worker", "1", *args.extra.split()]


def start(words, db):
    return subprocess.Popen([args.lpes, *words, "--db", str(db), "--json"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def ended(process):
    error = process.communicate()[1]
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"exit code {process.returncode}: {error.strip().splitlines()[-1]}")
    return process.returncode == 0


def killed(words, db, seconds):
    """True when the process was killed, False when it was through by then."""
    process = start(words, db)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return not ended(process)


def history(path):
    db = sqlite3.connect(path)
    (kind, state, result), = db.execute("SELECT kind, state, result_json FROM runs").fetchall()
    result = json.loads(result)
    for key in ("seconds", "layers_reused", "settings", "run_id"):
        result.pop(key, None)
    provenance = (result.get("profile") or {}).get("provenance", {})
    for key in ("run_id", "created"):
        provenance.pop(key, None)
    scales = dict(db.execute("SELECT id, scales_json FROM variants").fetchall())
    rows = {"run": [(kind, state, json.dumps(result, sort_keys=True))]}
    for table in ("generations", "candidates", "split_items", "outcomes", "positions", "slopes", "attention",
                  "deviations"):
        names = [column[1] for column in db.execute(f"PRAGMA table_info({table})")]
        # Times are a sitting's own; ids number what a sitting met first.
        kept = [name for name in names if name not in ("run_id", "id") and "seconds" not in name
                and not name.endswith("_ms")]
        found = db.execute(f"SELECT {', '.join(kept)} FROM {table}").fetchall()
        named = [[scales[value] if name == "variant_id" else value for name, value in zip(kept, row)] for row in found]
        rows[table] = sorted(json.dumps(row) for row in named)
    return rows


whole = work / "whole.db"
whole.unlink(missing_ok=True)
begin = time.monotonic()
if not ended(start(SEARCH, whole)):
    raise SystemExit("the undisturbed search did not end")
duration = time.monotonic() - begin
expected = history(whole)
print(f"undisturbed: {duration:.1f} s, {sum(map(len, expected.values()))} rows", flush=True)
moments = random.Random(args.seed)
different = kills = 0
for number in range(args.kills):
    db = work / f"killed-{number}.db"
    for file in work.glob(f"killed-{number}.db*"):
        file.unlink()
    first = moments.uniform(0.0, duration)
    again = moments.uniform(0.0, max(duration - first, 1.0))
    came = killed(SEARCH, db, first)
    workers = ["--workers", str(1 + number % 2)]
    if came:
        kills += 1
        # Killed before its run was in the data base: there is nothing to resume.
        begun = db.exists() and subprocess.run([args.lpes, "db", "show", "last", "--db", str(db)],
                                               capture_output=True).returncode == 0
        if begun and killed(["resume", "last", *workers], db, again):
            kills += 1
            ended(start(["resume", "last"], db))
        elif not begun:
            ended(start(SEARCH, db))
    found = history(db)
    unlike = [table for table in expected if found[table] != expected[table]]
    different += bool(unlike)
    verdict = f"DIFFERENT in {', '.join(unlike)}" if unlike else "the same history"
    print(f"{number + 1}: killed after {first:.2f} s{'' if came else ' (it was through)'}: {verdict}", flush=True)
print(f"{args.kills} searches, {kills} kills, {different} different histories")
raise SystemExit(1 if different else 0)
