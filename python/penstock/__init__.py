"""Tile kernels of Penstock from Python.

    import penstock
    kernels = penstock.load("libkernels.so")
    softmax = kernels["Softmax"].compile()        # for this CPU
    softmax(x, y)                                 # numpy, torch, JAX: any DLPack tensor

Kernels are C++ (a shared library, or source text with ``penstock.inline``) or tile programs in
text form (``penstock.parse``). ``penstock.kernels`` has some that models need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._errors import Diagnostic, Error, Note
from ._kernels import CompiledKernel, Kernel, Library, Parameter, load, load_artifact, parse
from ._library import version
from ._reports import Layout, Picture, cache_statistics

if TYPE_CHECKING:
    from . import gpu, jax, kernels, torch
    from ._inline import inline

__version__ = "0.1.0"
__all__ = [
    "CompiledKernel", "Diagnostic", "Error", "Kernel", "Layout", "Library", "Note", "Parameter", "Picture",
    "cache_statistics", "gpu", "inline", "jax", "kernels", "load", "load_artifact", "parse", "torch",
    "version",
]


def __getattr__(name: str) -> Any:
    # Imported when they are used: torch and JAX take seconds.
    if name in ("gpu", "jax", "kernels", "torch"):
        return importlib.import_module("." + name, __name__)
    if name == "inline":
        from ._inline import inline

        globals()["inline"] = inline
        return inline
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
