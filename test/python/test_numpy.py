"""Kernels on numpy arrays, inline kernels, and the emulated driver."""

import os
import threading
import unittest

import numpy as np

import penstock

SCALE = """
struct Scale {
  int block = 256;
  static constexpr auto signature = "x[N], factor -> y[N]";
  void operator()(Block &b, In<f32, 1> x, Scalar<f32> factor, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), block)) * block;
    auto t = b.local<f32>(block);
    b.copy(x.at(first), t);
    b.set(t, t * factor);
    b.copy(t, y.at(first));
  }
};
PENSTOCK_KERNEL(Scale, block);
"""


UNPACK = """
struct Unpack {
  static constexpr auto signature = "packed[N,P], scale[N] -> values[N,K]";

  void operator()(Block &b, In<i4x2, 2> packed, In<f8e8m0, 1> scale, Out<f32, 2> values) const {
    auto first = b.grid(ceil_div(packed.size(0), 8)) * 8;
    auto bytes = b.shared<i4x2>(8, 16);
    auto v = b.local<f32>(8, 32);
    auto s = b.local<f32>(8);
    b.copy(packed.at(first, 0), bytes);
    b.copy(scale.at(first), s);
    b.unpack(bytes, v);
    b.set(v, v * broadcast_rows(s));
    b.copy(v, values.at(first, 0));
  }
};
PENSTOCK_KERNEL(Unpack);
"""


class Numpy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scale = penstock.inline(SCALE)["Scale"]

    def setUp(self):
        self.x = np.arange(1000, dtype=np.float32)
        self.y = np.full(1000, -1, np.float32)

    def test_call(self):
        kernel = self.scale.compile(block=128)
        kernel(self.x, 3.0, self.y)
        np.testing.assert_array_equal(self.y, 3 * self.x)
        kernel(self.x, y=self.y, factor=2)
        np.testing.assert_array_equal(self.y, 2 * self.x)
        kernel.launch(self.x, 5, self.y, threads=1)
        np.testing.assert_array_equal(self.y, 5 * self.x)

    def test_packed_elements(self):
        kernel = penstock.inline(UNPACK)["Unpack"].compile()
        values = np.random.default_rng(1).integers(-8, 8, (20, 32))
        packed = (values[:, ::2] & 15 | (values[:, 1::2] & 15) << 4).astype(np.uint8)
        exponents = np.arange(20)
        scale = (exponents + 117).astype(np.uint8)  # numpy has neither element: both are bytes
        for given in (packed, packed.view(np.int8)):
            result = np.full((20, 32), -1, np.float32)
            kernel(given, scale, result)
            np.testing.assert_array_equal(result, values * 2.0 ** (exponents[:, None] - 10))
        with self.assertRaises(penstock.Error) as raised:
            kernel(packed.astype(np.float16), scale, result)
        self.assertIn("`packed` holds i4x2 and is given f16", raised.exception.diagnostics[0].message)

    def test_strided_arrays(self):
        matrix = np.zeros((1000, 4), np.float32)
        with self.assertRaises(penstock.Error) as raised:
            self.scale.compile()(self.x, 1.0, matrix[:, 1])
        self.assertEqual(raised.exception.diagnostics[0].code, "PS1303")

    def test_wrong_arguments(self):
        kernel = self.scale.compile()
        for arguments, code, part in (
            ((self.x, 1.0), "PS1765", "takes 3 arguments, not 2"),
            ((self.x, 1.0, self.y[:10]), "PS1302", "`y`"),
            ((self.x, 1.0, self.y.astype(np.float64)), "PS1301", "`y`"),
            ((self.x, 1.0, self.y.astype(np.complex64)), "PS1765", "`y`"),
            ((self.x, 1.0, None), "PS1768", "`y`"),
            ((self.x, 1.0, 2.0), "PS1765", "`y`"),
        ):
            with self.subTest(part=part, code=code), self.assertRaises(penstock.Error) as raised:
                kernel(*arguments)
            self.assertEqual(raised.exception.diagnostics[0].code, code)
            self.assertIn(part, raised.exception.diagnostics[0].message)
        with self.assertRaises(penstock.Error):
            kernel(self.x, 1.0, z=self.y)

    def test_inline_is_cached(self):
        def made():
            return {e.name: e.stat().st_mtime_ns for e in os.scandir(os.environ["PENSTOCK_CACHE_DIR"] + "/inline")}

        before = made()
        penstock.inline(SCALE)
        self.assertEqual(made(), before)

    def test_inline_of_the_same_name(self):
        other = penstock.inline(SCALE.replace("t * factor", "t + factor"))["Scale"]
        other.compile()(self.x, 1.0, self.y)
        np.testing.assert_array_equal(self.y, self.x + 1)
        self.scale.compile()(self.x, 2.0, self.y)
        np.testing.assert_array_equal(self.y, self.x * 2)

    def test_inline_errors(self):
        with self.assertRaises(penstock.Error) as raised:
            penstock.inline("struct Broken {\n  int x\n};\n")
        self.assertEqual(raised.exception.diagnostics[0].code, "PS1769")
        self.assertIn(":2:", str(raised.exception))  # the line in the string
        with self.assertRaises(penstock.Error) as raised:
            penstock.inline(SCALE.replace("t * factor", "t * factor + b.local<f32>(8)"))["Scale"].compile()
        self.assertIn("t * factor", str(raised.exception))  # the source line is shown

    def test_inline_without_a_kernel(self):
        with self.assertRaises(penstock.Error) as raised:
            penstock.inline(SCALE[:SCALE.index("PENSTOCK_KERNEL")])
        self.assertEqual(raised.exception.diagnostics[0].code, "PS1769")
        self.assertIn("PENSTOCK_KERNEL(Name);", raised.exception.diagnostics[0].helps[0])

    def test_read_only_arrays(self):
        kernel = self.scale.compile()
        x = self.x.copy()
        x.flags.writeable = False
        self.y[:] = 0
        kernel(x, 3.0, self.y)
        np.testing.assert_array_equal(self.y, self.x * 3)
        self.y[:] = 0
        kernel.launch(x, 4.0, self.y, threads=1)
        np.testing.assert_array_equal(self.y, self.x * 4)
        self.assertFalse(x.flags.writeable)
        part = x[::2]
        half = np.zeros(part.shape, np.float32)
        kernel(np.ascontiguousarray(part), 2.0, half)
        before = half.copy()
        half.flags.writeable = False
        with self.assertRaises(penstock.Error) as raised:
            kernel(np.ascontiguousarray(part), 5.0, half)
        self.assertEqual(raised.exception.diagnostics[0].code, "PS1768")
        self.assertIn("`y`", raised.exception.diagnostics[0].message)
        np.testing.assert_array_equal(half, before)

    def test_threads(self):
        kernel = self.scale.compile()
        results = [np.empty_like(self.x) for _ in range(8)]
        workers = [threading.Thread(target=lambda i=i: [kernel(self.x, float(i), results[i]) for _ in range(50)])
                   for i in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for i, result in enumerate(results):
            np.testing.assert_array_equal(result, i * self.x)

    @unittest.skipUnless(penstock.gpu.count(), "no driver")
    def test_gpu(self):
        kernel = self.scale.compile("gpu")
        x, y = penstock.gpu.array(self.x), penstock.gpu.empty(self.x.shape)
        kernel(x, 4.0, y)
        np.testing.assert_array_equal(y.numpy(), 4 * self.x)
        penstock.load_artifact(kernel.artifact)(x, 7.0, y)
        np.testing.assert_array_equal(y.numpy(), 7 * self.x)
        with self.assertRaises(penstock.Error):
            self.scale.compile()(x, 1.0, y)  # compiled for the host

    @unittest.skipUnless(penstock.gpu.count(), "no driver")
    def test_overlap(self):
        waits = penstock.inline(SCALE.replace("b.copy(x.at(first), t);", "b.wait_for_previous();\n    b.copy(x.at(first), t);"))
        kernel = waits["Scale"].compile("gpu")
        x, y, z = penstock.gpu.array(self.x), penstock.gpu.empty(self.x.shape), penstock.gpu.empty(self.x.shape)
        kernel(x, 2.0, y)
        kernel.launch(y, 3.0, z, overlap_previous=True)
        np.testing.assert_array_equal(z.numpy(), 6 * self.x)
        with self.assertRaises(penstock.Error) as raised:
            self.scale.compile("gpu").launch(x, 2.0, y, overlap_previous=True)
        self.assertEqual(raised.exception.diagnostics[0].code, "PS1771")

    @unittest.skipUnless(penstock.gpu.count(), "no driver")
    def test_stream_of_the_framework(self):
        import ctypes

        import tvm_ffi

        driver = ctypes.CDLL("libcuda.so.1")
        stream, context = ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(driver.cuInit(0), 0)
        self.assertEqual(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), 0)
        self.assertEqual(driver.cuCtxSetCurrent(context), 0)
        x, y = penstock.gpu.array(self.x), penstock.gpu.empty(self.x.shape)
        kernel = self.scale.compile("gpu")
        kernel(x, 1.0, y)
        penstock.gpu.synchronize()
        self.assertEqual(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), stream.value):
            kernel(x, 6.0, y)
        penstock.gpu.synchronize(stream.value)
        np.testing.assert_array_equal(y.numpy(), 6 * self.x)
        # A stream that does not exist is refused: it is the one that the launch uses.
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 0x12345670):
            with self.assertRaises(penstock.Error):
                kernel(x, 6.0, y)


if __name__ == "__main__":
    unittest.main()
