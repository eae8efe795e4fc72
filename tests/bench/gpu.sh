#!/usr/bin/env bash
# Builds the core for a GPU machine and checks and measures it there, in a few minutes:
#   tests/bench/gpu.sh pack    on the development machine: gathers headers and libraries of the packages that the core needs
#                              into build/gpu-kit.tar.gz, for a GPU machine with LibTorch, nvcc and CMake but no packages
#   tests/bench/gpu.sh [run]   on the GPU machine: builds preset cuda, with the packed packages where they are there; runs
#                              the kernels' tests, the measurements (bench_gpu) and a small search on cuda:0
#   tests/bench/gpu.sh build   only the build, which needs no GPU
# LibTorch is LPES_LIBTORCH, else Python's torch, else what packaging/setup.sh --cuda installed. Environment: GPU_OUT, a folder
# for results.json and the log (default build/gpu-results). Exit code: 0 all held, 1 something did not, 4 no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
kit="$PWD/build/gpu-kit"
tell() { printf '[gpu] %s\n' "$*"; }
die() { printf '[gpu] error: %s\n' "$*" >&2; exit 1; }

# --- pack -------------------------------------------------------------------------------------------------------------------

# The files of a -dev package that a build reads, and the shared libraries behind its links.
packPackage() {
  local file real
  while read -r file; do
    [ -f "$file" ] || [ -L "$file" ] || continue
    case "$file" in
      */libcrypto.a|*/libssl.*|*/libpcre2-16.*|*/libpcre2-32.*|*/libpcre2-posix.*|*/libsqlite3.a) continue ;;
      /usr/include/*|/usr/lib/*/cmake/*|/usr/lib/cmake/*|/usr/share/cmake*|/usr/lib/*/pkgconfig/*|/usr/share/pkgconfig/*|/usr/lib/*.a|/usr/lib/*.so) ;;
      *) continue ;;
    esac
    mkdir -p "$kit$(dirname "$file")"
    cp -a "$file" "$kit$file"
    case "$file" in
      *.so)
        real="$(readlink -f "$file")"
        cp -a "$real" "$kit$(dirname "$file")/"
        local soname
        soname="$(objdump -p "$real" | awk '/SONAME/ {print $2}')"
        [ "$soname" = "$(basename "$real")" ] || ln -sf "$(basename "$real")" "$kit$(dirname "$file")/$soname"
        ln -sf "$soname" "$kit$file" ;;
    esac
  done < <(dpkg -L "$1")
}

pack() {
  command -v dpkg-query >/dev/null || die "packing takes the files of Debian packages; there is no dpkg here"
  rm -rf "$kit"
  mkdir -p "$kit/bin"
  local package
  # The packages that set-up installs for the core; Boost is a case of its own below.
  for package in $(sed -n '/local wanted=(/,/)/p' packaging/setup.sh | grep -oE '[a-z0-9.+-]+-dev' | grep -v '^libboost'); do
    dpkg-query -W "$package" >/dev/null 2>&1 || die "$package is missing; run packaging/setup.sh"
    packPackage "$package"
  done
  # Headers of an architecture lie where Debian's compiler looks by itself; in the kit they lie with the others.
  local arch
  for arch in "$kit"/usr/include/*-linux-gnu; do
    [ -d "$arch" ] && cp -a "$arch/." "$kit/usr/include/" && rm -rf "$arch"
  done
  # Of Boost only what the core includes, by whole folders: another compiler may take other files of them.
  local include="/usr/include/boost" part
  mkdir -p "$kit$include"
  cp -a "$include"/*.hpp "$kit$include/"
  local used
  used="$(grep -rhoE --include='*.h' --include='*.cpp' '#include <boost/[^>]+>' core app tests | sort -u | g++ -std=c++20 -M -x c++ -)" ||
    die "Boost's headers are missing; run packaging/setup.sh"
  grep -oE "$include/[^/ ]+/" <<<"$used" | sort -u | while read -r part; do cp -a "$part" "$kit$include/"; done
  # pkg-config and its library; its files say where they lie themselves.
  cp -L "$(command -v pkgconf)" "$kit/bin/pkgconf"
  ldd "$kit/bin/pkgconf" | awk '/libpkgconf/ {print $3}' | xargs -I{} cp -L {} "$kit/bin/"
  cat >"$kit/bin/pkg-config" <<'SCRIPT'
#!/bin/sh
here="$(cd "$(dirname "$0")" && pwd)"
PKG_CONFIG_LIBDIR="$here/../pkgconfig" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
  LD_LIBRARY_PATH="$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/pkgconf" "$@"
SCRIPT
  chmod +x "$kit/bin/pkg-config"
  mkdir -p "$kit/pkgconfig"
  find "$kit/usr" -path '*/pkgconfig/*.pc' -exec cp -L {} "$kit/pkgconfig/" \;
  # shellcheck disable=SC2016
  sed -i -E 's#^prefix=.*#prefix=${pcfiledir}/../usr#; s#=/usr/#=${prefix}/#' "$kit"/pkgconfig/*.pc
  tar -C build -czf "$kit.tar.gz" gpu-kit
  rm -rf "$kit"
  local size
  size=$(du -sm "$kit.tar.gz" | cut -f1)
  [ "$size" -le 60 ] || die "build/gpu-kit.tar.gz has $size MiB, more than the 60 that it may have"
  tell "build/gpu-kit.tar.gz: $size MiB; take the source tree and this file to the GPU machine and run tests/bench/gpu.sh"
}

# --- build ------------------------------------------------------------------------------------------------------------------

findLibTorch() {
  local folder
  if [ -n "${LPES_LIBTORCH:-}" ]; then echo "$LPES_LIBTORCH"; return; fi
  folder="$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null || true)"
  if [ -n "$folder" ] && [ -f "$folder/lib/libtorch_cuda.so" ]; then echo "$folder"; return; fi
  # shellcheck disable=SC2012
  folder="$(ls -d "${XDG_CACHE_HOME:-$HOME/.cache}"/lpes/libtorch-*/torch 2>/dev/null | sort -V | tail -n 1)"
  if [ -n "$folder" ] && [ -f "$folder/lib/libtorch_cuda.so" ]; then echo "$folder"; return; fi
  die "no LibTorch with CUDA: set LPES_LIBTORCH, install Python's torch, or run packaging/setup.sh --cuda"
}

build() {
  command -v nvcc >/dev/null || export PATH="$PATH:/usr/local/cuda/bin"
  command -v nvcc >/dev/null || die "there is no nvcc on PATH or in /usr/local/cuda/bin"
  LPES_LIBTORCH="$(findLibTorch)"
  export LPES_LIBTORCH
  tell "LibTorch: $LPES_LIBTORCH; $(nvcc --version | tail -n 2 | head -n 1)"
  local options=(-DLPES_CUDA=ON "-DLPES_LIBTORCH=$LPES_LIBTORCH") capability
  # Only for the GPU that is here: a quarter of the time.
  capability="$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+[.][0-9]+$' | sort -u |
    tr -d . | paste -sd ';' || true)"
  [ -z "$capability" ] || options+=("-DLPES_CUDA_ARCHITECTURES=$capability")
  if [ -f "$kit.tar.gz" ]; then
    tell "packages: build/gpu-kit.tar.gz"
    [ -d "$kit" ] && [ "$kit" -nt "$kit.tar.gz" ] || { rm -rf "$kit"; tar -C build -xzf "$kit.tar.gz"; touch "$kit"; }
    export PKG_CONFIG="$kit/bin/pkg-config"
    options+=("-DCMAKE_PREFIX_PATH=$kit/usr" "-DPKG_CONFIG_EXECUTABLE=$kit/bin/pkg-config" "-DBOOST_ROOT=$kit/usr"
      "-DCMAKE_BUILD_RPATH=$(dirname "$(find "$kit/usr/lib" -name 'libfmt.so' | head -n 1)")")
  fi
  local started=$SECONDS
  cmake --preset cuda "${options[@]}" >build/gpu-configure.log 2>&1 || { cat build/gpu-configure.log; die "configuring failed"; }
  cmake --build --preset cuda -j "$(nproc)" --target test_model_cuda test_model_torch test_model_torch_gpu bench_gpu write_tiny_model lpes \
    >build/gpu-build.log 2>&1 || { tail -n 60 build/gpu-build.log; die "building failed"; }
  tell "built in $((SECONDS - started)) s"
}

# --- run --------------------------------------------------------------------------------------------------------------------

failures=0
check() {  # check NAME COMMAND…: 0 held, else counted
  local name="$1" code=0
  shift
  "$@" || code=$?
  [ "$code" = 0 ] && { tell "$name: held"; return; }
  failures=$((failures + 1))
  tell "$name: FAILED (exit code $code)"
}

# gpuTests PROGRAM: on a GPU nothing may be skipped, but for what needs a second one.
gpuTests() {
  local log
  log="$out/$(basename "$1").log"
  "$1" --gtest_brief=1 >"$log" 2>&1 || { cat "$log"; return 1; }
  tail -n 3 "$log"
  if grep -A 1 ': Skipped' "$log" | grep -vE ': Skipped|^one GPU$|^--$' | grep -q .; then cat "$log"; return 1; fi
}

# A search of a few candidates on the GPU, and the same model scored on both devices.
search() {
  local lpes=build/cuda/app/cli/lpes model="$out/tiny" answer code=0
  rm -rf "$model" "$out/search.db"*
  build/cuda/tests/bench/write_tiny_model "$model" || return 1
  local task=(--task kv --keys words --pairs 6)
  answer="$("$lpes" eval --model "$model" "${task[@]}" --limit 4 --device cuda:0 --db "$out/search.db" 2>&1)" || code=$?
  if [ "$code" = 4 ]; then
    tell "search on cuda:0: not measured, the program refuses: $answer"
    return 0
  fi
  printf '%s\n' "$answer"
  [ "$code" = 0 ] || return 1
  "$lpes" search --model "$model" "${task[@]}" --device cuda:0 --population 6 --max-evals 12 --search-items 4 --select-items 4 \
    --report-items 4 --finalists 2 --analysis-items 1 --db "$out/search.db" --out "$out/profile.json"
}

run() {
  nvidia-smi -L 2>/dev/null | grep -q '^GPU' || { tell "no GPU: nvidia-smi shows none"; exit 4; }
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader
  build
  check "kernels against their references" gpuTests build/cuda/tests/core/model_cuda/test_model_cuda
  check "sessions on the GPU against the processor's" gpuTests build/cuda/tests/core/model_torch/test_model_torch_gpu
  check "devices and the decoder's tests" build/cuda/tests/core/model_torch/test_model_torch --gtest_brief=1
  check "measurements" build/cuda/tests/bench/bench_gpu --json "$out/results.json"
  check "search on cuda:0" search
  tell "$SECONDS s in all; results in $out"
  [ "$failures" = 0 ] || { tell "$failures of the checks above failed"; exit 1; }
}

out="${GPU_OUT:-$PWD/build/gpu-results}"
mkdir -p build "$out"
case "${1:-run}" in
  pack) pack ;;
  build) build ;;
  run) run 2>&1 | tee "$out/gpu.log" ;;
  -h|--help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" ;;
  *) die "unknown mode $1; see --help" ;;
esac
