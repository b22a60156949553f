# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton kernels in which versions of its compiler lose or misplace synchronization."""

import numpy
import triton
import triton.language as tl

import penstock_emu.triton
from penstock_emu import Output
from penstock_emu.triton import check

random = numpy.random.default_rng(7)
# numpy has no bfloat16: its bits are passed.
penstock_emu.triton.POINTERS["uint16"] = "*bf16"


def bits(values):
    return (numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)


def floats(values):
    return (values.astype(numpy.uint32) << 16).view(numpy.float32)


def near(result, expected, tolerance=2e-2):
    return bool(abs(result - expected).max() <= tolerance * max(1e-6, abs(expected).max()))


# triton#10590 and its sources fla#945, fla#1228: state of a gated delta rule. The state is an operand of a product in every
# iteration, so its registers go through shared memory to tcgen05. Broken versions emit no fence.proxy.async between.
@triton.jit
def gated_state(keys, writes, values, decay, states, LENGTH, D: tl.constexpr, V: tl.constexpr, CHUNK: tl.constexpr, BV: tl.constexpr):
    column = tl.program_id(0) * BV + tl.arange(0, BV)
    feature = tl.arange(0, D)
    inside = tl.arange(0, CHUNK)
    state = tl.zeros((D, BV), tl.float32)
    for chunk in range(tl.cdiv(LENGTH, CHUNK)):
        tl.store(states + chunk * D * V + feature[:, None] * V + column[None, :], state.to(tl.bfloat16))
        time = chunk * CHUNK + inside
        valid = time < LENGTH
        erase = tl.load(writes + time[:, None] * D + feature[None, :], mask=valid[:, None], other=0.0)
        known = tl.dot(erase, state.to(tl.bfloat16))
        fresh = tl.load(values + time[:, None] * V + column[None, :], mask=valid[:, None], other=0.0) - known
        gate = tl.load(decay + time, mask=valid, other=0.0)
        fresh = (fresh * tl.exp(gate)[:, None]).to(tl.bfloat16)
        key = tl.load(keys + time[None, :] * D + feature[:, None], mask=valid[None, :], other=0.0)
        state = state * 0.5 + tl.dot(key, fresh)
    tl.store(states + tl.cdiv(LENGTH, CHUNK) * D * V + feature[:, None] * V + column[None, :], state.to(tl.bfloat16))


def delta_rule(timings, warps, stages, width, capability=100):
    length, depth, value_depth, chunk = 192, 64, 64, 64
    keys, writes = (bits(random.normal(size=(length, depth)) * 0.1) for _ in range(2))
    values = bits(random.normal(size=(length, value_depth)))
    decay = (-abs(random.normal(size=length)) * 0.1).astype(numpy.float32)
    states = numpy.zeros((length // chunk + 1, depth, value_depth), numpy.uint16)
    report = check(gated_state, value_depth // width,
                   dict(keys=keys, writes=writes, values=values, decay=decay, states=Output(states), LENGTH=length, D=depth, V=value_depth,
                        CHUNK=chunk, BV=width), capability, num_warps=warps, num_stages=stages, timings=timings)
    state = numpy.zeros((depth, value_depth))
    for i in range(length // chunk):
        part = slice(i * chunk, (i + 1) * chunk)
        fresh = (floats(values[part]) - floats(writes[part]) @ state) * numpy.exp(decay[part])[:, None]
        state = state * 0.5 + floats(keys[part]).T @ fresh
    return report, near(floats(states[-1]), state, 0.05)


# triton#9871: the same class, without gates; the state is two halves of 64 rows, and the number of chunks is loaded from memory.
@triton.jit
def two_halves(keys, writes, values, fresh_values, states, bounds, LENGTH, FROM_MEMORY: tl.constexpr, D: tl.constexpr, V: tl.constexpr,
               CHUNK: tl.constexpr, BV: tl.constexpr):
    first_column = tl.program_id(0) * BV
    start = tl.load(bounds)
    if FROM_MEMORY:
        length = tl.load(bounds + 1) - start
    else:
        length = LENGTH
    upper = tl.zeros((64, BV), tl.float32)
    lower = tl.zeros((64, BV), tl.float32)
    for chunk in range(tl.cdiv(length, CHUNK)):
        base = states + chunk * D * V
        out = tl.make_block_ptr(base, (D, V), (V, 1), (0, first_column), (64, BV), (1, 0))
        tl.store(out, upper.to(tl.bfloat16), boundary_check=(0, 1))
        out = tl.make_block_ptr(base, (D, V), (V, 1), (64, first_column), (64, BV), (1, 0))
        tl.store(out, lower.to(tl.bfloat16), boundary_check=(0, 1))
        row = chunk * CHUNK
        erase = tl.make_block_ptr(writes + start * D, (length, D), (D, 1), (row, 0), (CHUNK, 64), (1, 0))
        known = tl.dot(tl.load(erase, boundary_check=(0, 1)), upper.to(tl.bfloat16))
        erase = tl.make_block_ptr(writes + start * D, (length, D), (D, 1), (row, 64), (CHUNK, 64), (1, 0))
        known += tl.dot(tl.load(erase, boundary_check=(0, 1)), lower.to(tl.bfloat16))
        source = tl.make_block_ptr(values + start * V, (length, V), (V, 1), (row, first_column), (CHUNK, BV), (1, 0))
        fresh = (tl.load(source, boundary_check=(0, 1)) - known).to(tl.bfloat16)
        target = tl.make_block_ptr(fresh_values + start * V, (length, V), (V, 1), (row, first_column), (CHUNK, BV), (1, 0))
        tl.store(target, fresh, boundary_check=(0, 1))
        key = tl.make_block_ptr(keys + start * D, (D, length), (1, D), (0, row), (64, CHUNK), (0, 1))
        upper += tl.dot(tl.load(key, boundary_check=(0, 1)), fresh)
        key = tl.make_block_ptr(keys + start * D, (D, length), (1, D), (64, row), (64, CHUNK), (0, 1))
        lower += tl.dot(tl.load(key, boundary_check=(0, 1)), fresh)


def recurrence(timings, warps, stages, width, memory=True, capability=100):
    length, depth, value_depth, chunk = 256, 128, 64, 64
    keys, writes = (bits(random.normal(size=(length, depth)) * 0.1) for _ in range(2))
    values = bits(random.normal(size=(length, value_depth)))
    fresh = numpy.zeros((length, value_depth), numpy.uint16)
    report = check(two_halves, value_depth // width,
                   dict(keys=keys, writes=writes, values=values, fresh_values=Output(fresh),
                        states=Output(numpy.zeros((8, depth, value_depth), numpy.uint16)), bounds=numpy.array([0, length], numpy.int32),
                        LENGTH=length, FROM_MEMORY=memory, D=depth, V=value_depth, CHUNK=chunk, BV=width),
                   capability, num_warps=warps, num_stages=stages, timings=timings)
    state, expected = numpy.zeros((depth, value_depth)), []
    for i in range(length // chunk):
        part = slice(i * chunk, (i + 1) * chunk)
        expected.append(floats(values[part]) - floats(writes[part]) @ state)
        state = state + floats(keys[part]).T @ expected[-1]
    return report, near(floats(fresh), numpy.concatenate(expected), 0.05)


# pytorch#181248: the persistent matmul of a batch-invariant mode: masked loads through pointers, B is a transposed weight, and one
# flattened loop walks several tiles. cp.async and threads write the tiles that tcgen05.mma reads, without a fence between.
@triton.jit
def persistent_tiles(a, weight, c, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    across = tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS, flatten=True):
        row = tile // across * BM + tl.arange(0, BM)
        column = tile % across * BN + tl.arange(0, BN)
        safe_row = tl.where(row < M, row, 0)
        safe_column = tl.where(column < N, column, 0)
        acc = tl.zeros((BM, BN), tl.float32)
        for step in range(steps):
            depth = step * BK + tl.arange(0, BK)
            x = tl.load(a + safe_row[:, None] * K + depth[None, :], mask=depth[None, :] < K, other=0.0)
            y = tl.load(weight + safe_column[None, :] * K + depth[:, None], mask=depth[:, None] < K, other=0.0)
            acc = tl.dot(x, y, acc)
        tl.store(c + row[:, None] * N + column[None, :], acc.to(tl.bfloat16), mask=(row[:, None] < M) & (column[None, :] < N))


def persistent(timings, capability=100, warps=4, blocks=(64, 64, 64), size=(128, 128, 256)):
    M, N, K = size
    a, weight = bits(random.normal(size=(M, K))), bits(random.normal(size=(N, K)))
    c = numpy.zeros((M, N), numpy.uint16)
    report = check(persistent_tiles, 2, dict(a=a, weight=weight, c=Output(c), M=M, N=N, K=K, PROGRAMS=2, BM=blocks[0], BN=blocks[1],
                                             BK=blocks[2]), capability, num_warps=warps, num_stages=3, timings=timings)
    return report, near(floats(c), floats(a) @ floats(weight).T)


# triton#6691: a pipelined tile feeds a product and a sum in registers. The tile has one buffer too few: cp.async overwrites it
# while wgmma still reads it. The published result depends on the order of the two statements.
@triton.jit
def product_and_sum(a, b, products, sums, STEPS, SUM_FIRST: tl.constexpr, STAGES: tl.constexpr, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    place = i[:, None] * SIZE + i[None, :]
    product = tl.zeros((SIZE, SIZE), tl.float32)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for step in tl.range(0, STEPS, num_stages=STAGES):
        left = tl.load(a + step * SIZE * SIZE + place)
        right = tl.load(b + step * SIZE * SIZE + place)
        if SUM_FIRST:
            total += left.to(tl.float32)
            product = tl.dot(left, right, product)
        else:
            product = tl.dot(left, right, product)
            total += left.to(tl.float32)
    tl.store(products + place, product)
    tl.store(sums + place, total)


def two_uses(timings, sum_first, stages):
    steps, size = 6, 64
    a, b = (random.normal(size=(steps, size, size)).astype(numpy.float16) for _ in range(2))
    products, sums = numpy.zeros((size, size), numpy.float32), numpy.zeros((size, size), numpy.float32)
    report = check(product_and_sum, 1, dict(a=a, b=b, products=Output(products), sums=Output(sums), STEPS=steps, SUM_FIRST=sum_first,
                                            STAGES=stages, SIZE=size), 90, timings=timings)
    expected = sum(x.astype(float) @ y.astype(float) for x, y in zip(a, b))
    return report, near(products, expected) and near(sums, a.astype(float).sum(0))


# triton#8139: a pipelined load of indices that are used under a run-time condition only. The ring has one buffer too few, so
# a prefetch overwrites indices that the current iteration reads.
@triton.jit
def scatter_if(places, values, enabled, ROUNDS: tl.constexpr, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    lane = tl.arange(0, WIDTH)
    for round in tl.range(0, ROUNDS, num_stages=STAGES):
        target = tl.load(places + round * WIDTH + lane)
        if enabled:
            tl.store(values + target, (round + 1) * 100 + lane)


def conditional_store(timings, stages):
    rounds, width = 9, 32
    places = random.permutation(rounds * width).astype(numpy.int32).reshape(rounds, width)
    values = numpy.zeros(rounds * width, numpy.int32)
    report = check(scatter_if, 1, dict(places=places, values=values, enabled=True, ROUNDS=rounds, WIDTH=width, STAGES=stages), 90,
                   timings=timings)
    expected = numpy.zeros_like(values)
    for round in range(rounds):
        expected[places[round]] = (round + 1) * 100 + numpy.arange(width)
    return report, bool((values == expected).all())


# triton#8259: each iteration of a nested, flattened loop stores to scratch memory and loads the same addresses. The pipeliner
# moves the load before the store.
@triton.jit
def through_scratch(scratch, result, TALL: tl.constexpr, WIDE: tl.constexpr, PART: tl.constexpr, STAGES: tl.constexpr, FLATTEN: tl.constexpr):
    for line in tl.range(tl.program_id(0), TALL, tl.num_programs(0), loop_unroll_factor=1, num_stages=STAGES):
        for part in tl.range(0, WIDE, PART, loop_unroll_factor=2, num_stages=STAGES, flatten=FLATTEN):
            at = line * WIDE + part + tl.arange(0, PART)
            tl.store(scratch + at, at.to(tl.float32) * 0.5)
            again = tl.load(scratch + at)
            tl.store(result + at, again + 1.0)


def store_then_load(timings, stages, flatten):
    tall, wide = 4, 512
    result = numpy.zeros((tall, wide), numpy.float32)
    report = check(through_scratch, 2, dict(scratch=numpy.full((tall, wide), -1, numpy.float32), result=Output(result), TALL=tall, WIDE=wide,
                                            PART=128, STAGES=stages, FLATTEN=flatten), 90, timings=timings)
    return report, bool((result == numpy.arange(tall * wide).reshape(tall, wide) * 0.5 + 1).all())
