"""The Python examples of docs/how-to/pytorch.md, as a new user types them.

    test_page.py            those for CPUs
    test_page.py gpu        the first, where a driver has a GPU
"""

import pathlib
import re
import sys
import unittest

import numpy as np

import penstock

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pytorch.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)

SOFTMAX = """
#include <penstock/penstock.h>
using namespace penstock;
struct Softmax {
  static constexpr auto signature = "X[M,N] -> Y[M,N]";
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto m0 = b.grid(ceil_div(X.size(0), 16)) * 16;
    auto x = b.local<f32>(16, 64);
    auto top = b.local<f32>(16), sum = b.local<f32>(16);
    b.copy(X.at(m0, 0), x, {.fill = -infinity});
    b.reduce(Max, x, 1, top);
    b.set(x, exp(x - broadcast_rows(top)));
    b.reduce(Sum, x, 1, sum);
    b.set(x, x / broadcast_rows(sum));
    b.copy(x, Y.at(m0, 0));
  }
};
PENSTOCK_KERNEL(Softmax);
struct Matmul {
  int block_m = 128;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto [m, n] = b.grid(ceil_div(A.size(0), block_m), ceil_div(B.size(0), 64));
    auto a = b.shared<f16>(block_m, 64), w = b.shared<f16>(64, 64);
    auto acc = b.local<f32>(block_m, 64);
    b.fill(acc, 0);
    b.wait_for_previous();
    for (Index k : b.pipelined(ceil_div(A.size(1), 64), {.num_stages = 2})) {
      b.copy(A.at(m * block_m, k * 64), a);
      b.copy(B.at(n * 64, k * 64), w);
      b.gemm(a, transposed(w), acc);
    }
    b.copy(acc, C.at(m * block_m, n * 64));
  }
};
PENSTOCK_KERNEL(Matmul, block_m);
"""


class Page(unittest.TestCase):
    def test_all_blocks_are_here(self):
        self.assertEqual(len(BLOCKS), 4)

    @unittest.skipIf("gpu" not in sys.argv[1:], "needs a driver")
    def test_kernels(self):
        # "libkernels.so" is what the user has built.
        built = penstock.inline(SOFTMAX)
        load = penstock.load
        penstock.load = lambda name: built if name == "libkernels.so" else load(name)
        self.addCleanup(setattr, penstock, "load", load)
        random = np.random.default_rng(1)
        a = random.integers(-2, 3, (70, 40)).astype(np.float16)
        b = random.integers(-2, 3, (50, 40)).astype(np.float16)
        c = penstock.gpu.array(np.zeros((70, 50), np.float32))
        exec(BLOCKS[0], {"penstock": penstock, "a": penstock.gpu.array(a), "b": penstock.gpu.array(b), "c": c, "s": 0})
        penstock.gpu.synchronize()
        np.testing.assert_array_equal(c.numpy(), a.astype(np.float32) @ b.astype(np.float32).T)

    @unittest.skipIf("gpu" in sys.argv[1:], "for CPUs")
    def test_operators(self):
        import torch

        names = {"penstock": penstock, "torch": torch, "kernels": penstock.inline(SOFTMAX), "x": torch.randn(40, 50)}
        exec(BLOCKS[1], names)
        torch.testing.assert_close(names["y"], torch.softmax(names["x"], 1))

    @unittest.skipIf("gpu" in sys.argv[1:], "for CPUs")
    def test_jax(self):
        import jax
        import jax.numpy as jnp

        x = np.random.default_rng(2).uniform(-1, 1, (6, 100)).astype(np.float16)
        weight = np.ones(100, np.float16)
        names = {"penstock": penstock, "jax": jax, "x": jnp.asarray(x), "weight": jnp.asarray(weight)}
        exec(BLOCKS[2], names)
        wide = x.astype(np.float64)
        expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(np.asarray(names["y"], np.float64), expected, rtol=2e-3, atol=2e-3)

    @unittest.skipIf("gpu" in sys.argv[1:], "for CPUs")
    def test_layouts(self):
        picture = eval(BLOCKS[3], {"penstock": penstock})._repr_svg_()
        self.assertTrue(picture.lstrip().startswith("<svg") or "<svg" in picture[:200])
        # Thread 127 and register 15 hold the last element of 64 x 32.
        self.assertIn("127", picture)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
