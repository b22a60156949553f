#!/usr/bin/env bash
# The processor time that #include <penstock/penstock.h> adds to an empty file
# must stay below one second.
set -eu
compiler=$1 include=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '#include <penstock/penstock.h>' >"$work/with.cpp"
: >"$work/without.cpp"
cost() {
  TIMEFORMAT=%U
  { time "$compiler" -std=c++20 -I"$include" -c "$1" -o /dev/null; } 2>&1
}
best=$(for _ in 1 2 3 4 5; do cost "$work/with.cpp"; done | sort -n | head -n 1)
empty=$(for _ in 1 2 3; do cost "$work/without.cpp"; done | sort -n | head -n 1)
awk -v with="$best" -v without="$empty" 'BEGIN {
  added = with - without
  printf "the headers add %.2f s of processor time\n", added
  exit added >= 1.0 }'
