# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of CuTe DSL, right and with a race; skipped without the package."""

import os

import numpy
import pytest

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
cutlass = pytest.importorskip("cutlass")
cute = pytest.importorskip("cutlass.cute")

from cutlass.cute.runtime import make_fake_compact_tensor

from penstock_emu import EmulatorError, Output
from penstock_emu.cute import check


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, barrier: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    tile[thread] = x[thread]
    if cutlass.const_expr(barrier):
        cute.arch.sync_threads()
    y[thread] = tile[127 - thread]


@cute.jit
def reverse(x: cute.Tensor, y: cute.Tensor, barrier: cutlass.Constexpr):
    reverse_kernel(x, y, barrier).launch(grid=(1, 1, 1), block=(128, 1, 1))


def compiled(barrier, folder, keep="--keep-ptx "):
    fake = [make_fake_compact_tensor(cutlass.Float32, (128,), assumed_align=16) for _ in range(2)]
    return cute.compile(reverse, *fake, barrier, options=f"{keep}--dump-dir={folder}")


def test_reverse_is_right(tmp_path):
    x, y = numpy.arange(128, dtype=numpy.float32), numpy.zeros(128, numpy.float32)
    check(compiled(True, tmp_path), 1, 128, [x, Output(y)], shared=1024).raise_on("note")
    assert (y == x[::-1]).all()


def test_missing_barrier_is_found(tmp_path):
    x, y = numpy.arange(128, dtype=numpy.float32), numpy.zeros(128, numpy.float32)
    report = check(compiled(False, tmp_path), 1, 128, [x, Output(y)], shared=1024)
    assert {(f.code, f.tier) for f in report.findings} == {("PS2101", "wrong")}


def test_ptx_must_be_kept(tmp_path):
    with pytest.raises(EmulatorError, match="--keep-ptx"):
        check(compiled(True, tmp_path, ""), 1, 128, [])
