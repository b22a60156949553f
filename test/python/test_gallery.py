"""The kernels of the gallery over shapes, against numpy in double precision.

    test_gallery.py [TARGET]
"""

import sys
import unittest

import numpy as np

from penstock import kernels

RANDOM = np.random.default_rng(1)


def half(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float16)


def close(actual, expected, relative=2e-3, absolute=2e-3):
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=relative, atol=absolute)


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def e4m3(bits):
    """Values of e4m3 numbers, from the definition of the format."""
    sign, exponent, mantissa = bits >> 7, (bits >> 3) & 15, bits & 7
    value = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent.astype(int) - 7))
    return np.where(sign, -value, value)


class Gallery(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for function in kernels.ALL:
            function.target = sys.argv[1] if len(sys.argv) > 1 else "native"

    def test_rms_norm(self):
        for rows, columns in ((1, 1), (3, 64), (5, 257), (16, 1000), (7, 4096)):
            x, weight = half(rows, columns), half(columns)
            wide = x.astype(np.float64)
            close(kernels.rms_norm(x, weight, 1e-5), wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * weight)

    def test_swiglu(self):
        for rows, columns in ((1, 1), (3, 100), (9, 512), (2, 1111)):
            gate, up = half(rows, columns) * 8, half(rows, columns)
            wide = gate.astype(np.float64)
            close(kernels.swiglu(gate, up), wide / (1 + np.exp(-wide)) * up)

    def test_rotary(self):
        for tokens, heads in ((1, 1), (16, 4), (37, 3)):
            x = half(tokens, heads, 64)
            angles = np.arange(tokens)[:, None] * 10000.0 ** (-np.arange(32) / 32)
            cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
            turned = (x[..., :32] + 1j * x[..., 32:]).astype(np.complex128) * np.exp(1j * angles)[:, None, :]
            close(kernels.rotary(x, cosines, sines), np.concatenate((turned.real, turned.imag), -1))

    def test_attention_forward(self):
        for heads, shared, queries, keys, dim in ((1, 1, 1, 1, 64), (4, 2, 64, 64, 64), (4, 1, 100, 100, 64),
                                                  (2, 2, 33, 130, 32)):
            q, k, v = half(heads, queries, dim) * 3, half(shared, keys, dim), half(shared, keys, dim)
            wide = np.repeat(k, heads // shared, 0).astype(np.float64)
            scores = q.astype(np.float64) @ wide.transpose(0, 2, 1) / np.sqrt(dim)
            hidden = np.arange(keys) > np.arange(queries)[:, None] + keys - queries
            expected = softmax(np.where(hidden, -np.inf, scores)) @ np.repeat(v, heads // shared, 0).astype(np.float64)
            close(kernels.attention_forward(q, k, v, dim**-0.5), expected)

    def test_attention_decode(self):
        for batch, groups, repeat, cache, dim in ((1, 1, 1, 64, 64), (3, 2, 4, 100, 64), (2, 1, 16, 200, 32)):
            q = half(batch, groups, repeat, dim) * 3
            k, v = half(batch, groups, cache, dim), half(batch, groups, cache, dim)
            lengths = RANDOM.integers(1, cache + 1, batch).astype(np.int32)
            scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 1, 3, 2) / np.sqrt(dim)
            outside = np.arange(cache) >= lengths[:, None, None, None]
            expected = softmax(np.where(outside, -np.inf, scores)) @ v.astype(np.float64)
            close(kernels.attention_decode(q, k, v, lengths, dim**-0.5), expected)

    def test_moe_matmul(self):
        for blocks, experts, outputs, inputs in ((1, 1, 8, 8), (4, 3, 130, 96), (3, 8, 64, 200)):
            tokens = blocks * 64 - 5
            x, weights = half(tokens, inputs), half(experts, outputs, inputs)
            chosen = RANDOM.integers(0, experts, blocks).astype(np.int32)
            of_rows = np.repeat(chosen, 64)[:tokens]
            expected = np.einsum("tk,tnk->tn", x.astype(np.float64), weights.astype(np.float64)[of_rows])
            close(kernels.moe_matmul(x, weights, chosen), expected, absolute=1e-2)

    def test_fp8_linear(self):
        for rows, outputs, inputs in ((1, 1, 1), (65, 130, 100), (128, 64, 256)):
            x = RANDOM.integers(0, 256, (rows, inputs)).astype(np.uint8)
            weight = RANDOM.integers(0, 256, (outputs, inputs)).astype(np.uint8)
            x[(x & 127) == 127] = 0  # not a number
            weight[(weight & 127) == 127] = 0
            left = RANDOM.uniform(1e-4, 1e-3, rows).astype(np.float32)
            right = RANDOM.uniform(1e-4, 1e-3, outputs).astype(np.float32)
            expected = e4m3(x) @ e4m3(weight).T * left[:, None] * right
            close(kernels.fp8_linear(x, weight, left, right), expected)

    def test_int4_linear(self):
        for rows, outputs, groups in ((1, 1, 1), (65, 130, 2), (64, 64, 5)):
            inputs = groups * 64
            x = half(rows, inputs)
            values = RANDOM.integers(0, 16, (outputs, groups, 2, 32))
            packed = (values[:, :, 0] | values[:, :, 1] << 4).reshape(outputs, inputs // 2).astype(np.uint8).view(np.int8)
            scales = RANDOM.uniform(0.01, 0.1, (outputs, groups)).astype(np.float16)
            weight = ((values.reshape(outputs, groups, 64) - 8) * scales.astype(np.float64)[:, :, None])
            close(kernels.int4_linear(x, packed, scales), x.astype(np.float64) @ weight.reshape(outputs, inputs).T,
                  absolute=1e-2)

    def test_top_k(self):
        for rows, columns, k in ((1, 1, 1), (5, 100, 7), (4, 1024, 3), (3, 9, 9)):
            x = RANDOM.integers(-20, 20, (rows, columns)).astype(np.float32)  # with equal values
            x[0, 0] = -np.inf
            values, indices = kernels.top_k(x, k)
            order = np.argsort(-x, 1, kind="stable")[:, :k]
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))

    def test_cross_entropy(self):
        for rows, columns in ((1, 1), (5, 100), (4, 513), (9, 2000)):
            logits = (RANDOM.standard_normal((rows, columns)) * 5).astype(np.float32)
            labels = RANDOM.integers(0, columns, rows).astype(np.int32)
            wide = logits.astype(np.float64)
            expected = np.log(np.exp(wide).sum(1)) - wide[np.arange(rows), labels]
            close(kernels.cross_entropy(logits, labels), expected, 1e-5, 1e-5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
