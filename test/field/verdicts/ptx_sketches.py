# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of the sketches in `ptx`: a function for each, with arguments and expected values.

A line that ends with `// only: NAME ..` belongs to these variants; in others it is empty, so that lines keep their numbers.
"""

import pathlib
import re

import numpy

from penstock_emu import Output, TensorMap, check

HERE = pathlib.Path(__file__).resolve().parent
random = numpy.random.default_rng(5)
ONLY = re.compile(r"// only:([\w ]+)$")


def variant_of(name, variant):
    lines = (HERE / "ptx" / f"{name}.ptx").read_text().split("\n")
    return "\n".join("" if (only := ONLY.search(line)) and variant not in only.group(1).split() else line for line in lines)


def run(name, variant, timings, expected, out, **launch):
    report = check(variant_of(name, variant), name, timings=timings, name=name + ".ptx", **{"grid": 1, **launch})
    return report, bool(numpy.allclose(out, expected, 1e-3, 1e-3))


def tmem_layouts(variant, timings):
    out = numpy.zeros((32, 16), numpy.uint32)
    columns = 100 * numpy.arange(32)[:, None] + numpy.arange(32)[None, :]
    return run("tmem_layouts", variant, timings, columns[:, ::2] + columns[:, 1::2], out, block=160, args=[Output(out)])


def tmem_overlap(variant, timings):
    out = numpy.zeros((2, 32, 2), numpy.uint32)
    start = 1000 * numpy.arange(2)[:, None, None] + numpy.arange(32)[None, :, None]
    return run("tmem_overlap", variant, timings, 2 * start + 15 + 0 * out, out, block=160, args=[Output(out)])


def tmem_unpublished(variant, timings):
    out = numpy.zeros((128, 2), numpy.float32)
    return run("tmem_unpublished", variant, timings, 16.0 * numpy.arange(128)[:, None] + 0 * out, out, block=160, args=[Output(out)])


def widened_operand(variant, timings):
    values = random.integers(1, 64, (128, 8)).astype(numpy.float32)
    out = numpy.zeros((128, 2), numpy.float32)
    source = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
    return run("widened_operand", variant, timings, values.sum(1)[:, None] + 0 * out, out, block=128, args=[Output(out), source])


def tmem_early_free(variant, timings):
    out = numpy.zeros(128, numpy.uint32)
    return run("tmem_early_free", variant, timings, 3 * numpy.arange(128), out, block=128, args=[Output(out)])


def tmem_unallocated(variant, timings):
    out = numpy.zeros(128, numpy.uint32)
    return run("tmem_unallocated", variant, timings, 3 * numpy.arange(128), out, block=128, args=[Output(out)])


def wgmma_registers(variant, timings):
    source = random.integers(1, 8, (4, 128, 4, 2)).astype(numpy.float16)
    out = numpy.zeros((128, 2), numpy.float32)
    # Four lanes share a row; registers 0 and 2 are of the upper one, 1 and 3 of the one 8 rows below.
    rows = source.astype(float).sum((0, 4 - 1)).reshape(32, 4, 4).sum(1)
    expected = numpy.repeat(numpy.stack([rows[:, 0] + rows[:, 2], rows[:, 1] + rows[:, 3]], 1), 4, 0)
    return run("wgmma_registers", variant, timings, expected, out, block=128, args=[Output(out), source])


def wgmma_order(variant, timings):
    values = numpy.array([1, 2, 4, 8], numpy.float16)
    source = numpy.repeat(values, 1024)
    out = numpy.zeros((256, 2), numpy.float32)
    return run("wgmma_order", variant, timings, 16.0 * values.sum() + 0 * out, out, block=256, args=[Output(out), source])


def named_count(variant, timings):
    source = random.integers(1, 100, (4, 128)).astype(numpy.uint32)
    out = numpy.zeros(32, numpy.uint32)
    return run("named_count", variant, timings, source[:, ::4].sum(0), out, block=160, args=[Output(out), source])


def arrive_twice(variant, timings):
    source = random.integers(1, 100, (6, 32)).astype(numpy.uint32)
    out = numpy.zeros(32, numpy.uint32)
    return run("arrive_twice", variant, timings, source.sum(0), out, block=64, args=[Output(out), source])


def edited_map(variant, timings):
    source = random.integers(1, 100, (2, 64)).astype(numpy.uint32)
    out = numpy.zeros((2, 64), numpy.uint32)
    return run("edited_map", variant, timings, source, out, block=32,
               args=[TensorMap(source, (64,), shape=(64,), strides=(4,)), Output(out), source, Output(numpy.zeros(128, numpy.uint8))])


def shared_map(variant, timings):
    source = random.integers(1, 100, (2, 64)).astype(numpy.uint32)
    out = numpy.zeros((2, 2, 64), numpy.uint32)
    return run("shared_map", variant, timings, source[None] + 0 * out, out, grid=2, block=32, cluster=(2, 1, 1),
               args=[TensorMap(source, (64,), shape=(64,), strides=(4,)), Output(out), source, Output(numpy.zeros(128, numpy.uint8))])
