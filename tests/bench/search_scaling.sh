#!/usr/bin/env bash
# How much faster a search is with two workers, and with two ranks of MPI, than with one: the same candidates of the demo
# study, one thread each, the three in turns, several rounds. Prints medians of paired ratios with their range.
#   tests/bench/search_scaling.sh LPES [ROUNDS]
# The machine must be idle and have two cores. Exit code: 0 measured, 1 a search failed or histories differ.
set -euo pipefail
program="$(realpath "${1:?usage: search_scaling.sh LPES [ROUNDS]}")"
rounds="${2:-3}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# One search; its seconds are those of the work, without starting and loading.
run() {  # run NAME ROUND COMMAND…
  local name="$1" round="$2"; shift 2
  "$@" search --model demo --dtype bfloat16 --threads-per-worker 1 --population 12 --max-generations 2 --search-items 8 \
    --select-items 8 --report-items 8 --analysis-items 0 --guardrail 0 --seed 7 --json --db "$folder/$name$round.db" \
    "${more[@]}" >"$folder/$name.$round.json" 2>"$folder/log" || { cat "$folder/log" >&2; exit 1; }
}
for ((round = 1; round <= rounds; ++round)); do
  more=(); run one "$round" "$program"
  more=(--workers 2); run workers "$round" "$program"
  more=()
  if command -v mpirun >/dev/null; then run ranks "$round" mpirun --oversubscribe --bind-to none -n 2 "$program"; fi
done
python3 - "$folder" "$rounds" <<'PYTHON'
import json, pathlib, statistics, sys
folder, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
read = lambda name: [json.loads((folder / f"{name}.{r}.json").read_text()) for r in range(1, rounds + 1)]
one = read("one")
for name in ("one", "workers", "ranks"):
    if not (folder / f"{name}.1.json").exists():
        print(f"{name}: not measured, mpirun is not installed")
        continue
    runs = read(name)
    if any(run["history"] != one[0]["history"] for run in runs):
        sys.exit(f"{name}: the history is another")
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(one, runs)]
    seconds = statistics.median(run["seconds"] for run in runs)
    print(f"{name:8} {seconds:7.1f} s   {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} – {max(ratios):.2f})")
PYTHON
