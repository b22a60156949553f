# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CuTe DSL: the matrix product for Hopper of CUTLASS's examples, and a kernel of ours."""

import importlib.util
import os
import pathlib

import numpy

os.environ["CUTE_DSL_ARCH"] = "sm_90a"

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream

import common
from penstock_emu import Output, TensorMap
from penstock_emu.cute import check, mutate

check = common.runner(check, mutate)

KEEP = f"--keep-ptx --dump-dir={os.environ['FIELD_WORK']}"
EXAMPLE = "cutlass/examples/python/CuTeDSL/cute/hopper/kernel/dense_gemm/dense_gemm.py"


def dense_gemm(M=512, N=512, K=512):
    spec = importlib.util.spec_from_file_location("example", pathlib.Path(os.environ["FIELD_SOURCES"]) / EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    def fake(rows, columns):
        return make_fake_compact_tensor(cutlass.Float16, (rows, columns, 1), stride_order=(1, 0, 2), assumed_align=16)

    compiled = cute.compile(example.HopperWgmmaGemmKernel(cutlass.Float32, (128, 256), (2, 1)), fake(M, K), fake(N, K),
                            fake(M, N), make_fake_stream(), options=KEEP)

    def run(timing):
        a, b, c = common.values(M, K), common.values(N, K), numpy.zeros((M, N), numpy.float16)
        # Boxes of the kernel: 64 columns of A and B for each step, 32 columns of C for each store.
        maps = [TensorMap(a, (128, 64), 128), TensorMap(b, (128, 64), 128), TensorMap(c, (128, 32), 64)]
        report = check(compiled, (M // 128, N // 256), 256, maps + [b"\0"], 230000, (2, 1, 1), timings=timing)
        return report, common.matches(c, a.astype(float) @ b.astype(float).T)

    return run


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    tile[thread] = x[block * 128 + thread]
    cute.arch.sync_threads()
    y[block * 128 + thread] = tile[127 - thread]


@cute.jit
def reverse(x: cute.Tensor, y: cute.Tensor):
    reverse_kernel(x, y).launch(grid=(4, 1, 1), block=(128, 1, 1))


def compiled_reverse():
    fake = [make_fake_compact_tensor(cutlass.Float32, (512,), assumed_align=16) for _ in range(2)]
    return cute.compile(reverse, *fake, options=KEEP)


def reversed_blocks():
    compiled = compiled_reverse()

    def run(timing):
        x, y = common.values(512, dtype=numpy.float32), numpy.zeros(512, numpy.float32)
        report = check(compiled, 4, 128, [x, Output(y)], 1024, timings=timing)
        return report, bool((y == x.reshape(4, 128)[:, ::-1].reshape(512)).all())

    return run


if __name__ == "__main__":
    common.main(lambda name: {"dense_gemm": dense_gemm, "reverse": reversed_blocks}[name]())
