"""Kernels that models need, for numpy arrays and torch tensors.

    y = penstock.kernels.rms_norm(x, weight, 1e-6)

With torch tensors each is the operator torch.ops.penstock.<name>, which torch.compile
understands. Sources are tile programs of examples/gallery; ``library`` has all of them.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ._kernels import CompiledKernel, Kernel, load
from ._library import PACKAGE
from ._results import Plan, answer

NUMPY_TYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "f8e4m3": "uint8", "f8e5m2": "uint8",
               "f8e8m0": "uint8", "f4e2m1x2": "uint8", "i4x2": "uint8", "f6e2m3_packed": "uint8", "f6e3m2_packed": "uint8",
               "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}

library = load(os.environ.get("PENSTOCK_GALLERY") or os.path.join(PACKAGE, "lib", "libpenstock_gallery.so"))


class Function:
    """A kernel of the gallery. Results are allocated."""

    def __init__(self, name: str, kernel: Kernel):
        self.name, self.kernel = name, kernel
        self.__doc__ = f"{kernel.name}: {kernel.signature}"
        self.target = "native"  #: for numpy arrays; "sm_90a:emulated" runs them on the emulator
        self._compiled: dict[str, tuple[CompiledKernel, Plan]] = {}
        self._operator: Any = None

    @property
    def operator(self) -> Any:
        """The operator of torch."""
        if self._operator is None:
            from . import torch

            self._operator = torch.register(f"penstock::{self.name}", self.kernel)
        return self._operator

    def __call__(self, *arguments: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and any(isinstance(a, torch.Tensor) for a in arguments):
            return self.operator.op(*arguments)
        if self.target not in self._compiled:
            compiled = self.kernel.compile(self.target)
            self._compiled[self.target] = compiled, Plan(compiled)
        compiled, plan = self._compiled[self.target]
        plan.check(arguments)
        made = [np.empty(shape, NUMPY_TYPES[p.element]) for p, shape in zip(plan.results, plan.shapes(arguments))]
        compiled(*plan.ordered(arguments, made))
        return answer(made)


rms_norm = Function("rms_norm", library["RmsNorm"])
swiglu = Function("swiglu", library["SwiGlu"])
rotary = Function("rotary", library["Rotary"])
attention_forward = Function("attention_forward", library["AttentionForward"])
attention_decode = Function("attention_decode", library["AttentionDecode"])
moe_matmul = Function("moe_matmul", library["MoeMatmul"])
fp8_linear = Function("fp8_linear", library["Fp8Linear"])
int4_linear = Function("int4_linear", library["Int4Linear"])
top_k = Function("top_k", library["TopK"])
cross_entropy = Function("cross_entropy", library["CrossEntropy"])
ALL = (rms_norm, swiglu, rotary, attention_forward, attention_decode, moe_matmul, fp8_linear, int4_linear, top_k,
       cross_entropy)


def register_all() -> None:
    """Registers all operators with torch, which the first call of each does otherwise."""
    for function in ALL:
        function.operator
