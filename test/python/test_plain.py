"""The package without tvm_ffi: loading, diagnostics, reports. Needs only the standard library."""

import os
import unittest

import penstock

KERNELS = os.environ["PENSTOCK_EXAMPLES"]


class Plain(unittest.TestCase):
    def test_library(self):
        library = penstock.load(KERNELS)
        self.assertIn("VectorAdd", library)
        self.assertEqual(library["VectorAdd"].signature, "a[N], b[N] -> c[N]")
        self.assertEqual(library["VectorAdd"].fields, {"block": "1024"})
        self.assertEqual(penstock.version(), penstock.__version__)

    def test_unknown_kernel(self):
        with self.assertRaises(penstock.Error) as raised:
            penstock.load(KERNELS)["VectorSub"]
        self.assertEqual(raised.exception.diagnostics[0].code, "PS1503")

    def test_errors_are_diagnostics(self):
        with self.assertRaises(penstock.Error) as raised:
            penstock.load(KERNELS)["VectorAdd"].compile(blok=64)
        found = raised.exception.diagnostics
        self.assertEqual([d.code for d in found], ["PS1006"])
        self.assertEqual(found[0].severity, "error")
        self.assertTrue(found[0].file.endswith("kernels.cpp"))
        self.assertGreater(found[0].line, 1)
        self.assertIn("block", found[0].helps[0])
        self.assertIn("error PS1006", str(raised.exception))

    def test_text_errors_have_lines(self):
        with self.assertRaises(penstock.Error) as raised:
            penstock.parse("func.func @f() {\n  nonsense\n}\n", "f.mlir")
        self.assertEqual((raised.exception.diagnostics[0].file, raised.exception.diagnostics[0].line), ("f.mlir", 2))

    def test_missing_library(self):
        with self.assertRaises(penstock.Error) as raised:
            penstock.load("/no/such/library.so")
        self.assertEqual(raised.exception.diagnostics[0].code, "PS1502")

    def test_timelines_are_pictures(self):
        matmul = penstock.load(KERNELS)["Matmul"]
        picture = matmul.timeline("sm_90a", {"M": 64, "N": 64, "K": 64})
        self.assertTrue(picture._repr_svg_().startswith("<svg"))
        self.assertIn("Matmul", repr(matmul))

    def test_explain(self):
        self.assertIn("sm_100a", penstock.load(KERNELS)["MatmulBiasGelu"].explain("sm_100a"))

    def test_check(self):
        report = penstock.load(KERNELS)["VectorAdd"].check("sm_90a", {"N": 100}, timings=2)
        self.assertGreaterEqual(report["shapes"][0]["runs"], 2)

    def test_cache(self):
        self.assertIn("misses", penstock.cache_statistics())


if __name__ == "__main__":
    unittest.main()
