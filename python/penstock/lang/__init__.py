"""Kernels in Python.

    import penstock.lang as pl
    from penstock.lang import In, Out, f32

    @pl.kernel("a[N], b[N] -> c[N]")
    def vector_add(blk: pl.Block, a: In[f32], b: In[f32], c: Out[f32], *, block: int = 1024):
        i = blk.grid(pl.ceil_div(a.size(0), block))
        x, y = blk.local(f32, block), blk.local(f32, block)
        blk.copy(a.at(i * block), x)
        blk.copy(b.at(i * block), y)
        blk.set(x, x + y)
        blk.copy(x, c.at(i * block))

    vector_add(x, y, z)            # numpy, torch, JAX: any DLPack tensor

The function runs once for each compilation, to record its operations. It records the same
program as the C++ headers do.
"""

from ._block import (
    Add, Atomic, AtomicMax, AtomicMin, Auto, Block, Exchange, Form, Max, Min, Prod, Reduction, Schedule, Sum)
from ._define import Kernel, const, kernel
from ._elements import (
    Element, bf16, boolean, f16, f32, f4e2m1x2, f64, f6e2m3_packed, f6e3m2_packed, f8e4m3, f8e5m2, f8e8m0, i16, i32,
    i4x2, i64, i8, index_t, u32)
from ._hardware import (
    Acquire, Barrier, Barriers, Cache, Cluster, Cta, EvictFirst, EvictLast, EvictNormal, NamedBarrier, NoHint, Relaxed,
    Release, Semantics, ThreadScope, consumer_phase, producer_phase)
from ._location import helper
from ._space import Space
from ._tiles import (
    In, InOut, Out, Tensor, TensorSlice, Tile, as_matrix, broadcast_cols, broadcast_rows, col, index, row, slice,
    transposed)
from ._values import (
    Index, Operand, Scalar, Value, Var, abs, cast, ceil, ceil_div, cos, erf, exp, exp2, fast_divmod, floor, infinity, log,
    log2, max, min, round, rsqrt, select, sin, sqrt, tanh, where)

#: What Triton has, and how it is written here.
_OF_TRITON = {
    "arange": "tiles have shapes: A.at(i) is the slice that starts at i, and pl.row, pl.col give indices of elements",
    "program_id": "b.grid(..) states the grid and returns the position of the block", "num_programs": "sizes of b.grid(..)",
    "cdiv": "pl.ceil_div", "load": "b.copy(A.at(i, j), tile), or A.load(i, j) for one element",
    "store": "b.copy(tile, A.at(i, j)), or b.store(A.at(i, j), x) for one element", "dot": "b.gemm(a, b, acc)",
    "sum": "b.reduce(pl.Sum, tile, 1, target)", "zeros": "b.local(T, ..) and b.fill(tile, 0)",
    "full": "b.local(T, ..) and b.fill(tile, value)", "constexpr": "a keyword-only parameter with a default, or a field",
    "range": "b.range(n) or b.pipelined(n, num_stages=3)", "static_range": "range(n) of Python", "trans": "pl.transposed(tile)",
    "sigmoid": "1 / (1 + pl.exp(0 - x))", "float16": "pl.f16", "bfloat16": "pl.bf16", "float32": "pl.f32", "int32": "pl.i32",
    "atomic_add": "b.atomic(pl.Add, A.at(i), x)", "debug_barrier": "b.sync()", "jit": "pl.kernel(\"x[N] -> y[N]\")",
    "maximum": "pl.max", "minimum": "pl.min", "device_print": "b.print(text, values)",
    "swizzle2d": "b.grid(m, n, swizzle=8)", "make_tensor_descriptor": "tensors are arguments: A.at(i, j) is a box"}


def __getattr__(name: str) -> object:
    known = _OF_TRITON.get(name)
    raise AttributeError(f"penstock.lang has no `{name}`" + (f": write {known}" if known else ""))


__all__ = [
    "Acquire", "Add", "Atomic", "AtomicMax", "AtomicMin", "Auto", "Barrier", "Barriers", "Block", "Cache", "Cluster",
    "Cta", "Element", "EvictFirst", "EvictLast", "EvictNormal", "Exchange", "Form", "In", "InOut", "Index", "Kernel",
    "Max", "Min", "NamedBarrier", "NoHint", "Operand", "Out", "Prod", "Reduction", "Relaxed", "Release", "Scalar",
    "Schedule", "Semantics", "Space", "Sum", "Tensor", "TensorSlice", "ThreadScope", "Tile", "Value", "Var", "abs",
    "as_matrix", "bf16", "boolean", "broadcast_cols", "broadcast_rows", "cast", "ceil", "ceil_div", "col",
    "const", "consumer_phase", "cos", "erf", "exp", "exp2", "f16", "f32", "f4e2m1x2", "f64", "f6e2m3_packed", "f6e3m2_packed",
    "f8e4m3", "f8e5m2", "f8e8m0", "fast_divmod", "floor", "helper", "i16", "i32", "i4x2", "i64", "i8", "index", "index_t",
    "infinity", "kernel", "log", "log2", "max", "min", "producer_phase", "round", "row", "rsqrt", "select", "sin",
    "slice", "sqrt", "tanh", "transposed", "u32", "where"]
