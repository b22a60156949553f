# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of the blocks of large launches.

All blocks run without checks, for their results; a sample of them runs checked on a copy of the memory. The sample is made
by a smaller grid whose kernel sees the indices of the chosen blocks: half of them are the first blocks, which find races of
neighbors, the other half is evenly spaced up to the last block.
"""

import dataclasses
import math
import re

from .device import triple

AXES = "xyz"


def counts_of(grid, most):
    """Blocks of the sample along each dimension, at most that many in all: the longest dimension is shortened first."""
    counts = list(grid)
    for axis in sorted(range(3), key=lambda axis: -grid[axis]):
        excess = math.prod(counts) / most
        if excess > 1:
            counts[axis] = max(1, math.floor(counts[axis] / excess))
    return counts


def with_indices(ptx, grid, steps, offsets):
    """The text of a kernel that takes index i of a dimension for i * step + offset, and the grid for the given one.

    None if the text reads indices in another way than by mov.
    """
    for axis, size, step, offset in zip(AXES, grid, steps, offsets):
        ptx = re.sub(rf"(mov\.[bus]32\s+)(%\w+)(,\s*)%nctaid\.{axis}\s*;", rf"\g<1>\g<2>\g<3>{size};", ptx)
        if step != 1 or offset:
            ptx = re.sub(rf"(mov\.[bus]32\s+)(%\w+)(,\s*%ctaid\.{axis}\s*;)",
                         rf"\1\2\3 mad.lo.u32 \2, \2, {step}, {offset};", ptx)
    rest = re.sub(r"mov\.[bus]32\s+%\w+,\s*%ctaid\.[xyz]\s*;", "", ptx)
    return None if re.search(r"%n?ctaid\b|%n?clusterid|%cluster_", rest) else ptx


def parts_of(grid, most):
    """The two halves of a sample: blocks, steps and offsets along each dimension."""
    half = counts_of(grid, max(1, most // 2))
    steps = [(size - 1) // (count - 1) if count > 1 else 1 for size, count in zip(grid, half)]
    offsets = [size - 1 - step * (count - 1) for size, step, count in zip(grid, steps, half)]
    return half, steps, offsets


def along(count, step, offset, size):
    """Indices of a sample along one dimension: "0 to 31", "13, 19, .., 199"."""
    last = offset + step * (count - 1)
    if count == size and step == 1:
        return "all"
    if count == 1:
        return str(last)
    return f"{offset} to {last}" if step == 1 else f"{offset}, {offset + step}, .., {last}"


def described(grid, most):
    """The blocks of a sample, for people: "x 0 to 31; x 13, 19, .., 199"."""
    grid = triple(grid)
    half, steps, offsets = parts_of(grid, most)
    texts = []
    for part_steps, part_offsets in (([1, 1, 1], [0, 0, 0]), (steps, offsets)):
        texts.append(", ".join(f"{axis} {along(*each)}" for axis, *each in zip(AXES, half, part_steps, part_offsets, grid)
                               if each[3] > 1))
    return "; ".join(dict.fromkeys(texts))


def samples(launch, most):
    """Launches of a sample of at most `most` blocks; None if all blocks are checked.

    Clusters are not sampled, nor are overlapping grids.
    """
    grid = triple(launch.grid)
    if not most or math.prod(grid) <= most or launch.cluster:
        return None
    half, steps, offsets = parts_of(grid, most)
    made = []
    for text in (with_indices(launch.ptx, grid, [1, 1, 1], [0, 0, 0]),
                 with_indices(launch.ptx, grid, steps, offsets)):
        if text is None:
            return None
        made.append(dataclasses.replace(launch, ptx=text, grid=tuple(half)))
    return made
