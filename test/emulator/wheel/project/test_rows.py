# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests of a user: one kernel is right, the other one has a planted race."""

import numpy
import triton
import triton.language as tl

from penstock_emu import Output
from penstock_emu.triton import check


@triton.jit
def row_sums(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + i, mask=i < N, other=0.0), 0)
    tl.store(out + row, total)


@triton.jit
def running_sums(x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + i, mask=i < N, other=0.0), 0)
    tl.store(x + row * N + N, total)  # another block reads this row


def test_row_sums():
    x, out = numpy.ones((4, 100), numpy.float32), numpy.zeros(4, numpy.float32)
    check(row_sums, 4, dict(x=x, out=Output(out), N=100, BLOCK=128)).raise_on("undefined")
    assert (out == 100).all()


def test_running_sums():
    x = numpy.ones((5, 100), numpy.float32)
    check(running_sums, 4, dict(x=x, N=100, BLOCK=128)).raise_on("undefined")
