"""Kernels in JAX programs."""

import unittest

import jax
import numpy as np

import penstock
from penstock import kernels


class Jax(unittest.TestCase):
    def test_jit(self):
        norm = penstock.jax.wrap(kernels.library["RmsNorm"].compile())
        x = jax.random.uniform(jax.random.key(1), (5, 100)).astype("float16")
        weight = jax.numpy.ones(100, "float16")
        expected = np.asarray(x, np.float64) / np.sqrt((np.asarray(x, np.float64) ** 2).mean(1, keepdims=True) + 1e-5)
        for function in (norm, jax.jit(norm)):
            np.testing.assert_allclose(np.asarray(function(x, weight, np.float32(1e-5)), np.float64), expected, 2e-3)

    def test_arrays_are_arguments(self):
        y = np.empty((5, 100), np.float16)
        x = jax.numpy.ones((5, 100), "float16")
        kernels.library["SwiGlu"].compile()(x, x, y)
        np.testing.assert_allclose(y.astype(np.float64), 1 / (1 + np.exp(-1)), 2e-3)


if __name__ == "__main__":
    unittest.main()
