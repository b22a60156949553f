"""Kernels of articles on other languages, in penstock.lang (examples/python/seeds), against numpy.

    test_seeds.py
"""

import importlib.util
import os
import pathlib
import sys
import unittest

import numpy as np

import penstock.lang as pl

SEEDS = pathlib.Path(os.environ.get("PENSTOCK_PYTHON_EXAMPLES") or
                     pathlib.Path(__file__).resolve().parents[2] / "examples/python") / "seeds"


def example(name):
    """A file of examples/python/seeds as a module."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, SEEDS / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def integers(seed, *shape, dtype=np.float16):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


class Matmuls(unittest.TestCase):
    """Explicit kernels on the emulator, which reports races and deadlocks, too."""

    def multiply(self, kernel, target, shapes, **fields):
        compiled = kernel.compile(target, **fields)
        for M, N, K in shapes:
            with self.subTest(kernel=kernel.name, shape=(M, N, K), **fields):
                a, b = integers(1, M, K), integers(2, N, K)
                c = np.full((M, N), np.nan, np.float16)
                compiled(a, b, c)
                np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)

    def check(self, kernel, target, shape, **fields):
        """Runs with several timings."""
        report = kernel.check(target, dict(zip("MNK", shape)), timings=3, **fields)
        self.assertTrue(report["sound"], report)

    def test_blackwell_v1(self):
        kernel = example("blackwell_v1").BlackwellMatmulV1
        self.multiply(kernel, "sm_100a:emulated", [(136, 200, 200), (1, 8, 8)])
        self.multiply(kernel, "sm_100a:emulated", [(200, 72, 40)], block_n=64, block_k=16)
        self.check(kernel, "sm_100a", (136, 200, 200))

    def test_blackwell_v2(self):
        kernel = example("blackwell_v2").BlackwellMatmulV2
        self.multiply(kernel, "sm_100a:emulated", [(136, 200, 328), (1, 8, 8)])
        self.multiply(kernel, "sm_100a:emulated", [(200, 72, 400)], block_n=64, block_k=32, stages=4)
        self.check(kernel, "sm_100a", (136, 200, 328))

    def test_blackwell_v4(self):
        kernel = example("blackwell_v4").BlackwellMatmulV4
        # The last group has two columns of tiles, or all four.
        self.multiply(kernel, "sm_100a:emulated", [(264, 328, 328), (136, 256, 64)], block_n=64)
        self.multiply(kernel, "sm_100a:emulated", [(136, 200, 200)], stages=2, swizzle_size=1)
        self.check(kernel, "sm_100a", (136, 200, 328))

    def test_hopper_pipelining(self):
        module = example("hopper_pipelining")
        kernel = module.PipelinedMatmulOf[pl.f16]
        self.multiply(kernel, "sm_90a:emulated", [(136, 200, 648), (1, 8, 8)])
        self.multiply(kernel, "sm_90a:emulated", [(200, 72, 400)], M_tile=192, consumers=3, K_tile=32, try_tokens=True)
        self.check(module.PipelinedMatmul, "sm_90a", (136, 200, 648))
        self.check(module.PipelinedMatmul, "sm_90a", (136, 200, 328), num_stages=2, try_tokens=True)
        # The article's fastest tile; it needs all of shared memory.
        self.assertIn("wgmma", module.PipelinedMatmul.compile("sm_90a", M_tile=256, num_stages=4, consumers=4).ptx)

    def test_hopper_stagger(self):
        module = example("hopper_pipelining")
        kernel = module.StaggeredMatmulOf[pl.f16]
        self.multiply(kernel, "sm_90a:emulated", [(136, 200, 648), (1, 8, 8)])
        self.multiply(kernel, "sm_90a:emulated", [(136, 200, 648)], k_stagger_mmas=2, consumers=1)
        self.check(module.StaggeredMatmul, "sm_90a", (136, 200, 648))


if __name__ == "__main__":
    unittest.main()
