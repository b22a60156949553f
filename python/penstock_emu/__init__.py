# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and checks PTX kernels without a GPU.

    import numpy, penstock_emu
    x = numpy.arange(1024, dtype=numpy.float32)
    report = penstock_emu.check(open("kernel.ptx").read(), "scale", grid=8, block=128, args=[x, 2.0])
    report.raise_on("undefined")

`penstock_emu.triton`, `penstock_emu.gluon`, `penstock_emu.tilelang` and `penstock_emu.cute` check kernels of these
languages. For others, pass the PTX that their compilers write. `pytest --kernel-sanitizer` checks the launches of
existing tests.
"""

import importlib

MODULES = {
    "_library": ["EmulatorError"],
    "device": ["Buffer", "Device", "Module", "Output", "TensorMap", "check", "check_overlapping", "mutate",
               "timing_list"],
    "report": ["Finding", "FindingsError", "MutantReport", "Note", "Report", "TIERS"],
}
__all__ = sorted([name for names in MODULES.values() for name in names] + ["version"])


def __getattr__(name):
    """Loads the library on first use: pytest imports this package in every session, for its plugin."""
    for module, names in MODULES.items():
        if name in names:
            return getattr(importlib.import_module("." + module, __name__), name)
    if name in ("version", "__version__"):
        version = importlib.import_module("._library", __name__).version
        return version() if name == "__version__" else version
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return [*globals(), *__all__, "__version__"]
