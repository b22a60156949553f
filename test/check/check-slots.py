#!/usr/bin/env python3
"""check-slots PICTURE TILES: the slots of each ring are filled TILES times in all, one after the other.

A slot is in flight, then full, then empty until it is filled again. After the loop, threads may
stage results in the memory of a ring, which is then filled more often.
"""
import collections
import re
import sys

svg = open(sys.argv[1], encoding="utf-8").read()
tiles = int(sys.argv[2])
rows = re.findall(r'class="row">(\w+)\[(\d+)\]<', svg)
assert rows, "no row of a slot"
slices = [(kind, int(number), int(start), int(end), float(y)) for kind, number, start, end, y in re.findall(
    r'<rect class="(filling|full)" data-name="[^"]*" data-iteration="(\d+)" data-start="(\d+)" '
    r'data-end="(\d+)" x="[^"]*" y="([^"]*)"', svg)]
at = collections.defaultdict(list)
for one in slices:
    at[one[4]].append(one[:4])
assert len(at) == len(rows), f"{len(rows)} slots, {len(at)} of them are drawn"
filled = collections.Counter()
for (tile, _), (_, slot) in zip(rows, sorted(at.items())):
    slot.sort(key=lambda s: s[2])
    kinds = [s[0] for s in slot]
    copies = kinds.count("filling")
    assert kinds[: 2 * copies] == ["filling", "full"] * copies, kinds
    assert set(kinds[2 * copies :]) <= {"full"}, kinds
    for before, after in zip(slot, slot[1:]):
        assert before[3] <= after[2], f"{before} overlaps {after}"
    filled[tile] += copies
assert min(filled.values()) == tiles, filled
print(f"{len(rows)} slots, {tiles} tiles each")
