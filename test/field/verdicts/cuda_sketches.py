# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of the sketches in `cuda`: a function for each, with arguments and expected values."""

import hashlib
import os
import pathlib
import subprocess

import numpy

from penstock_emu import Output, check

HERE = pathlib.Path(__file__).resolve().parent
random = numpy.random.default_rng(3)


def ptx_of(file, defines, arch):
    """PTX of a file; compiled once for each text, as nvcc takes seconds."""
    source = HERE / "cuda" / file
    key = hashlib.sha256(b"\0".join([source.read_bytes(), (HERE / "cuda/Sketch.cuh").read_bytes(), arch.encode(),
                                     " ".join(defines).encode()])).hexdigest()[:16]
    made = pathlib.Path(os.environ["VERDICTS_WORK"]) / "ptx" / f"{source.stem}-{key}.ptx"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        partial = made.with_suffix(f".{os.getpid()}")
        subprocess.run([os.environ["PENSTOCK_NVCC"], "-std=c++17", "-O3", f"-arch={arch}", "-ptx", "-lineinfo", source, "-o",
                        partial] + [f"-D{each}" for each in defines], check=True)
        partial.rename(made)
    return made.read_text()


def run(file, kernel, defines, arch, timings, expected=None, out=None, **launch):
    report = check(ptx_of(file, defines, arch), kernel, timings=timings, name=file, **{"grid": 1, **launch})
    return report, None if expected is None else bool(numpy.allclose(out, expected, 1e-3, 1e-3))


def threads(kernel, timings, defines=(), **more):
    """Sketches of threads.cu."""
    file, arch = "threads.cu", "sm_90a"
    rows = random.integers(1, 100, (8, 128)).astype(numpy.float32)
    out = numpy.zeros(128, numpy.float32)
    if kernel == "plan_lengths":
        lengths = numpy.full(1000, 17, numpy.int32) if more.get("uniform") else random.integers(1, 5000, 1000).astype(numpy.int32)
        out = numpy.zeros(2, numpy.int32)
        return run(file, kernel, defines, arch, timings, [lengths.min(), lengths.max()], out, block=256, args=[lengths, Output(out), 1000])
    if kernel == "rows_by_id":
        ids = random.permutation(128).astype(numpy.int32)
        values = random.random((128, 32)).astype(numpy.float32)
        out = numpy.zeros((128, 32), numpy.float32)
        expected = numpy.zeros_like(out)
        expected[ids] = values * 2
        return run(file, kernel, defines, arch, timings, expected, out, block=128, args=[ids, values, Output(out), 4])
    if kernel == "skip_masked":
        masks = numpy.zeros((8, 128), numpy.float32)
        masks[[1, 2, 4]] = -1e38
        keep = masks[:, 0] == 0
        return run(file, kernel, defines, arch, timings, rows[keep].sum(0), out, block=128, args=[masks, rows, Output(out), 8])
    if kernel == "combine_pairs":
        pairs = numpy.concatenate([rows[:, :32] + rows[:, 32:64], rows[:, 64:96] + rows[:, 96:]], 1)
        return run(file, kernel, defines, arch, timings, pairs.sum(0)[(63 - numpy.arange(128)) & 63], out, block=128,
                   args=[rows, Output(out), 8])
    if kernel == "awaited_by_warp":
        return run(file, kernel, defines, arch, timings, rows[:4].sum(0), out, block=128, args=[rows[:4].copy(), Output(out)])
    if kernel == "undrained":
        source = random.integers(1, 100, (6, 512)).astype(numpy.float32)
        expected = source[:, 511 - numpy.arange(128)].sum(0)[::-1]
        return run(file, kernel, defines, arch, timings, expected, out, block=128, args=[source, Output(out), 6])
    if kernel == "skipped_barrier":
        source = random.integers(1, 100, (16, 8)).astype(numpy.float32)
        out = numpy.zeros(8, numpy.float32)
        return run(file, kernel, defines, arch, timings, source.sum(0), out, block=384, args=[source, Output(out), 16])
    if kernel == "one_lane_arrives":
        out = numpy.zeros(32, numpy.float32)
        return run(file, kernel, defines, arch, timings, rows[0, :32][::-1], out, block=64, args=[rows[0, :32].copy(), Output(out)])
    raise ValueError(kernel)


def copies(kernel, timings, defines=(), **more):
    """Sketches of copies.cu."""
    file, arch = "copies.cu", "sm_90a"
    defines = list(defines)
    if not any(each.startswith("COUNT") for each in defines):
        defines.append("COUNT=3")
    rows = random.integers(1, 100, (12, 128)).astype(numpy.float32)
    out = numpy.zeros(128, numpy.float32)
    if kernel in ("read_then_overwrite", "stale_pointer"):
        arch = "sm_100a" if kernel == "read_then_overwrite" else arch  # the verdict is that of GB200
        return run(file, kernel, defines, arch, timings, rows.sum(0), out, block=64, args=[rows, Output(out), 12])
    if kernel == "barrier_in_copy":
        return run(file, kernel, defines, arch, timings, rows[0, :96], out[:96], block=32, args=[rows[0].copy(), out])
    if kernel == "refilled_staging":
        grid = more.get("grid", 2)
        out = numpy.zeros((12, 128), numpy.float32)
        return run(file, kernel, defines, arch, timings, rows * 3, out, grid=grid, block=128, args=[rows, Output(out), 12])
    if kernel == "restarted_ring":
        out = numpy.zeros((12, 128), numpy.float32)
        return run(file, kernel, defines, arch, timings, -rows, out, block=128, args=[rows, Output(out), 4])
    if kernel == "tile_counts":
        mask = numpy.array([1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1] if more.get("sparse", True) else [1] * 12, numpy.int32)
        return run(file, kernel, defines, arch, timings, rows[mask != 0].sum(0)[::-1], out, block=160, args=[rows, mask, Output(out), 12])
    if kernel == "early_release":
        numbers = random.integers(0, 3, 12).astype(numpy.int32)
        expected = 0
        for number in numbers:
            expected = expected * 3 + int(number)
        out = numpy.zeros(3, numpy.int32)
        return run(file, kernel, defines, arch, timings, [expected] * 3, out, block=128, args=[numbers, Output(out), 12])
    if kernel == "restarted_phases":
        tiles, steps = more["tiles"], more["steps"]
        source = random.integers(1, 100, (tiles, steps, 128)).astype(numpy.float32)
        out = numpy.zeros((tiles, 128), numpy.float32)
        return run(file, kernel, defines, arch, timings, source.sum(1), out, block=160, args=[source, Output(out), tiles, steps])
    if kernel == "early_remote_store":
        out = numpy.zeros((2, 32), numpy.int32)
        return run(file, kernel, defines, arch, timings, numpy.tile(100 + numpy.arange(32), (2, 1)), out, grid=2, block=32,
                   cluster=(2, 1, 1), args=[Output(out)])
    raise ValueError(kernel)
