#!/usr/bin/env bash
# Looks at the installed package: tools, documentation, and CUDA libraries that only
# penstock-emu finds. The package is moved first: nothing in it may know where it
# was built.
set -euo pipefail
install=$1 work=$2 version=$3 nvcc=$4 saxpy=$5
fail() { echo "$*" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work"
cp -a "$install" "$work/moved"
prefix=$work/moved

for tool in penstock penstock-emu; do
  [ "$("$prefix/bin/$tool" --version)" = "$tool $version" ] || fail "$tool --version is wrong"
done
echo 'func.func @k() attributes {tile.kernel} { return }' > "$work/k.mlir"
"$prefix/bin/penstock-opt" "$work/k.mlir" | grep -q 'func.func @k' || fail "penstock-opt does not run"
[ "$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --modversion penstock)" = "$version" ] ||
  fail "the version of penstock.pc is wrong"
for file in LICENSE README.md docs/reference/language.md docs/reference/tile.md docs/pictures/run-v0.svg; do
  [ -s "$prefix/share/doc/Penstock/$file" ] || fail "$file is not installed"
done

# The CUDA libraries: in their own folder, in no list of folders, under no name to link.
[ -e "$prefix/lib/penstock/cuda/libcudart.so.13" ] || fail "libcudart is not installed"
[ -e "$prefix/lib/penstock/cuda/libcuda.so.1" ] || fail "libcuda is not installed"
found=$(find "$prefix" -name 'libcuda*' -not -path '*/lib/penstock/cuda/*'; find "$prefix" -name 'libcuda*.so')
[ -z "$found" ] || fail "CUDA libraries where a loader or linker finds them: $found"
for file in "$prefix"/bin/* "$prefix"/lib/*.so "$prefix"/lib/penstock/cuda/*; do
  if readelf -d "$file" | grep -E 'RPATH|RUNPATH' | grep -q 'cuda'; then
    fail "$file has the CUDA libraries on its path"
  fi
done
if PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs penstock | grep -q cuda; then
  fail "penstock.pc names the CUDA libraries"
fi
if grep -rq cuda "$prefix/lib/cmake/Penstock"; then
  fail "the CMake package names the CUDA libraries"
fi

# Without them nothing is started.
cp -a "$prefix/bin/penstock-emu" "$work/penstock-emu-alone"
if "$work/penstock-emu-alone" run true 2> "$work/alone.txt"; then
  fail "penstock-emu runs programs without its CUDA libraries"
fi
grep -q 'CUDA libraries are not installed' "$work/alone.txt" || fail "$(cat "$work/alone.txt")"

if [ ! -x "$nvcc" ]; then
  echo "no CUDA program was run: nvcc is not installed"
  exit 0
fi
"$nvcc" -arch=sm_90a -cudart shared --no-compress "$saxpy" -o "$work/saxpy"
"$prefix/bin/penstock-emu" run "$work/saxpy" 2> "$work/saxpy.txt" || fail "$(cat "$work/saxpy.txt")"
grep -q 'launches on H100, 0 findings' "$work/saxpy.txt" || fail "$(cat "$work/saxpy.txt")"
