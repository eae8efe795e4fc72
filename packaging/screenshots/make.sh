#!/usr/bin/env bash
# Makes the pictures in this folder from the real program on the demo study, under a virtual display (xvfb).
#   packaging/screenshots/make.sh [BUILD_FOLDER]     default: build/ci
# A finished demo search is kept in BUILD_FOLDER/screenshots (about five minutes the first time).
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$(realpath "${1:-$here/../../build/ci}")"
work="$build/screenshots"
mkdir -p "$work"
command -v xvfb-run >/dev/null || { echo "make.sh: xvfb-run is missing; install the package xvfb" >&2; exit 1; }

if ! "$build/app/cli/lpes" db show last --db "$work/lpes.db" --json 2>/dev/null | grep -q '"state": *"finished"'; then
  rm -f "$work"/lpes.db*
  "$build/app/cli/lpes" search --model demo --db "$work/lpes.db" --out "$work/profile.json"
fi
[ -f "$work/profile.json" ] || "$build/app/cli/lpes" export run:last --to json --db "$work/lpes.db" --out "$work/profile.json"

if ! "$build/app/cli/lpes" db show last --db "$work/compare.db" --json 2>/dev/null | grep -q '"state": *"finished"'; then
  rm -f "$work"/compare.db*
  # From its folder, so that the table names the profile without a path.
  (cd "$work" && "$build/app/cli/lpes" compare --model demo --task kv --keys words --limit 12 --item-seed 2 --guardrail 40 \
    --methods 'baseline;pi:1.1;uniform:1.3;lpes:profile.json' --db compare.db)
fi

# A home of its own, so that no picture shows a path of this machine.
home="$work/home"
mkdir -p "$home/.local/share/lpes"
ln -sfn "${XDG_DATA_HOME:-$HOME/.local/share}/lpes/models" "$home/.local/share/lpes/models"

shoot() {  # shoot THEME SCALE SIZE FOLDER [options]
  local theme="$1" scale="$2" size="$3" folder="$4"; shift 4
  env -u QT_QPA_PLATFORM -u XDG_DATA_HOME -u XDG_CONFIG_HOME HOME="$home" QT_SCALE_FACTOR="$scale" xvfb-run -a -s "-screen 0 ${size}x24" \
    "$build/app/lpes-studio" --smoke --model demo --theme "$theme" --profile "$work/profile.json" --out "$folder" "$@"
}
for theme in light dark; do
  cp "$work/lpes.db" "$home/demo-$theme.db"
  shoot "$theme" 1 1440x900 "$work/$theme" --db "$home/demo-$theme.db" --smoke-search 75
  for view in edit search inspect prompt running; do
    cp "$work/$theme/$view.png" "$here/$view-$theme.png"
  done
  cp "$work/compare.db" "$home/compare-$theme.db"
  shoot "$theme" 1 1440x900 "$work/compared-$theme" --db "$home/compare-$theme.db"
  cp "$work/compared-$theme/compare.png" "$here/compare-$theme.png"
done
# Not kept, but looked at: twice the size, and the smallest window that layouts must hold in.
shoot light 2 2880x1800 "$work/double" --db "$home/demo-light.db"
shoot dark 2 2880x1800 "$work/double-compared" --db "$home/compare-dark.db"
shoot dark 1 1280x720 "$work/small" --db "$home/demo-dark.db"
echo "pictures: $here; also look at $work/double and $work/small"
