# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton: kernels as users write them, for Hopper and Blackwell. `two_uses` and `carried` are miscompiled by 3.9.0."""

import numpy
import triton
import triton.language as tl

import common
from penstock_emu import Output
from penstock_emu.triton import Descriptor, check, mutate

check = common.runner(check, mutate)


@triton.jit
def matmul_pointers(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=3):
        x = tl.load(a + row[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + (k + depth)[:, None] * N + column[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + row[:, None] * N + column[None, :], acc.to(tl.float16))


@triton.jit
def matmul_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=3):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
    c.store([row, column], acc.to(tl.float16))


@triton.jit
def matmul_persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr):
    of_a = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    of_b = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    of_c = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    rows = tl.cdiv(M, BM)
    for tile in tl.range(tl.program_id(0), rows * tl.cdiv(N, BN), BLOCKS, flatten=True):
        row = tile % rows * BM
        column = tile // rows * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(of_a.load([row, k]), of_b.load([column, k]).T, acc)
        of_c.store([row, column], acc.to(tl.float16))


@triton.jit
def matmul_specialized(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=3, warp_specialize=True):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
    c.store([row, column], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, LENGTH, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * BM
    queries = q.load([row, 0])
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in tl.range(0, LENGTH, BN, num_stages=3):
        scores = tl.dot(queries, k.load([n, 0]).T) * scale
        now = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        before = tl.exp2(top - now)
        total = total * before + tl.sum(weights, 1)
        acc = tl.dot(weights.to(tl.float16), v.load([n, 0]), acc * before[:, None])
        top = now
    o.store([row, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    e = tl.load(x + row * N + i, mask=i < N, other=-float("inf"))
    e = tl.exp(e - tl.max(e, 0))
    tl.store(y + row * N + i, e / tl.sum(e, 0), mask=i < N)


@triton.jit
def two_uses(a, b, c, s, K, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.zeros((B, B), tl.float32)
    sums = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, num_stages=3):
        x = tl.load(a + k * B * B + at)
        y = tl.load(b + k * B * B + at)
        acc = tl.dot(x, y, acc)
        sums += x.to(tl.float32)
    tl.store(c + at, acc)
    tl.store(s + at, sums)


@triton.jit
def carried(a, b, c, K, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, num_stages=3):
        x = tl.load(a + k * B * B + at)
        y = tl.load(b + k * B * B + at)
        acc = tl.dot(x, y, acc)
        tl.store(a + (k + 1) * B * B + at, (x * 2.0).to(tl.float16))
    tl.store(c + at, acc)


def cases(name):
    kernel, target = name.split(" sm_")
    target = int(target)

    def product(timing, N=256, K=512):
        M = 512 if kernel == "matmul_persistent" else 256  # four tiles for each block
        a, c = common.values(M, K), numpy.zeros((M, N), numpy.float16)
        blocks = dict(BM=128, BN=128, BK=64)
        if kernel == "matmul_persistent":
            b = common.values(N, K)
            expected = a.astype(float) @ b.astype(float).T
            report = check(matmul_persistent, 2, dict(a=a, b=b, c=Output(c), M=M, N=N, K=K, BLOCKS=2, **blocks), target,
                           timings=timing)
        else:
            b = common.values(K, N)
            expected = a.astype(float) @ b.astype(float)
            if kernel == "matmul_pointers":
                report = check(matmul_pointers, (2, 2), dict(a=a, b=b, c=Output(c), N=N, K=K, **blocks), target,
                               num_warps=8, timings=timing)
            else:
                function = matmul_specialized if kernel == "matmul_specialized" else matmul_descriptors
                report = check(function, (2, 2),
                               dict(a=Descriptor(a, [128, 64]), b=Descriptor(b, [64, 128]), c=Descriptor(c, [128, 128]),
                                    K=K, **blocks), target, timings=timing)
        return report, common.matches(c, expected)

    def run_attention(timing, length=384, D=128):
        q, k, v = (common.values(length, D) for _ in range(3))
        o = numpy.zeros((length, D), numpy.float16)
        scale = float(1.44269504 / numpy.sqrt(D))
        report = check(attention, length // 128,
                       dict(q=Descriptor(q, [128, D]), k=Descriptor(k, [64, D]), v=Descriptor(v, [64, D]),
                            o=Descriptor(o, [128, D]), LENGTH=length, scale=scale, BM=128, BN=64, D=D), target,
                       num_warps=8, timings=timing)
        return report, common.matches(o, common.attention_of(q, k, v))

    def run_softmax(timing):
        x = common.values(8, 1000, dtype=numpy.float32)
        y = numpy.zeros_like(x)
        report = check(softmax, 8, dict(x=x, y=Output(y), N=1000, BLOCK=1024), target, timings=timing)
        e = numpy.exp(x.astype(float) - x.max(1, keepdims=True))
        return report, common.matches(y, e / e.sum(1, keepdims=True), 1e-5)

    def run_two_uses(timing, K=8, B=64):
        a, b = common.values(K, B, B), common.values(K, B, B)
        c, s = numpy.zeros((B, B), numpy.float32), numpy.zeros((B, B), numpy.float32)
        report = check(two_uses, 1, dict(a=a, b=b, c=Output(c), s=Output(s), K=K, B=B), target, timings=timing)
        expected = sum(x.astype(float) @ y.astype(float) for x, y in zip(a, b))
        return report, common.matches(c, expected) and common.matches(s, a.astype(float).sum(0))

    def run_carried(timing, K=8, B=64):
        a, b = common.values(K + 1, B, B), common.values(K, B, B)
        c = numpy.zeros((B, B), numpy.float32)
        expected = sum(2.0**k * a[0].astype(float) @ b[k].astype(float) for k in range(K))
        report = check(carried, 1, dict(a=a, b=b, c=Output(c), K=K, B=B), target, timings=timing)
        return report, common.matches(c, expected)

    return {"attention": run_attention, "softmax": run_softmax, "two_uses": run_two_uses,
            "carried": run_carried}.get(kernel, product)


if __name__ == "__main__":
    common.main(cases)
