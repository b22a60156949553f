"""Kernels in JAX programs: targets of jax.ffi on the CPU."""

import threading
import unittest

import jax
import jax.numpy as jnp
import numpy as np

import penstock
from penstock import kernels


def rms(x, eps=1e-5):
    wide = np.asarray(x, np.float64)
    return wide / np.sqrt((wide**2).mean(-1, keepdims=True) + eps)


class Jax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.norm = staticmethod(penstock.jax.wrap(kernels.library["RmsNorm"].compile()))
        cls.x = jax.random.uniform(jax.random.key(1), (5, 100)).astype("float16")
        cls.ones = jnp.ones(100, "float16")

    def close(self, actual, expected):
        np.testing.assert_allclose(np.asarray(actual, np.float64), expected, 2e-3)

    def test_calls(self):
        for function in (self.norm, jax.jit(self.norm, static_argnums=2)):
            self.close(function(self.x, self.ones, 1e-5), rms(self.x))

    def test_scalars_of_the_program(self):
        self.close(jax.jit(self.norm)(self.x, self.ones, 0.25), rms(self.x, 0.25))
        self.close(jax.jit(lambda x, w: self.norm(x, w, x[0, 0].astype("float32")))(self.x, self.ones),
                   rms(self.x, float(self.x[0, 0])))

    def test_xla_calls_the_library(self):
        text = jax.jit(self.norm, static_argnums=2).lower(self.x, self.ones, 1e-5).as_text()
        self.assertIn("@penstock_launch", text)
        self.assertNotIn("callback", text)

    def test_fused_with_other_operations(self):
        def program(x, w):
            return self.norm(x * 2, w, 1e-5).astype("float32").sum(1) + 1

        expected = rms(2 * np.asarray(self.x, np.float64)).sum(1) + 1
        np.testing.assert_allclose(jax.jit(program)(self.x, self.ones), expected, 1e-2)

    def test_vmap(self):
        batch = jnp.stack([self.x, self.x * 3, self.x + 1])
        self.close(jax.vmap(lambda x: self.norm(x, self.ones, 1e-5))(batch), rms(batch))

    def test_sizes_and_two_results(self):
        top_k = penstock.jax.wrap(kernels.library["TopK"].compile())
        x = jax.random.uniform(jax.random.key(2), (4, 50))
        values, indices = jax.jit(top_k, static_argnums=1)(x, 7)
        expected, columns = jax.lax.top_k(x, 7)
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(indices, columns)

    def test_eight_bits(self):
        linear = penstock.jax.wrap(kernels.library["Fp8Linear"].compile())
        x = jax.random.normal(jax.random.key(3), (9, 64)).astype("float8_e4m3fn")
        weight = jax.random.normal(jax.random.key(4), (16, 64)).astype("float8_e4m3fn")
        result = linear(x, weight, jnp.ones(9), jnp.ones(16))
        np.testing.assert_allclose(np.asarray(result, np.float64),
                                   np.asarray(x, np.float64) @ np.asarray(weight, np.float64).T, 2e-3, 2e-3)

    def test_gradients(self):
        swiglu = penstock.jax.wrap(kernels.library["SwiGlu"].compile())

        def plain(gate, up):
            return jax.nn.silu(gate.astype("float32")) * up.astype("float32")

        ours = jax.custom_vjp(swiglu)
        ours.defvjp(lambda g, u: (swiglu(g, u), (g, u)),
                    lambda saved, d: tuple(t.astype("float16") for t in jax.vjp(plain, *saved)[1](d.astype("float32"))))
        gate, up = self.x, self.x + 1
        for mine, theirs in zip(jax.jit(jax.grad(lambda g, u: ours(g, u).astype("float32").sum(), (0, 1)))(gate, up),
                                jax.grad(lambda g, u: plain(g, u).sum(), (0, 1))(gate, up)):
            np.testing.assert_allclose(np.asarray(mine, np.float64), np.asarray(theirs, np.float64), 1e-2, 1e-2)

    def test_errors(self):
        with self.assertRaises(penstock.Error):  # when the program is traced
            self.norm(self.x, self.ones)
        with self.assertRaisesRegex(Exception, "PS1302.*weight"):
            self.norm(self.x, jnp.ones(99, "float16"), 1e-5).block_until_ready()
        with self.assertRaisesRegex(Exception, "PS1301"):
            self.norm(self.x.astype("float32"), self.ones, 1e-5).block_until_ready()

    def test_a_kernel_that_the_process_does_not_have(self):
        call = jax.ffi.ffi_call("penstock_launch", jax.ShapeDtypeStruct((5,), "float32"))
        with self.assertRaisesRegex(Exception, "PS1765.*`RmsNorm:0`.*not compiled"):
            call(self.ones, kernel="RmsNorm:0").block_until_ready()

    def test_threads(self):
        compiled = jax.jit(self.norm, static_argnums=2)
        results = [None] * 8

        def work(i):
            results[i] = compiled(self.x * (i + 1), self.ones, 1e-5)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, result in enumerate(results):
            self.close(result, rms(np.asarray(self.x * (i + 1), np.float64)))

    def test_arrays_are_arguments(self):
        y = np.empty((5, 100), np.float16)
        x = jnp.ones((5, 100), "float16")
        kernels.library["SwiGlu"].compile()(x, x, y)
        np.testing.assert_allclose(y.astype(np.float64), 1 / (1 + np.exp(-1)), 2e-3)


if __name__ == "__main__":
    unittest.main()
