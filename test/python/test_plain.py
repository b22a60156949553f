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

    def test_layouts_are_pictures(self):
        # The thread and the register of row 9, column 10 of an accumulator of wgmma: the PTX ISA puts it into
        # d[6] of thread 5 (row 5 / 4 + 8, column 2 * (5 % 4) + 8).
        accumulator = penstock.Layout("((4,8,4),(2,2,4)):((128,1,16),(64,8,512))", rows=64)
        self.assertIn("row 9, column 10: thread 5 register 6", accumulator._repr_svg_())
        # Piece 1 of row 3 is where piece 1 ^ 3 = 2 would be: byte 3 * 128 + 2 * 16, bank 8.
        swizzled = penstock.Layout("Sw<3,4,3> o smem_ptr[16b] o (8,64):(64,1)").picture()
        self.assertIn("row 3, column 8: byte 416, bank 8", swizzled)
        self.assertIn("row 2, column 5: 42", penstock.Layout("(4,8):(1,8)").picture())
        for wrong, part in (("(4,8", "at byte"), ("(4096,4096):(1,4096)", "at most 65536")):
            with self.assertRaises(penstock.Error) as raised:
                penstock.Layout(wrong).picture()
            self.assertEqual(raised.exception.diagnostics[0].code, "PS1765")
            self.assertIn(part, str(raised.exception))

    def test_explain(self):
        self.assertIn("sm_100a", penstock.load(KERNELS)["MatmulBiasGelu"].explain("sm_100a"))

    def test_check(self):
        report = penstock.load(KERNELS)["VectorAdd"].check("sm_90a", {"N": 100}, timings=2)
        self.assertGreaterEqual(report["shapes"][0]["runs"], 2)

    def test_cache(self):
        self.assertIn("misses", penstock.cache_statistics())


if __name__ == "__main__":
    unittest.main()
