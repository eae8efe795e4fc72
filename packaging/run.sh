#!/usr/bin/env bash
# Installs what is missing, builds, and runs the main job: a search for a better profile on the bundled demo study.
#   packaging/run.sh [--headless] [--out FOLDER] [-- OPTIONS FOR 'lpes search']
# Leaves a profile, a report and a data base in FOLDER (default: demo-study in the user's data folder) and says where.
# A search that was interrupted is taken up again where it stopped.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

out=""
extra=()
while [ $# -gt 0 ]; do
  case "$1" in
    --headless) ;;
    --out) [ $# -ge 2 ] || { echo "run.sh: --out needs a folder" >&2; exit 2; }; out="$(realpath -m "$2")"; shift ;;
    --) shift; extra=("$@"); break ;;
    -h|--help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown option $1; see --help" >&2; exit 2 ;;
  esac
  shift
done

lpesSetupArguments=("")
# shellcheck source=packaging/setup.sh
source "$here/setup.sh"
cd "$lpesSource"

tell() { printf '[run] %s\n' "$*" >&2; }
tell "the window does not exist yet: the demo study runs without one (--headless is what happens either way)"

# The same build as test.sh's, so that whichever runs second has little left to compile.
tell "building (the first time takes minutes)"
cmake --preset ci -DLPES_LIBTORCH="$LPES_LIBTORCH" >build-ci.log 2>&1 || { cat build-ci.log >&2; rm -f build-ci.log; die "configuring failed"; }
rm -f build-ci.log
cmake --build --preset ci --target lpes lpes-render -j "$(nproc)" >&2
lpes="$lpesSource/build/ci/app/cli/lpes"

out="${out:-$lpesData/demo-study}"
mkdir -p "$out"
database="$out/lpes.db"
profile="$out/profile.json"
report="$out/report.html"

state=""
if [ -f "$database" ]; then
  state=$("$lpes" db show last --db "$database" --json 2>/dev/null | python3 -c 'import json,sys; r=json.load(sys.stdin); print(r["kind"], r["state"])' 2>/dev/null || true)
fi
code=0
if [ ${#extra[@]} -eq 0 ] && [ "$state" = "search finished" ]; then
  tell "the demo study is finished already; delete $out to run it again"
  [ -f "$profile" ] || "$lpes" export run:last --to json --db "$database" --out "$profile" >/dev/null
elif [ ${#extra[@]} -eq 0 ] && [[ "$state" =~ ^search\ (stopped|interrupted|failed)$ ]]; then
  tell "taking up the search that was left"
  "$lpes" resume last --db "$database" --out "$profile" || code=$?
else
  tell "searching (about five minutes on two cores with native bfloat16; Ctrl-C stops, a second call goes on)"
  "$lpes" search --model demo --db "$database" --out "$profile" "${extra[@]}" || code=$?
fi
[ "$code" = 0 ] || exit "$code"
"$lpes" report last --db "$database" --out "$report" >/dev/null
tell "profile:   $profile"
tell "report:    $report"
tell "data base: $database"
