# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks Gluon kernels: compiles them for Hopper or Blackwell and runs the PTX on the emulator.

    from penstock_emu.gluon import check
    check(kernel, grid=1, args=dict(x=x, out=Output(out)), num_warps=4).raise_on("undefined")

Kernels are functions of gluon.jit; all else is as for those of Triton. The layout of a Descriptor is NVMMASharedLayout.
"""

from .triton import Descriptor, check, compile_kernel, launch_of, mutate

__all__ = ["Descriptor", "check", "compile_kernel", "launch_of", "mutate"]
