"""A program that mypy --strict checks against the annotations of the package. It is not run."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import penstock
from penstock import kernels

library: penstock.Library = penstock.load("libkernels.so")
assert_type(list(library), list[str])
kernel = library["Softmax"].compile("sm_90a", fix={"N": 4096}, stages=3)
assert_type(kernel, penstock.CompiledKernel)
kernel(np.zeros((2, 2)), np.zeros((2, 2)))
kernel.launch(1, 2.0, threads=1, overlap_previous=True)
assert_type(kernel.ptx, str)
assert_type(kernel.artifact, bytes)
assert_type(kernel.parameters, tuple[penstock.Parameter, ...])
assert_type(penstock.inline("")["Softmax"].fields, dict[str, str])
assert_type(library["Softmax"].timeline("sm_90a"), penstock.Picture)
assert_type(library["Softmax"].check("sm_90a", {"N": 64}, timings=2), dict[str, Any])
assert_type(penstock.gpu.array(np.zeros(3)).numpy(), np.ndarray[Any, np.dtype[Any]])
assert_type(kernels.rms_norm, kernels.Function)
try:
    penstock.parse("")
except penstock.Error as error:
    assert_type(error.diagnostics, list[penstock.Diagnostic])
    assert_type(error.diagnostics[0].notes, tuple[penstock.Note, ...])

# Wrong uses, which mypy must report: an unused `ignore` is an error.
library["Softmax"].compile(3)  # type: ignore[arg-type]
library.softmax  # type: ignore[attr-defined]
kernel.launch(threads="all")  # type: ignore[arg-type]
penstock.load(3)  # type: ignore[arg-type]

# Kernels in Python: mixed element types are type errors.
import penstock.lang as pl  # noqa: E402
from penstock.lang import In, Out, f16, f32, i32  # noqa: E402


@pl.kernel("A[M,N], n -> C[M,N]")
def typed(b: pl.Block, A: In[f16], n: pl.Index, C: Out[f32], *, block: int = 64) -> None:
    s = b.shared(f16, block, block)
    t = b.local(f32, block, block)
    assert_type(t, pl.Tile[f32])
    assert_type(t + 1, pl.Value[f32])
    assert_type(pl.exp(t) > 0, pl.Value[pl.boolean])
    assert_type(pl.cast(i32, t), pl.Value[i32])
    assert_type(A.load(n, 0), pl.Value[f16])
    assert_type(A.size(0), pl.Index)
    b.set(t, t * 2)
    t + s  # type: ignore[operator]
    t * n  # type: ignore[operator]
    b.fill(t, s)  # type: ignore[misc]
    b.local(float, 8)  # type: ignore[type-var]
    b.reduce(max, t, 1, t)  # type: ignore[arg-type]
    b.copy(A, t)  # type: ignore[arg-type]


assert_type(typed.compile("native"), penstock.CompiledKernel)
assert_type(typed.with_fields(block=32), pl.Kernel)
