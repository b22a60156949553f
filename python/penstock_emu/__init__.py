# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and checks PTX kernels without a GPU.

    import numpy, penstock_emu
    x = numpy.arange(1024, dtype=numpy.float32)
    report = penstock_emu.check(open("kernel.ptx").read(), "scale", grid=8, block=128, args=[x, 2.0])
    report.raise_on("undefined")

`penstock_emu.triton`, `penstock_emu.tilelang` and `penstock_emu.cute` check kernels of these languages. For others,
pass the PTX that their compilers write.
"""

from ._library import EmulatorError, version
from .device import Buffer, Device, Module, Output, TensorMap, check, mutate, timing_list
from .report import TIERS, Finding, FindingsError, MutantReport, Note, Report

__version__ = version()
__all__ = ["Buffer", "Device", "EmulatorError", "Finding", "FindingsError", "Module", "MutantReport", "Note", "Output",
           "Report", "TIERS", "TensorMap", "check", "mutate", "timing_list", "version"]
