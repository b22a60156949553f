"""Calls of kernels in Python with numpy arrays and, where it is installed, torch tensors.

    test_lang.py [TARGET ..]        default: native sm_90a:emulated sm_100a:emulated
"""

import importlib.util
import os
import pathlib
import sys
import unittest

import numpy as np

import penstock
import penstock.lang as pl
from penstock.lang import In, Out, f32, i32

EXAMPLES = pathlib.Path(os.environ.get("PENSTOCK_PYTHON_EXAMPLES") or
                        pathlib.Path(__file__).resolve().parents[2] / "examples/python")
TARGETS = sys.argv[1:] or ["native", "sm_90a:emulated", "sm_100a:emulated"]


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def integers(seed, *shape, low=-2, high=3, dtype=np.float16):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


class Results(unittest.TestCase):
    def each(self, kernel, **fields):
        for target in TARGETS:
            with self.subTest(target=target):
                yield kernel.compile(target, **fields)

    def test_vector_add(self):
        a, b = integers(1, 2, 3000, dtype=np.float32)
        for kernel in self.each(example("vector_add").vector_add):
            c = np.empty_like(a)
            kernel(a, b, c)
            np.testing.assert_array_equal(c, a + b)

    def test_softmax(self):
        x = np.random.default_rng(2).standard_normal((21, 300), np.float32)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        for kernel in self.each(example("row_softmax").RowSoftmax):
            y = np.empty_like(x)
            kernel(x, y)
            np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)

    def test_matmul(self):
        a, b = integers(3, 150, 96), integers(4, 72, 96)
        for kernel in self.each(example("matmul").Matmul, stages=2):
            c = np.empty((150, 72), np.float16)
            kernel(A=a, B=b, C=c)
            np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)

    def test_attention(self):
        q, k, v = (integers(s, 2, 70, 64) / np.float16(4) for s in (5, 6, 7))
        scores = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k.astype(np.float64)) / 8
        weights = np.exp(scores - scores.max(2, keepdims=True))
        expected = np.einsum("hmn,hnd->hmd", weights / weights.sum(2, keepdims=True), v.astype(np.float64))
        for kernel in self.each(example("flash_attention").FlashAttention):
            o = np.empty_like(q)
            kernel(q, k, v, 1.4426950408889634 / 8, o)
            np.testing.assert_allclose(o.astype(np.float64), expected, atol=2e-3)

    def test_histogram(self):
        x = integers(8, 5000, low=-1, high=32, dtype=np.int32)
        for kernel in self.each(example("histogram").Histogram, bins=32, block=256):
            counts = np.zeros(32, np.int32)
            kernel(x, counts)
            np.testing.assert_array_equal(counts, np.bincount(x[x >= 0], minlength=32))

    def test_explicit_blackwell(self):
        if "sm_100a:emulated" not in TARGETS:
            self.skipTest("needs sm_100a")
        module = example("blackwell_matmul")
        a, b = integers(9, 136, 200), integers(10, 200, 200)
        for name in ("MatmulV0", "MatmulV1", "MatmulV2", "MatmulV3", "MatmulV4", "MatmulV5"):
            c = np.empty((136, 200), np.float16)
            getattr(module, name).compile("sm_100a:emulated")(a, b, c)
            np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T, name)


@pl.kernel("x[N], s -> y[N]")
def scale(b: pl.Block, x: In[f32], s: pl.Scalar[f32], y: Out[f32], *, block: int = 256, twice: bool = False):
    t = b.local(f32, block)
    i0 = b.grid(pl.ceil_div(x.size(0), block)) * block
    b.copy(x.at(i0), t)
    b.set(t, t * s * (2 if twice else 1))
    b.copy(t, y.at(i0))


@pl.kernel("x[N] -> y[N]")
def checked(b: pl.Block, x: In[i32], y: Out[i32]):
    i = b.grid(x.size(0))
    b.require(x.load(i) < 100, "a number is too large")
    b.store(y.at(i), x.load(i))


class Calls(unittest.TestCase):
    def test_calls_compile_once(self):
        x = np.arange(1000, dtype=np.float32)
        y = np.empty_like(x)
        scale(x, 2.0, y)
        np.testing.assert_array_equal(y, 2 * x)
        compiled = dict(scale._compiled)
        scale(x, s=3.0, y=y)
        np.testing.assert_array_equal(y, 3 * x)
        self.assertEqual(scale._compiled, compiled)
        scale(x, 2.0, y, twice=True)
        np.testing.assert_array_equal(y, 4 * x)
        self.assertEqual(len(scale._compiled), 2)

    def test_targets(self):
        on_blackwell = scale.with_fields()
        on_blackwell.target = "sm_100a:emulated"
        x = np.arange(100, dtype=np.float32)
        y = np.empty_like(x)
        on_blackwell(x, 2.0, y)
        np.testing.assert_array_equal(y, 2 * x)

    def test_constant_sizes(self):
        kernel = pl.const("N")(scale)
        for n in (100, 300, 100):
            x = np.arange(n, dtype=np.float32)
            y = np.empty_like(x)
            kernel(x, 2.0, y)
            np.testing.assert_array_equal(y, 2 * x)
        self.assertEqual(len(kernel._compiled), 2)
        self.assertIn("arith.constant 300 : index", kernel._compiled["native", ("N", 300)].tile_program)
        with self.assertRaisesRegex(penstock.Error, "not a size of"):
            pl.const("K")(scale)(x, 2.0, y)

    def test_tuning_at_the_first_call(self):
        a, b = integers(3, 128, 64), integers(4, 64, 64)
        c = np.empty((128, 64), np.float16)
        body = example("matmul").MatmulOf._function
        space = pl.Space(block_m=[64, 128], stages=[2, 3])
        kernel = pl.kernel("A[M,K], B[N,K] -> C[M,N]", space=space, tune="measure", name="Tuned")(body)[pl.f16]
        kernel(a, b, c)
        np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
        self.assertEqual(len(kernel._compiled), 1)
        kernel(a, b, c)
        self.assertEqual(len(kernel._compiled), 1)
        with self.assertRaisesRegex(penstock.Error, "without a space"):
            pl.kernel("x[N], s -> y[N]", tune="measure")(scale._function)

    def test_wrong_arguments(self):
        x = np.zeros(10, np.float32)
        for arguments in ((x, 2.0, np.zeros(11, np.float32)), (x, 2.0, np.zeros(10)), (x, 2.0), (x, "2", x.copy())):
            with self.assertRaises((penstock.Error, TypeError)):
                scale(*arguments)

    def test_faults_name_python_lines(self):
        x = np.array([1, 2, 300], np.int32)
        with self.assertRaises(penstock.Error) as caught:
            checked(x, np.empty_like(x))
        self.assertIn("a number is too large", str(caught.exception))
        self.assertIn('b.require(x.load(i) < 100', str(caught.exception))
        self.assertEqual(caught.exception.diagnostics[0].file, __file__)

    def test_twins_share_the_cache(self):
        before = penstock.cache_statistics()
        example("row_softmax").RowSoftmax.compile("sm_90a")
        again = example("row_softmax").RowSoftmax.compile("sm_90a")
        after = penstock.cache_statistics()
        self.assertTrue(again.ptx)
        self.assertGreater(after["hits"], before["hits"])


@unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
class Torch(unittest.TestCase):
    def test_tensors_and_operators(self):
        import torch

        x = torch.arange(1000, dtype=torch.float32)
        y = torch.empty_like(x)
        scale(x, 2.0, y)
        torch.testing.assert_close(y, 2 * x)
        operator = penstock.torch.register("penstock_lang_test::scale", scale)
        torch.testing.assert_close(torch.ops.penstock_lang_test.scale(x, 3.0), 3 * x)
        torch.testing.assert_close(torch.compile(operator.op)(x, 3.0), 3 * x)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
