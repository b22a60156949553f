# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton kernels, right and with a race."""

import numpy
import pytest
import triton
import triton.language as tl

from penstock_emu import EmulatorError, Output
from penstock_emu.triton import Descriptor, check


@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=3):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
    c.store([row, column], acc.to(tl.float16))


@triton.jit
def row_sums(x, out, N, STRIDE: tl.constexpr, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + i, mask=i < N, other=0.0), 0)
    # With a shift of one row into x itself, a block writes what another one reads.
    tl.store(out + row * STRIDE + SHIFT, total)


@pytest.mark.parametrize("capability", [90, 100])
def test_matmul_is_right(capability):
    random = numpy.random.default_rng(0)
    a, b = (random.standard_normal((256, 256)).astype(numpy.float16) for _ in range(2))
    c = numpy.zeros((256, 256), numpy.float16)
    check(matmul, (2, 2), dict(a=Descriptor(a, [128, 64]), b=Descriptor(b, [64, 128]), c=Descriptor(c, [128, 128]),
                               K=256, BM=128, BN=128, BK=64), capability, timings=2).raise_on("wrong")
    expected = a.astype(float) @ b.astype(float)
    assert abs(c - expected).max() < 1e-3 * abs(expected).max()


def test_planted_race_is_found():
    x = numpy.ones((5, 100), numpy.float32)
    out = numpy.zeros(4, numpy.float32)
    check(row_sums, 4, dict(x=x, out=Output(out), N=100, STRIDE=1, SHIFT=0, BLOCK=128)).raise_on("undefined")
    assert (out == 100).all()
    report = check(row_sums, 4, dict(x=x, out=x, N=100, STRIDE=100, SHIFT=100, BLOCK=128))
    races = [f for f in report.findings if f.code == "PS2101"]
    assert len(races) == 1 and races[0].tier == "wrong"
    # Both lines of this file: the load and the store.
    lines = {races[0].line, races[0].notes[0].line}
    source = open(__file__).read().splitlines()
    assert {("tl.store" in source[n - 1], "tl.load" in source[n - 1]) for n in lines} == {(True, False), (False, True)}


def test_misnamed_arguments_are_named():
    x = numpy.ones((4, 100), numpy.float32)
    with pytest.raises(EmulatorError, match="row_sums has no parameter `STRIDES`; did you mean `STRIDE`\\? Known are `STRIDE`, `x`, "):
        check(row_sums, 4, dict(x=x, out=x, N=100, STRIDES=1, SHIFT=0, BLOCK=128))
    with pytest.raises(EmulatorError, match="row_sums has no argument for `SHIFT`"):
        check(row_sums, 4, dict(x=x, out=x, N=100, STRIDE=1, BLOCK=128))
    with pytest.raises(EmulatorError, match="Triton has no option `num_cta`; did you mean `num_ctas`"):
        check(row_sums, 4, dict(x=x, out=x, N=100, STRIDE=1, SHIFT=0, BLOCK=128), num_cta=2)
