# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of CuTe DSL functions under pytest --kernel-sanitizer.

Compiled functions of CuTe DSL are host code that calls the driver: neither the kernel's launch nor its parameters pass
through Python. Calls are therefore rejected with a reason, so that their tests are skipped and not lost in a crash
of a driver that does not exist. Compilation works.
"""

import importlib

from ._launches import Unsupported

REASON = ("CuTe DSL launches from compiled host code, which the sanitizer cannot intercept; check the kernel with "
          "penstock_emu.cute.check")

# Modules and classes whose calls run compiled host code; the names differ between versions of CuTe DSL.
CALLED = (
    ("cutlass.base_dsl.jit_executor", ("JitExecutor", "JitCompiledFunction", "JitFunctionExecutor")),
    ("cutlass.cutlass_dsl.cuda_jit_executor", ("CudaDialectJitCompiledFunction",)),
    ("cutlass.cutlass_dsl.tvm_ffi_provider", ("TVMFFIJitCompiledFunction", "TVMFFIJitCompiledFunctionWithKwargs")),
)


def rejected(self, *arguments, **options):
    raise Unsupported(REASON)


def install():
    """Replaces the calls of compiled functions; returns the classes that were found."""
    found = []
    for module, names in CALLED:
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            continue
        for name in names:
            kind = getattr(loaded, name, None)
            if kind is not None:
                for method in ("__call__", "run_compiled_program"):
                    if hasattr(kind, method):
                        setattr(kind, method, rejected)
                found.append(kind)
    return found
