"""Kernels in JAX programs, also under jit.

    softmax = penstock.jax.wrap(kernels["Softmax"].compile())
    y = jax.jit(softmax)(x)

JAX arrays are immutable, so that results are allocated here. Kernels run on the host through
jax.pure_callback, which copies; XLA's own calls of C functions are not used yet.
"""

from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from ._errors import refuse
from ._kernels import CompiledKernel
from ._results import Plan, answer
from .kernels import NUMPY_TYPES


def wrap(kernel: CompiledKernel) -> Callable:
    """A function of what the kernel reads, in the order of its parameters, and of the sizes that only
    its results have. It returns what the kernel writes."""
    plan = Plan(kernel)
    for p in plan.inputs:
        if p.written:
            raise refuse("PS1768", f"`{kernel.name}` changes `{p.name}` in place; JAX arrays are immutable")

    def call(*values: Any):
        given = plan.named([jax.numpy.asarray(v) if i < len(plan.inputs) else v for i, v in enumerate(values)])
        shapes = tuple(jax.ShapeDtypeStruct(tuple(plan.shape(p, given)), NUMPY_TYPES[p.element]) for p in plan.results)

        def run(*arrays: Any):
            known = {**given}
            for p, a in zip(plan.inputs, arrays):
                known[p.name] = np.array(a) if p.tensor else a.item()  # a copy: JAX's memory is read-only
            made = [np.empty(s.shape, s.dtype) for s in shapes]
            kernel(*plan.arguments(known, made))
            return tuple(made)

        return answer(jax.pure_callback(run, shapes, *(given[p.name] for p in plan.inputs)))

    return call
