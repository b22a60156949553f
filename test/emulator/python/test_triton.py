# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton kernels, right and with a race."""

import numpy
import pytest
import triton
import triton.language as tl

from penstock_emu import EmulatorError, FindingsError, Output
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


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})], key=["N"])
@triton.heuristics({"STEP": lambda args: 1})
@triton.jit
def tuned(x, out, N, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < N, other=0.0) + STEP, mask=i < N)


def test_tuned_kernels_need_the_constants_of_a_configuration():
    x, out = numpy.ones(200, numpy.float32), numpy.zeros(200, numpy.float32)
    check(tuned, lambda meta: (triton.cdiv(meta["N"], meta["BLOCK"]),),
          dict(x=x, out=Output(out), N=200, BLOCK=64, STEP=1)).raise_on("undefined")
    assert (out == 2).all()
    with pytest.raises(EmulatorError) as wrong:
        check(tuned, 4, dict(x=x, out=Output(out), N=200, STEP=1))
    for part in ("no argument for `BLOCK`; it has autotune", "BLOCK: 64, num_warps: 2", "heuristics for STEP"):
        assert part in str(wrong.value)


def test_wrong_calls_are_explained():
    x = numpy.ones((4, 100), numpy.float32)
    args = dict(x=x, out=Output(numpy.zeros(4, numpy.float32)), N=100, STRIDE=1, SHIFT=0, BLOCK=128)
    for grid, message in (("4", "'4' is not the size of a grid"), ((1, 2, 3, 4), "expected 1 to 3 numbers"),
                          (lambda meta: None, "None is not the size of a grid")):
        with pytest.raises(EmulatorError, match=message):
            check(row_sums, grid, args)
    with pytest.raises(EmulatorError, match="args is a list: expected a dict from names of parameters.*args=dict\\(x="):
        check(row_sums, 4, [x, 100])
    with pytest.raises(EmulatorError, match="test_wrong_calls_are_explained is not a kernel: expected a function with @triton"):
        check(test_wrong_calls_are_explained, 4, args)


def test_code_of_the_compiler_is_named():
    # tcgen05.alloc and the first load share an address: docs/results/field-findings.md.
    a, b = numpy.ones((2, 128, 128), numpy.float16)
    c = numpy.zeros((128, 128), numpy.float16)
    report = check(matmul, (1, 1), dict(a=Descriptor(a, [128, 64]), b=Descriptor(b, [64, 128]), c=Descriptor(c, [128, 128]),
                                        K=128, BM=128, BN=128, BK=64), 100, timings=1)
    assert [each.code for each in report.findings] == ["PS2102"]
    with pytest.raises(FindingsError, match="is in code that Triton generates, not in yours.*field-findings.md"):
        report.raise_on("undefined")
    report.raise_on("undefined", ignore={"PS2102": "Triton's own code"})
    assert "ignored: 1 finding PS2102 (Triton's own code)" in report.render()
    with pytest.raises(FindingsError):
        report.raise_on("undefined", ignore=["PS2101"])


def test_findings_of_the_kernel_are_not_blamed_on_the_compiler():
    x = numpy.ones((5, 100), numpy.float32)
    report = check(row_sums, 4, dict(x=x, out=x, N=100, STRIDE=100, SHIFT=100, BLOCK=128))
    assert report.findings and "code that Triton generates" not in report.render()


@triton.jit
def reads_too_early(x, flag, ws, out, PRODUCER: tl.constexpr, B: tl.constexpr):
    program = tl.program_id(0)
    i = tl.arange(0, B)
    if program == PRODUCER:
        tl.store(ws + i, tl.load(x + i))
        tl.atomic_add(flag, 1)
    else:
        tl.atomic_add(flag, 1)  # its value is not tested
        tl.store(out + program * B + i, tl.load(ws + i, mask=i < B - 1, other=0.0))


@pytest.mark.parametrize("producer", [0, 3])
def test_a_counter_that_nobody_tests_is_a_race_in_the_first_two_timings(producer):
    x, ws = (numpy.ones(128, numpy.float32) for _ in range(2))
    report = check(reads_too_early, 4, dict(x=x, flag=numpy.zeros(1, numpy.int32), ws=ws, B=128, PRODUCER=producer,
                                            out=Output(numpy.zeros(512, numpy.float32))), timings=2)
    assert [each.code for each in report.findings] == ["PS2101"]
    race = report.findings[0]
    # The masked load is inline assembly of several lines, which LLVM gives the lines after it.
    source = open(__file__).read().splitlines()
    lines = sorted([race.line, race.notes[0].line])
    assert "tl.store(ws + i" in source[lines[0] - 1] and "tl.load(ws + i" in source[lines[1] - 1]


@triton.jit
def angles(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.sin(tl.load(x + i)) + tl.cos(tl.load(x + i)))


def test_sin_and_cos_of_large_angles():
    # Large angles are reduced with long numbers (mad.cc, madc).
    x = numpy.array([0.5, -3.0, 1e5, 3e7, -1e20, 3e38, 105615.0, 7.0], numpy.float32)
    out = numpy.zeros(8, numpy.float32)
    check(angles, 1, dict(x=x, out=Output(out), B=8), num_warps=1).raise_on("undefined")
    wide = x.astype(numpy.float64)
    assert abs(out - (numpy.sin(wide) + numpy.cos(wide))).max() < 1e-5
