#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors, and runs every test.
#   packaging/test.sh             all tests but the nightly ones
#   packaging/test.sh --nightly   also the nightly tests and the sanitizer builds
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
nightly=0
for argument in "$@"; do
  case "$argument" in
    --nightly) nightly=1 ;;
    -h|--help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "test.sh: unknown option $argument; see --help" >&2; exit 2 ;;
  esac
done

lpesSetupArguments=(--sshd)
# shellcheck source=packaging/setup.sh
source "$here/setup.sh"
cd "$lpesSource"

tell() { printf '[test] %s\n' "$*" >&2; }

runPreset() {  # runPreset PRESET [ctest options]
  local preset="$1"; shift
  tell "configuring and building preset $preset"
  cmake --preset "$preset" -DLPES_LIBTORCH="$LPES_LIBTORCH" >"build-$preset.log" 2>&1 || { cat "build-$preset.log" >&2; rm -f "build-$preset.log"; die "configuring failed"; }
  rm -f "build-$preset.log"
  cmake --build --preset "$preset" -j "$(nproc)" >&2
  tell "testing preset $preset"
  # Two programs at a time: most of them wait for processes that use one core. No result depends on what runs beside it.
  ctest --test-dir "build/$preset" -j 2 --output-on-failure --no-tests=error "$@"
}

if [ "$nightly" = 1 ]; then
  runPreset ci
  runPreset asan -LE nightly
  runPreset tsan-core -R '^(base|search|store)$'
else
  runPreset ci -LE nightly
fi
