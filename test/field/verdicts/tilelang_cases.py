# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TileLang kernels in which versions of its compiler lose or misplace synchronization; and correct ones."""

import numpy
import tilelang.language as T

from penstock_emu import Output
from penstock_emu.tilelang import check, check_ptx, launch_of

random = numpy.random.default_rng(11)


def numbers(*shape):
    return random.integers(1, 60, shape).astype(numpy.float32)


# tilelang#2556: the first `active` of 64 threads pass values through shared memory. A count that is no multiple of 32 loses the
# barriers.
def part_of_threads(timings, active):
    rounds = 3

    @T.prim_func
    def kernel(source: T.Tensor((64,), "float32"), result: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            shared = T.alloc_shared((64,), "float32")
            thread = T.get_thread_binding(0)
            total = T.alloc_local((1,), "float32")
            total[0] = T.float32(0)
            if thread < active:
                for r in T.serial(rounds):
                    shared[thread] = source[thread] * T.float32(r + 1)
                    total[0] = total[0] + shared[(thread + 16) % active]
            result[thread] = total[0]

    source, result = numbers(64), numpy.zeros(64, numpy.float32)
    report = check(kernel, dict(source=source, result=Output(result)), timings=timings)
    expected = numpy.zeros(64)
    expected[:active] = numpy.roll(source[:active], -16) * sum(range(1, rounds + 1))
    return report, bool(numpy.allclose(result, expected))


# tilelang#2612: an exchange inside of an `if` that only some lanes of each warp take. The compiler moves the barrier out of the
# `if`, once for the whole loop. `rule` selects these lanes: every fourth one, a mask from memory, or whole warps.
def divergent(timings, rule):
    threads, rounds = 128, 3
    lanes = numpy.arange(threads)
    selected = lanes < 64 if rule == "warps" else lanes % 4 == 0
    if rule == "fourth":
        def taken(thread, mask):
            return thread % 4 == 0
    elif rule == "mask":
        def taken(thread, mask):
            return mask[thread] > 0
    else:
        def taken(thread, mask):
            return thread < 64

    @T.prim_func
    def kernel(source: T.Tensor((threads,), "float32"), mask: T.Tensor((threads,), "int32"), result: T.Tensor((threads,), "float32")):
        with T.Kernel(1, threads=threads):
            shared = T.alloc_shared((threads,), "float32")
            thread = T.get_thread_binding(0)
            total = T.alloc_local((1,), "float32")
            total[0] = T.cast(mask[thread], "float32")
            if taken(thread, mask):
                for r in T.serial(rounds):
                    shared[thread] = source[thread] + T.float32(r)
                    total[0] = total[0] + shared[(thread + 32) % (64 if rule == "warps" else threads)]
            result[thread] = total[0]

    mask = selected.astype(numpy.int32)
    source, result = numbers(threads), numpy.zeros(threads, numpy.float32)
    report = check(kernel, dict(source=source, mask=mask, result=Output(result)), timings=timings)
    partner = source[(lanes + 32) % (64 if rule == "warps" else threads)]
    return report, bool(numpy.allclose(result, numpy.where(selected, mask + rounds * partner + sum(range(rounds)), 0)))


# tilelang#2613: two warpgroups multiply one shared tile of A with tiles of B of their own. Nothing keeps one warpgroup from copying
# the next A while the other still multiplies. With 64 as K there is only one iteration.
def shared_operand(timings, depth, stages):
    rows, columns, step = 64, 128, 64

    @T.prim_func
    def kernel(left: T.Tensor((rows, depth), "float16"), right: T.Tensor((depth, columns), "float16"),
               result: T.Tensor((rows, columns), "float32")):
        with T.Kernel(1, threads=256):
            common = T.alloc_shared((rows, step), "float16")
            first = T.alloc_shared((step, columns // 2), "float16")
            second = T.alloc_shared((step, columns // 2), "float16")
            upper = T.alloc_fragment((rows, columns // 2), "float32")
            lower = T.alloc_fragment((rows, columns // 2), "float32")
            with T.ws(0):
                T.clear(upper)
            with T.ws(1):
                T.clear(lower)
            for k in T.Pipelined(depth // step, num_stages=stages):
                T.copy(left[0, k * step], common)
                with T.ws(0):
                    T.copy(right[k * step, 0], first)
                    T.gemm(common, first, upper)
                with T.ws(1):
                    T.copy(right[k * step, columns // 2], second)
                    T.gemm(common, second, lower)
            with T.ws(0):
                T.copy(upper, result[0, 0])
            with T.ws(1):
                T.copy(lower, result[0, columns // 2])

    left, right = (random.normal(size=shape).astype(numpy.float16) for shape in ((rows, depth), (depth, columns)))
    result = numpy.zeros((rows, columns), numpy.float32)
    report = check(kernel, dict(left=left, right=right, result=Output(result)), timings=timings)
    return report, bool(numpy.allclose(result, left.astype(float) @ right.astype(float), atol=0.1))


# tilelang#2566: a pipelined loop over contiguous tiles. With one iteration the copy becomes a bulk copy whose barrier gets the bytes,
# but no arrival.
def few_iterations(timings, count, serial=False):
    rows, columns = 32, 64

    def loop(extent):
        return T.serial(extent) if serial else T.Pipelined(extent, num_stages=2)

    @T.prim_func
    def kernel(source: T.Tensor((count, rows, columns), "float16"), result: T.Tensor((rows, columns), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((rows, columns), "float16")
            total = T.alloc_fragment((rows, columns), "float32")
            T.clear(total)
            for k in loop(count):
                T.copy(source[k, 0, 0], tile)
                for i, j in T.Parallel(rows, columns):
                    total[i, j] = total[i, j] + T.cast(tile[i, j], "float32") * 2
            T.copy(total, result)

    source, result = numbers(count, rows, columns).astype(numpy.float16), numpy.zeros((rows, columns), numpy.float32)
    report = check(kernel, dict(source=source, result=Output(result)), timings=timings)
    return report, bool(numpy.allclose(result, 2 * source.astype(float).sum(0)))


# tilelang#2699, #2703: T.clear becomes st.bulk on Blackwell, which the compiler does not count as a write: the barrier before the next
# access is missing.
def cleared(timings, arch):
    rows, columns = 3, 128

    @T.prim_func
    def kernel(source: T.Tensor((columns,), "float32"), result: T.Tensor((rows, columns), "float32")):
        with T.Kernel(1, threads=128):
            table = T.alloc_shared((rows, columns), "float32")
            T.clear(table)
            for j in T.Parallel(columns):
                table[2, j] = source[j] + 1
            for i, j in T.Parallel(rows, columns):
                result[i, j] = table[i, (j + 64) % columns]

    source, result = numbers(columns), numpy.zeros((rows, columns), numpy.float32)
    report = check(kernel, dict(source=source, result=Output(result)), arch=arch, timings=timings)
    expected = numpy.zeros((rows, columns))
    expected[2] = numpy.roll(source + 1, -64)
    return report, bool((result == expected).all())


# tilelang#2698: a copy fills a tile, then T.fill overwrites a part of it. At an offset, other threads execute the fill, and the barrier
# between is missing.
def fill_after_copy(timings, offset):
    size, part = 128, 64

    @T.prim_func
    def kernel(source: T.Tensor((size,), "float32"), result: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((size,), "float32")
            T.copy(source, tile)
            T.fill(tile[offset:offset + part], T.float32(-3))
            T.copy(tile, result)

    source, result = numbers(size), numpy.zeros(size, numpy.float32)
    report = check(kernel, dict(source=source, result=Output(result)), timings=timings)
    expected = source.copy()
    expected[offset:offset + part] = -3
    return report, bool((result == expected).all())


# tilelang#2668: each iteration of a pipelined loop reads the tile of the iteration before, then copies the next one into it. The
# pipeline moves the copy before the read.
def read_before_copy(timings, stages, arch="sm_89"):
    count, size = 5, 128

    @T.prim_func
    def kernel(source: T.Tensor((count, size), "float32"), result: T.Tensor((count, size), "float32")):
        with T.Kernel(1, threads=128):
            previous = T.alloc_shared((size,), "float32")
            T.fill(previous, T.float32(1))
            for k in T.Pipelined(count, num_stages=stages):
                for j in T.Parallel(size):
                    result[k, j] = previous[j] * 2
                T.copy(source[k, 0], previous)

    source, result = numbers(count, size), numpy.zeros((count, size), numpy.float32)
    report = check(kernel, dict(source=source, result=Output(result)), arch=arch, timings=timings)
    return report, bool((result == 2 * numpy.concatenate([numpy.ones((1, size)), source[:-1]])).all())


# tilelang#2927: cluster copies in a loop. The wait's parity comes from the loop counter, also if each iteration has a barrier of its own.
def cluster_copies(timings, barriers):
    count, size = 4, 64

    @T.prim_func
    def kernel(source: T.Tensor((count, size, size), "float16"), result: T.Tensor((2, count, size, size), "float16")):
        with T.ClusterKernel(2, threads=128, cluster_dims=(2, 1, 1)) as block:
            tiles = T.alloc_shared((count, size, size), "float16")
            arrived = T.alloc_barrier([1] * barriers)
            T.cluster_sync()
            for k in range(count):
                T.copy_cluster(source[k, 0, 0], tiles[k, :, :], cluster_mask=3, remote_barrier=arrived[k % barriers])
                for i, j in T.Parallel(size, size):
                    result[block, k, i, j] = tiles[k, i, j]

    source, result = numbers(count, size, size).astype(numpy.float16), numpy.zeros((2, count, size, size), numpy.float16)
    launch = launch_of(kernel, dict(source=source, result=Output(result)), "sm_90a")
    launch.setdefault("cluster", None)
    launch["cluster"] = launch["cluster"] or (2, 1, 1)
    report = check_ptx(**launch, timings=timings)
    return report, bool((result == source[None]).all())


# tilelang#1822: some threads write a shared table, and all read it. The report has a mask of blocks.
def block_mask(timings, manual):
    blocks = 8

    @T.prim_func
    def kernel(chosen: T.Tensor((blocks,), "int32"), result: T.Tensor((blocks, blocks), "int32")):
        with T.Kernel(1, threads=128):
            mask = T.alloc_shared((blocks,), "int32")
            thread = T.get_thread_binding(0)
            for j in T.Parallel(blocks):
                mask[j] = 0
            if thread < 3:
                mask[chosen[thread]] = 1
            if manual:
                T.sync_threads()
            for i, j in T.Parallel(blocks, blocks):
                result[i, j] = mask[j]

    chosen, result = numpy.array([5, 2, 7, 0, 0, 0, 0, 0], numpy.int32), numpy.zeros((blocks, blocks), numpy.int32)
    report = check(kernel, dict(chosen=chosen, result=Output(result)), timings=timings)
    expected = numpy.zeros((blocks, blocks))
    expected[:, [5, 2, 7]] = 1
    return report, bool((result == expected).all())


def gemm(timings, arch="sm_90a", stages=2):
    rows, columns, depth, step = 128, 128, 192, 64

    @T.prim_func
    def kernel(a: T.Tensor((rows, depth), "float16"), b: T.Tensor((depth, columns), "float16"), c: T.Tensor((rows, columns), "float16")):
        with T.Kernel(1, threads=128):
            left = T.alloc_shared((rows, step), "float16")
            right = T.alloc_shared((step, columns), "float16")
            acc = T.alloc_fragment((rows, columns), "float32")
            T.clear(acc)
            for k in T.Pipelined(depth // step, num_stages=stages):
                T.copy(a[0, k * step], left)
                T.copy(b[k * step, 0], right)
                T.gemm(left, right, acc)
            T.copy(acc, c)

    a, b = (random.normal(size=shape).astype(numpy.float16) for shape in ((rows, depth), (depth, columns)))
    c = numpy.zeros((rows, columns), numpy.float16)
    report = check(kernel, dict(a=a, b=b, c=Output(c)), arch=arch, timings=timings)
    return report, bool(numpy.allclose(c, a.astype(float) @ b.astype(float), atol=0.2))


def attention(timings, arch="sm_90a"):
    length, depth, block = 128, 64, 64
    scale = 1.44269504 / 8

    @T.prim_func
    def kernel(q: T.Tensor((length, depth), "float16"), k: T.Tensor((length, depth), "float16"), v: T.Tensor((length, depth), "float16"),
               o: T.Tensor((length, depth), "float16")):
        with T.Kernel(length // block, threads=128) as at:
            queries = T.alloc_shared((block, depth), "float16")
            keys = T.alloc_shared((block, depth), "float16")
            values = T.alloc_shared((block, depth), "float16")
            scores = T.alloc_fragment((block, block), "float32")
            weights = T.alloc_fragment((block, block), "float16")
            acc = T.alloc_fragment((block, depth), "float32")
            top = T.alloc_fragment((block,), "float32")
            before = T.alloc_fragment((block,), "float32")
            factor = T.alloc_fragment((block,), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(q[at * block, 0], queries)
            T.clear(acc)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for n in T.Pipelined(length // block, num_stages=2):
                T.copy(k[n * block, 0], keys)
                T.clear(scores)
                T.gemm(queries, keys, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(block):
                    factor[i] = T.exp2((before[i] - top[i]) * scale)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp2((scores[i, j] - top[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block, depth):
                    acc[i, j] = acc[i, j] * factor[i]
                T.copy(v[n * block, 0], values)
                T.gemm(weights, values, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, depth):
                acc[i, j] = acc[i, j] / total[i]
            T.copy(acc, o[at * block, 0])

    q, k, v = (random.normal(size=(length, depth)).astype(numpy.float16) for _ in range(3))
    o = numpy.zeros((length, depth), numpy.float16)
    report = check(kernel, dict(q=q, k=k, v=v, o=Output(o)), arch=arch, timings=timings)
    scores = q.astype(float) @ k.astype(float).T / 8
    weights = numpy.exp(scores - scores.max(1, keepdims=True))
    return report, bool(numpy.allclose(o, weights / weights.sum(1, keepdims=True) @ v.astype(float), atol=0.02))
