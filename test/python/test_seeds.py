"""Kernels of articles on other languages, in penstock.lang (examples/python/seeds), against numpy.

    test_seeds.py
"""

import importlib.util
import os
import pathlib
import re
import sys
import unittest

import numpy as np

import penstock
import penstock.lang as pl

SEEDS = pathlib.Path(os.environ.get("PENSTOCK_PYTHON_EXAMPLES") or
                     pathlib.Path(__file__).resolve().parents[2] / "examples/python") / "seeds"


def example(name, folder=SEEDS):
    """A file of examples as a module."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
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

    def test_operations_of_engines(self):
        """Copies, MMAs and operations of barriers are those of examples/python/blackwell_matmul.py, in the same order."""

        def operations(kernel):
            return re.findall(r"\bnv\.(?:tma|tcgen05|mbarrier)\.[a-z_.]+", kernel.program())

        for version in ("V1", "V2", "V4"):
            ours = getattr(example("blackwell_matmul", SEEDS.parent), f"Matmul{version}")
            kernel = getattr(example(f"blackwell_{version.lower()}"), f"BlackwellMatmul{version}")
            self.assertEqual(operations(kernel), operations(ours))


TARGETS = ("native", "sm_90a:emulated", "sm_100a:emulated")


class Annotations(unittest.TestCase):
    """Pipelined loops, natively and on the emulator."""

    def run_each(self, names, expected, result, *arguments):
        for name in names:
            kernel = getattr(example("pipeline_annotations"), name)
            for target in TARGETS:
                with self.subTest(kernel=name, target=target):
                    found = result()
                    kernel.compile(target)(*arguments, found)
                    np.testing.assert_array_equal(found, expected)

    def test_matmuls(self):
        a, b = integers(1, 136, 200), integers(2, 200, 72)
        self.run_each(("inferred", "stage_and_order", "async_producers"), a.astype(np.float32) @ b,
                      lambda: np.empty((136, 72), np.float16), a, b)

    def test_reordered(self):
        a, b = integers(1, 5 * 64, 64), integers(2, 64, 64)
        self.run_each(("reordered", "scalar"), a.reshape(5, 64, 64).astype(np.float32).sum(0) @ b,
                      lambda: np.empty((64, 64), np.float16), a, b)

    def test_copies(self):
        x = np.random.default_rng(1).standard_normal(7 * 128, np.float32)
        names = "scalar_of_two_stages", "entry_for_a_scalar", "async_stage"
        self.run_each(names, x, lambda: np.zeros_like(x), x)
        self.run_each(("scalars_of_scalars",), np.append(x[5:], np.zeros(5, np.float32)), lambda: np.zeros_like(x), x, 5)

    def test_tables(self):
        ids = np.array([4, 1, 7, 0, 2], np.int32)
        x = np.random.default_rng(1).standard_normal((8, 128), np.float32)
        expected = np.where(np.isin(np.arange(8), ids), x[:, 0], 0)
        self.run_each(("scalar_from_a_tensor", "stored_scalar"), expected, lambda: np.zeros(8, np.float32), ids, x)

    def test_values(self):
        x = np.random.default_rng(1).standard_normal(7 * 128, np.float32)
        expected = np.where(np.arange(x.size) % 128 == 3, x, 0)
        self.run_each(("value_of_a_tile", "stored_value"), expected, lambda: np.zeros_like(x), x)

    def test_entries_of_scalars_are_ignored(self):
        module = example("pipeline_annotations")
        self.assertEqual([w.code for w in module.entry_for_a_scalar.compile("native").warnings], ["PS1228"])
        self.assertEqual(module.scalar_of_two_stages.compile("native").warnings, [])


@pl.kernel("A[M,K], B[K,N] -> C[M,N]")
def stated(b: pl.Block, A: pl.In[pl.f32], B: pl.In[pl.f32], C: pl.Out[pl.f32], *, stage: str = "", order: str = "",
           num_stages: int = 0):
    a, c, acc = b.shared(pl.f32, 32, 32), b.shared(pl.f32, 32, 32), b.local(pl.f32, 32, 32)
    b.grid(1)
    b.fill(acc, 0)
    for k in b.pipelined(A.size(1) // 32, num_stages, stage=[*map(int, stage)], order=[*map(int, order)]):
        b.copy(A.at(0, k * 32), a)
        b.copy(B.at(k * 32, 0), c)
        b.gemm(a, c, acc)
    b.copy(acc, C.at(0, 0))


@pl.kernel("A[N] -> C[N]")
def value(b: pl.Block, A: pl.In[pl.f32], C: pl.Out[pl.f32], *, stage: str = "", order: str = ""):
    a = b.shared(pl.f32, 32)
    b.grid(1)
    for k in b.pipelined(A.size(0) // 32, stage=[*map(int, stage)], order=[*map(int, order)]):
        b.copy(A.at(k * 32), a)
        value = b.bind("value", b.load(a, 1))
        b.store(C.at(k * 32), value)


class Rules(unittest.TestCase):
    """The rules of the guide on annotations."""

    def refused(self, code, kernel=stated, **fields):
        with self.assertRaises(penstock.Error) as caught:
            kernel.compile("native", **fields)
        self.assertEqual(caught.exception.diagnostics[0].code, code)

    def test_producers_before_consumers(self):
        self.refused("PS1201", stage="000", order="201")
        self.refused("PS1201", stage="100", order="012")

    def test_each_order_once(self):
        self.refused("PS1212", stage="001", order="011")

    def test_one_entry_for_each_statement(self):
        self.refused("PS1200", stage="01", order="01")

    def test_values_of_tiles_stay_in_their_stage(self):
        self.refused("PS1200", value, stage="01", order="01")
        self.refused("PS1205", value, stage="001", order="012")
        self.refused("PS1206", value, stage="011", order="021")

    def test_either_a_depth_or_stages(self):
        self.refused("PS1214", stage="001", order="012", num_stages=2)


if __name__ == "__main__":
    unittest.main()
