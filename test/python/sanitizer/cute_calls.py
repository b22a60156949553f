"""A user's test that calls a compiled function of CuTe DSL."""

import cutlass.cute  # noqa: F401
from cutlass.base_dsl.jit_executor import JitCompiledFunction


def test_gemm():
    JitCompiledFunction()(1, 2)


def test_addition():
    assert 1 + 1 == 2
