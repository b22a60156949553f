# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks kernels of CuTe DSL: runs the PTX of a compiled function on the emulator.

    from penstock_emu.cute import check
    compiled = cute.compile(gemm, fake_a, fake_b, fake_c, fake_stream, options="--keep-ptx")
    check(compiled, grid=(4, 2), block=256, args=[TensorMap(a, (128, 64), 128), ...], shared=230000).raise_on("undefined")

CUTE_DSL_ARCH names the target, sm_90a or sm_100a. A GPU is not needed. The host code of CuTe DSL needs a real driver; so
the launch and the parameters of the kernel are named here, as they are in the PTX: tensors of constant layout are
arrays, and tensor maps are TensorMap.
"""

from ._library import EmulatorError
from .device import check as check_ptx
from .device import mutate as mutate_ptx


def ptx_of(compiled):
    """PTX of what cute.compile returned."""
    ptx = getattr(compiled, "__ptx__", None)
    if not ptx:
        raise EmulatorError('the function has no PTX: compile it with options="--keep-ptx"')
    return ptx.decode() if isinstance(ptx, bytes) else ptx


def check(compiled, grid, block, args, shared=0, cluster=None, kernel=None, timings=4, threads=0, max_instructions=0):
    """Runs a kernel in several timings and returns the findings. Arrays have the results afterwards."""
    return check_ptx(ptx_of(compiled).rstrip("\0"), kernel, grid, block, args, shared, cluster, timings, threads,
                     name="cute.ptx", max_instructions=max_instructions)


def mutate(compiled, grid, block, args, shared=0, cluster=None, kernel=None, timings=4):
    """Runs the mutants of a kernel; arguments are those of `check`."""
    return mutate_ptx(ptx_of(compiled).rstrip("\0"), kernel, grid, block, args, shared, cluster, timings, name="cute.ptx")
