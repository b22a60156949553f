#!/usr/bin/env bash
# Compiles a program that uses the headers as a .cu file; 77: no nvcc here.
set -eu
nvcc=$1 include=$2 source=$3
[ -x "$nvcc" ] || { echo "skipped: nvcc is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$(dirname "$source")"/*.h "$work"
cp "$source" "$work/main.cu"
"$nvcc" -std=c++20 -Werror all-warnings -I"$include" -c "$work/main.cu" -o "$work/main.o"
