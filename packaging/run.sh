#!/usr/bin/env bash
# Installs what is missing, builds, and opens LPES Studio on the bundled demo study.
#   packaging/run.sh [--out FOLDER] [-- OPTIONS FOR lpes-studio]
#   packaging/run.sh --headless [--out FOLDER] [-- OPTIONS FOR 'lpes search']
# With --headless, where there is no display, the same search runs without the window and leaves a profile, a report and
# a data base in FOLDER (default: demo-study in the user's data folder); one that was interrupted is taken up again.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

out=""
headless=0
extra=()
while [ $# -gt 0 ]; do
  case "$1" in
    --headless) headless=1 ;;
    --out) [ $# -ge 2 ] || { echo "run.sh: --out needs a folder" >&2; exit 2; }; out="$(realpath -m "$2")"; shift ;;
    --) shift; extra=("$@"); break ;;
    -h|--help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown option $1; see --help" >&2; exit 2 ;;
  esac
  shift
done

set --  # what is sourced below would take them for its own

if [ "$headless" = 0 ] && [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}${QT_QPA_PLATFORM:-}" ]; then
  echo "run.sh: there is no display (DISPLAY and WAYLAND_DISPLAY are not set); use packaging/run.sh --headless" >&2
  exit 4
fi

lpesSetupArguments=("")
# shellcheck source=packaging/setup.sh
source "$here/setup.sh"
cd "$lpesSource"

tell() { printf '[run] %s\n' "$*" >&2; }
# The same build as test.sh's, so that whichever runs second has little left to compile.
tell "building (the first time takes minutes)"
cmake --preset ci -DLPES_LIBTORCH="$LPES_LIBTORCH" >build-ci.log 2>&1 || { cat build-ci.log >&2; rm -f build-ci.log; die "configuring failed"; }
rm -f build-ci.log
targets=(lpes lpes-render)
[ "$headless" = 1 ] || targets+=(lpes-studio)
cmake --build --preset ci --target "${targets[@]}" -j "$(nproc)" >&2
lpes="$lpesSource/build/ci/app/cli/lpes"

out="${out:-$lpesData/demo-study}"
mkdir -p "$out"
database="$out/lpes.db"
if [ "$headless" = 0 ]; then
  tell "opening the Studio; its runs go to $database"
  exec "$lpesSource/build/ci/app/lpes-studio" --model demo --db "$database" "${extra[@]}"
fi
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
