# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gluon kernels: a bug of Triton's synchronization, and kernels that are broken by construction.

Triton tests its sanitizer with pairs of kernels that a flag makes broken or correct. The pairs here follow the same
descriptions: FLAG selects the broken variant.
"""

import numpy
import penstock_emu.triton
import triton
from penstock_emu import Output
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia import blackwell, hopper
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

random = numpy.random.default_rng(13)
penstock_emu.triton.ASTSource = GluonASTSource
check = penstock_emu.triton.check
# Names before 3.8.
load_async = getattr(async_copy, "async_load", None) or async_copy.async_copy_global_to_shared
barrier = getattr(gl, "barrier", None) or gl.thread_barrier
tma_load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
tma_store = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global

TILE = gl.constexpr(64)


@gluon.jit
def positions(layout: gl.constexpr):
    row = gl.arange(0, TILE, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, TILE, layout=gl.SliceLayout(0, layout))
    return row[:, None] * TILE + column[None, :]


@gluon.jit
def shared_tiles(count: gl.constexpr):
    layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([TILE, TILE], gl.float16)
    return gl.allocate_shared_memory(gl.float16, [count, TILE, TILE], layout)


@gluon.jit
def map_of(pointer, rows):
    layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([TILE, TILE], gl.float16)
    return tma.make_tensor_descriptor(pointer, [rows, TILE], [TILE, 1], [TILE, TILE], layout)


@gluon.jit
def new_barrier(count: gl.constexpr):
    made = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(made, count=count)
    return made


# triton#11047: a chain of products of two warpgroups with two buffers of B. The wait for the product of the other warpgroup
# comes after the barrier, so cp.async overwrites a buffer that this one still reads. The fix of the compiler synchronizes.
@gluon.jit
def chain(a, b, out, STEPS: gl.constexpr, GROUPS: gl.constexpr):
    rows: gl.constexpr = 64 * GROUPS
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4 * GROUPS, 1], [16, 64, 16])
    copy_layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4 * GROUPS, 1], [1, 0])
    left_layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([rows, TILE], gl.float16)
    left = gl.allocate_shared_memory(gl.float16, [rows, TILE], left_layout)
    right = shared_tiles(2)
    at = positions(copy_layout)
    row = gl.arange(0, rows, layout=gl.SliceLayout(1, copy_layout))
    column = gl.arange(0, TILE, layout=gl.SliceLayout(0, copy_layout))
    load_async(left, a + row[:, None] * TILE + column[None, :])
    load_async(right.index(0), b + at)
    async_copy.commit_group()
    acc = gl.zeros([rows, TILE], gl.float32, acc_layout)
    for step in gl.static_range(STEPS):
        async_copy.wait_group(0)
        barrier()
        hopper.fence_async_shared()
        acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
        if step + 1 < STEPS:
            load_async(right.index((step + 1) % 2), b + (step + 1) * TILE * TILE + at)
            async_copy.commit_group()
        acc = hopper.warpgroup_mma(left, right.index(step % 2), acc, is_async=True)
    acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
    row = gl.arange(0, rows, layout=gl.SliceLayout(1, acc_layout))
    column = gl.arange(0, TILE, layout=gl.SliceLayout(0, acc_layout))
    gl.store(out + row[:, None] * TILE + column[None, :], acc)


def warpgroup_wait(timings, groups):
    steps = 4
    a = random.normal(size=(64 * groups, 64)).astype(numpy.float16)
    b = random.normal(size=(steps, 64, 64)).astype(numpy.float16)
    out = numpy.zeros((64 * groups, 64), numpy.float32)
    report = check(chain, 1, dict(a=a, b=b, out=Output(out), STEPS=steps, GROUPS=groups), 90, num_warps=4 * groups, timings=timings)
    return report, bool(numpy.allclose(out, sum(a.astype(float) @ x.astype(float) for x in b), atol=0.1))


# A TMA load; broken: nobody awaits it.
@gluon.jit
def tma_unawaited(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tile, full = shared_tiles(1).index(0), new_barrier(1)
    mbarrier.expect(full, TILE * TILE * 2)
    tma_load(map_of(a, TILE), [0, 0], full, tile)
    if FLAG == 0:
        mbarrier.wait(full, 0)
    value = tile.load(layout)
    if FLAG:
        mbarrier.wait(full, 0)
    gl.store(out + positions(layout), value)


# Two TMA loads with a barrier each; broken: only the first one is awaited.
@gluon.jit
def tma_two_barriers(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tiles, first, second = shared_tiles(2), new_barrier(1), new_barrier(1)
    mbarrier.expect(first, TILE * TILE * 2)
    mbarrier.expect(second, TILE * TILE * 2)
    tma_load(map_of(a, TILE), [0, 0], first, tiles.index(0))
    tma_load(map_of(b, TILE), [0, 0], second, tiles.index(1))
    mbarrier.wait(first, 0)
    if FLAG == 0:
        mbarrier.wait(second, 0)
    value = tiles.index(0).load(layout) + tiles.index(1).load(layout)
    if FLAG:
        mbarrier.wait(second, 0)
    gl.store(out + positions(layout), value)


# A TMA load; broken: its barrier expects 64 bytes too many (FLAG 1) or too few (FLAG 2).
@gluon.jit
def tma_bytes(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tile, full = shared_tiles(1).index(0), new_barrier(1)
    if FLAG == 1:
        mbarrier.expect(full, TILE * TILE * 2 + 64)
    elif FLAG == 2:
        mbarrier.expect(full, TILE * TILE * 2 - 64)
    else:
        mbarrier.expect(full, TILE * TILE * 2)
    tma_load(map_of(a, TILE), [0, 0], full, tile)
    mbarrier.wait(full, 0)
    gl.store(out + positions(layout), tile.load(layout))


# A tile is written by threads and stored by TMA; broken: no proxy fence (1), or the tile is refilled before its store has read
# it (2).
@gluon.jit
def tma_store_tile(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tile = shared_tiles(1).index(0)
    at = positions(layout)
    target = map_of(out, 2 * TILE)
    tile.store(gl.load(a + at))
    if FLAG != 1:
        hopper.fence_async_shared()
    barrier()
    tma_store(target, [0, 0], tile)
    if FLAG != 2:
        tma.store_wait(0)
    tile.store(gl.load(b + at))
    hopper.fence_async_shared()
    barrier()
    tma_store(target, [TILE, 0], tile)
    tma.store_wait(0)


# Two groups of cp.async; broken: the wait allows one more group in flight.
@gluon.jit
def copy_groups(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tiles = shared_tiles(2)
    at = positions(layout)
    load_async(tiles.index(0), a + at)
    async_copy.commit_group()
    load_async(tiles.index(1), b + at)
    async_copy.commit_group()
    async_copy.wait_group(1 if FLAG else 0)
    gl.store(out + at, tiles.index(0).load(layout) + tiles.index(1).load(layout))


# wgmma; broken: threads overwrite B while the product reads it.
@gluon.jit
def wgmma_overwrite(a, b, out, FLAG: gl.constexpr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tiles = shared_tiles(2)
    at = positions(layout)
    left, right = tiles.index(0), tiles.index(1)
    left.store(gl.load(a + at))
    right.store(gl.load(b + at))
    hopper.fence_async_shared()
    barrier()
    acc = hopper.warpgroup_mma(left, right, gl.zeros([TILE, TILE], gl.float32, acc_layout), is_async=True)
    if FLAG == 0:
        acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
        barrier()
    right.store(gl.load(a + at))
    if FLAG:
        acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
    hopper.fence_async_shared()
    barrier()
    acc = hopper.warpgroup_mma(left, right, acc, is_async=True)
    acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
    gl.store(out + positions(acc_layout), acc.to(gl.float16))


# A loop with two buffers that TMA fills and wgmma reads; broken: the buffer is refilled while one product is in flight.
@gluon.jit
def wgmma_ring(a, b, out, FLAG: gl.constexpr):
    acc_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    tiles, full = shared_tiles(4), gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(full.index(0), count=1)
    mbarrier.init(full.index(1), count=1)
    left, right = map_of(a, TILE), map_of(b, TILE)
    acc = gl.zeros([TILE, TILE], gl.float32, acc_layout)
    for slot in gl.static_range(2):
        mbarrier.expect(full.index(slot), TILE * TILE * 4)
        tma_load(left, [0, 0], full.index(slot), tiles.index(slot))
        tma_load(right, [0, 0], full.index(slot), tiles.index(2 + slot))
    for step in gl.static_range(4):
        mbarrier.wait(full.index(step % 2), step // 2)
        acc = hopper.warpgroup_mma(tiles.index(step % 2), tiles.index(2 + step % 2), acc, is_async=True)
        acc = hopper.warpgroup_mma_wait(1 if FLAG else 0, deps=(acc,))
        barrier()
        if step < 2:
            mbarrier.expect(full.index(step % 2), TILE * TILE * 4)
            tma_load(left, [0, 0], full.index(step % 2), tiles.index(step % 2))
            tma_load(right, [0, 0], full.index(step % 2), tiles.index(2 + step % 2))
    acc = hopper.warpgroup_mma_wait(0, deps=(acc,))
    gl.store(out + positions(acc_layout), (acc * 0.25).to(gl.float16))


# tcgen05.mma; broken: the accumulator is read before the commit is awaited (1), threads overwrite an operand before (2), or
# the operands are written without a proxy fence (3).
@gluon.jit
def tcgen05_product(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    tmem_layout: gl.constexpr = blackwell.TensorMemoryLayout([64, 64], col_stride=1)
    tiles, done = shared_tiles(2), new_barrier(1)
    acc = blackwell.allocate_tensor_memory(gl.float32, [TILE, TILE], tmem_layout)
    reg_layout: gl.constexpr = acc.get_reg_layout()
    at = positions(layout)
    tiles.index(0).store(gl.load(a + at))
    tiles.index(1).store(gl.load(b + at))
    if FLAG != 3:
        hopper.fence_async_shared()
    barrier()
    blackwell.tcgen05_mma(tiles.index(0), tiles.index(1), acc, use_acc=False, mbarriers=[done])
    if FLAG != 1 and FLAG != 2:
        mbarrier.wait(done, 0)
    if FLAG == 2:
        tiles.index(1).store(gl.load(a + at))
        mbarrier.wait(done, 0)
    value = acc.load(reg_layout)
    if FLAG == 1:
        mbarrier.wait(done, 0)
    gl.store(out + gl.convert_layout(positions(layout), reg_layout), value.to(gl.float16))


@gluon.jit
def ws_writer(tiles, full, empty, a, layout: gl.constexpr, STEPS: gl.constexpr, FLAG: gl.constexpr):
    i = gl.arange(0, 128, layout=layout)
    for step in range(STEPS):
        if FLAG != 2:
            mbarrier.wait(empty.index(step % 2), (step // 2 + 1) & 1)
        tiles.index(step % 2).store(gl.load(a + step * 128 + i))
        mbarrier.arrive(full.index(step % 2), count=1)


@gluon.jit
def ws_reader(tiles, full, empty, out, layout: gl.constexpr, STEPS: gl.constexpr, FLAG: gl.constexpr):
    i = gl.arange(0, 128, layout=layout)
    for step in range(STEPS):
        if FLAG != 1:
            mbarrier.wait(full.index(step % 2), (step // 2) & 1)
        if FLAG == 3:
            mbarrier.arrive(empty.index(step % 2), count=1)
        value = tiles.index(step % 2).load(layout)
        if FLAG != 3:
            mbarrier.arrive(empty.index(step % 2), count=1)
        gl.store(out + step * 128 + i, value)


# Warp specialization with two slots; broken: the reader does not wait (1), the writer does not wait (2), the reader releases the slot
# before it reads (3).
@gluon.jit
def ws_ring(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    tiles = gl.allocate_shared_memory(gl.float16, [2, 128], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(2):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    gl.warp_specialize([(ws_writer, (tiles, full, empty, a, layout, 8, FLAG)), (ws_reader, (tiles, full, empty, out, layout, 8, FLAG))],
                       [4], [32])


@gluon.jit
def lock_one(mine, other, FLAG: gl.constexpr):
    if FLAG:
        mbarrier.wait(mine, 0)
        mbarrier.arrive(other, count=1)
    else:
        mbarrier.arrive(other, count=1)
        mbarrier.wait(mine, 0)


@gluon.jit
def lock_two(mine, other, FLAG: gl.constexpr):
    mbarrier.wait(mine, 0)
    mbarrier.arrive(other, count=1)


# Two partitions; broken: each waits for the other before it arrives.
@gluon.jit
def ws_deadlock(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    one, two = new_barrier(1), new_barrier(1)
    gl.warp_specialize([(lock_one, (one, two, FLAG)), (lock_two, (two, one, FLAG))], [4], [32])
    gl.store(out + positions(layout), gl.load(a + positions(layout)))


# One barrier; broken: it counts one arrival too many (1) or one too few (2), the wait names a later phase (3), it is
# initialized again while in use (4), used without initialization (5), or used after its end (6).
@gluon.jit
def barrier_life(a, b, out, FLAG: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    one = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    if FLAG == 1:
        mbarrier.init(one, count=3)
    elif FLAG == 2:
        mbarrier.init(one, count=1)
    elif FLAG != 5:
        mbarrier.init(one, count=2)
    mbarrier.arrive(one, count=1)
    if FLAG == 4:
        mbarrier.init(one, count=1)
    mbarrier.arrive(one, count=1)
    if FLAG == 3:
        mbarrier.wait(one, 1)
        mbarrier.wait(one, 0)
        mbarrier.wait(one, 1)
    else:
        mbarrier.wait(one, 0)
    mbarrier.invalidate(one)
    if FLAG == 6:
        mbarrier.arrive(one, count=1)
    gl.store(out + positions(layout), gl.load(a + positions(layout)))


PRODUCTS = ("wgmma_overwrite", "wgmma_ring", "tcgen05_product")


def suite(timings, kernel, flag=0):
    a, b = (random.normal(size=(64, 64)).astype(numpy.float16) for _ in range(2))
    out = numpy.zeros((128, 64) if kernel == "tma_store_tile" else (64, 64), numpy.float16)
    expected = {
        "tma_two_barriers": a + b, "copy_groups": a + b, "wgmma_ring": a.astype(float) @ b.astype(float),
        "tcgen05_product": a.astype(float) @ b.astype(float), "tma_store_tile": numpy.concatenate([a, b]),
        "wgmma_overwrite": a.astype(float) @ (a.astype(float) + b.astype(float)),
    }.get(kernel, a)
    if kernel == "ws_ring":
        out, expected = numpy.zeros(1024, numpy.float16), a.reshape(-1)[:1024]
    report = check(globals()[kernel], 1, dict(a=a, b=b, out=Output(out), FLAG=flag), 100 if kernel.startswith("tcgen05") else 90,
                   num_warps=4, timings=timings)
    return report, bool(numpy.allclose(out.astype(float), expected, atol=0.1, rtol=0.01))
