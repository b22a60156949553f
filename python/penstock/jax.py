"""Kernels in JAX programs, also under jit, vmap and shard_map.

    softmax = penstock.jax.wrap(kernels["Softmax"].compile())
    y = jax.jit(softmax)(x)

Kernels are targets of jax.ffi: XLA calls libpenstock.so with its own buffers, without Python and
without copies. JAX arrays are immutable, so that XLA allocates the results.
"""

from __future__ import annotations

import ctypes
import hashlib
from typing import Any, Callable

import jax
import numpy as np

from ._errors import refuse
from ._kernels import CompiledKernel
from ._library import lib, version
from ._results import Plan, answer

_TARGETS = {"cpu": ("penstock_launch", lib.__getattr__("__xla_ffi_penstock_launch")),
            "CUDA": ("penstock_launch", lib.__getattr__("__xla_ffi_penstock_launch_gpu"))}
_bind = lib.__getattr__("__xla_ffi_penstock_bind")
_bind.restype, _bind.argtypes = None, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64]

_DTYPES = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f16": "float16", "bf16": "bfloat16", "f32": "float32",
           "f64": "float64", "f8e8m0": "float8_e8m0fnu", "f4e2m1x2": "uint8", "i4x2": "uint8", "f6e2m3_packed": "uint8",
           "f6e3m2_packed": "uint8", "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}

_bound: dict[str, CompiledKernel] = {}  # XLA programs refer to kernels until the process ends


def _register_targets() -> None:
    for platform, (name, function) in _TARGETS.items():
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform=platform)


_register_targets()


def _key(kernel: CompiledKernel, plan: Plan) -> str:
    """A name that another process with an equal kernel has too."""
    results = ",".join(p.name for p in plan.results)
    text = "\0".join((version(), kernel.target, kernel.options, results, kernel.tile_program))
    return f"{kernel.name}:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def wrap(kernel: CompiledKernel) -> Callable[..., Any]:
    """A function of what the kernel reads, in the order of its parameters, and of the sizes that only
    its results have. It returns what the kernel writes."""
    plan = Plan(kernel)
    for p in plan.inputs:
        if p.written:
            raise refuse("PS1768", f"`{kernel.name}` changes `{p.name}` in place; JAX arrays are immutable")
    key = _key(kernel, plan)
    if key not in _bound:
        mask = sum(1 << i for i, p in enumerate(plan.parameters) if p in plan.results)
        _bind(key.encode(), kernel._handle, mask)
        _bound[key] = kernel

    def call(*values: Any) -> Any:
        plan.check(values)
        given = dict(zip(plan.names, values))
        attributes: dict[str, Any] = {"kernel": key}
        arrays = []
        for i, p in enumerate(plan.parameters):
            if p in plan.results:
                continue
            value = given[p.name]
            if p.tensor:
                arrays.append(jax.numpy.asarray(value))
            elif isinstance(value, (bool, int, float, np.generic)):
                # Fractions of integers are left to the launch, which refuses them.
                real = p.element[0] in "fb" or isinstance(value, (float, np.floating))
                attributes[f"p{i}"] = np.float64(float(value)) if real else np.int64(int(value))
            else:  # computed by the program; on a GPU it is refused, because the host would have to wait for it
                arrays.append(jax.numpy.asarray(value, "float32" if p.element[0] in "fb" else "int32"))
            given[p.name] = arrays[-1] if f"p{i}" not in attributes else value
        shapes = tuple(jax.ShapeDtypeStruct(tuple(shape), _DTYPES[p.element])
                       for p, shape in zip(plan.results, plan.shapes(list(given.values()))))
        return answer(jax.ffi.ffi_call("penstock_launch", shapes, vmap_method="sequential")(*arrays, **attributes))

    return call
