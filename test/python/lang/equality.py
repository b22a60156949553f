"""Python and C++ kernels record the same programs.

    equality.py [--file FILE | TEST ..]         all files, or one of examples/python

Each kernel of examples/python is compared with its C++ twin byte for byte, with default and with
other fields. The C++ libraries are $PENSTOCK_EXAMPLES, $PENSTOCK_DEVICE_EXAMPLES and
$PENSTOCK_GALLERY.
"""

import ctypes
import importlib.util
import os
import pathlib
import sys
import unittest

import penstock
from penstock import _library
from penstock.lang import Kernel, _native

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/python"
LIBRARIES = {name: penstock.load(os.environ[variable]) for name, variable in (
    ("examples", "PENSTOCK_EXAMPLES"), ("device", "PENSTOCK_DEVICE_EXAMPLES"), ("gallery", "PENSTOCK_GALLERY"))}

STAGES = {"stages": "pipeline.num_stages"}

#: File: (Python kernel, library, C++ kernel, further settings of fields, other names of C++ fields)
TWINS = {
    "vector_add": [("vector_add", "examples", "VectorAdd", [{"block": 256}])],
    "row_softmax": [("RowSoftmax", "examples", "RowSoftmax", [{"block_m": 8, "block_n": 64}])],
    "layer_norm": [("LayerNorm", "examples", "LayerNorm", [{"block_m": 8, "block_n": 64}])],
    "matmul": [
        ("Matmul", "examples", "Matmul", [
            {"block_m": 64, "stages": 4}, {"cluster_m": 2, "pair": 1, "launch_control": True}], STAGES)],
    "matmul_bias_gelu": [("MatmulBiasGelu", "examples", "MatmulBiasGelu", [{"block_n": 64, "group": 4}])],
    "persistent_matmul": [("PersistentMatmul", "examples", "PersistentMatmul", [{"blocks": 148, "pair": 1}])],
    "grouped_matmul": [("GroupedMatmul", "examples", "GroupedMatmul", [{"block_m": 128, "stages": 2}])],
    "convolution": [("Convolution", "examples", "Convolution", [{"block_h": 4, "block_n": 64}])],
    "int4_matmul": [("Int4Matmul", "examples", "Int4Matmul", [{"block_m": 128, "stages": 2}])],
    "scaled_matmul": [
        ("mxf8_matmul", "examples", "MxF8Matmul", [{"stages": 2}]),
        ("mxf4_matmul", "examples", "MxF4Matmul", [{"block_k": 128}]),
        ("nvf4_matmul", "examples", "NvF4Matmul", [{"block_n": 256}]),
        ("mxf6_matmul", "examples", "MxF6Matmul", [{"stages": 2}])],
    "gather": [("Gather", "examples", "Gather", [{"block_m": 16}])],
    "flash_attention": [
        ("FlashAttention", "examples", "FlashAttention", [{"causal": True, "stages": 3}, {"slack": 8, "dim": 128}])],
    "attention_backward": [("AttentionBackward", "examples", "AttentionBackward", [{"block_m": 32, "threads": 256}])],
    "histogram": [("Histogram", "examples", "Histogram", [{"block": 256, "bins": 32}])],
    "transpose": [("Transpose", "examples", "Transpose", [{"block_m": 32}])],
    "blackwell_matmul": [
        ("MatmulV0", "device", "MatmulV0", [{"block_k": 64}]),
        ("MatmulV1", "device", "MatmulV1", [{"epilogue_n": 32}]),
        ("MatmulV2", "device", "MatmulV2", [{"stages": 4}]),
        ("MatmulV3", "device", "MatmulV3", [{"stages": 2}]),
        ("MatmulV4", "device", "MatmulV4", [{"group": 8, "stages": 4}]),
        ("MatmulV5", "device", "MatmulV5", [{"block_n": 64}]),
        ("MatmulV6", "device", "MatmulV6", [{"pairs": 1, "block_n": 64, "stages": 2}])],
    "hopper_matmul": [
        ("HopperMatmul", "device", "HopperMatmul", [
            {"in_flight": 1}, {"try_tokens": True, "consumers": 1}])],
    "explicit_attention": [
        ("HopperAttention", "device", "HopperAttention", [{"stages": 3}]),
        ("BlackwellAttention", "device", "BlackwellAttention", [{"block_n": 128}])],
    "gallery": [
        ("RmsNorm", "gallery", "RmsNorm", [{"rows": 8}]),
        ("SwiGlu", "gallery", "SwiGlu", [{"columns": 128}]),
        ("Rotary", "gallery", "Rotary", [{"half": 64}]),
        ("AttentionForward", "gallery", "AttentionForward", [{"causal": False}]),
        ("AttentionDecode", "gallery", "AttentionDecode", [{"block_n": 32}]),
        ("MoeMatmul", "gallery", "MoeMatmul", [{"block_m": 128}]),
        ("Fp8Linear", "gallery", "Fp8Linear", [{"block_k": 128}]),
        ("Int4Linear", "gallery", "Int4Linear", [{"stages": 3}]),
        ("TopK", "gallery", "TopK", [{"columns": 256}]),
        ("CrossEntropy", "gallery", "CrossEntropy", [{"columns": 256}])],
}


def example(name):
    """A file of examples/python as a module."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def print_kernel(kernel, fields):
    """The program of a C++ kernel."""
    options = _library.compile_options("native", fields, {}, 0)
    text = ctypes.c_void_p()
    _library.check(_native.print_program, kernel.library._handle, kernel.name.encode(), ctypes.byref(options),
                   ctypes.byref(text))
    return _library.take_text(text.value).decode()


class Equality(unittest.TestCase):
    maxDiff = None


def _add(file, python_name, library, name, more, renamed=None):
    for number, fields in enumerate([{}, *more]):
        def test(self, fields=fields):
            kernel = getattr(example(file), python_name)
            expected = print_kernel(LIBRARIES[library][name], {(renamed or {}).get(f, f): v for f, v in fields.items()})
            self.assertIn("tile.kernel", expected)
            self.assertEqual(kernel.program(**fields), expected)
            self.assertEqual(kernel.name, name)

        setattr(Equality, f"test_{name}_{number}", test)


_only = sys.argv[sys.argv.index("--file") + 1] if "--file" in sys.argv else ""
for _file, _kernels in TWINS.items():
    if _only in ("", _file):
        for _kernel in _kernels:
            _add(_file, *_kernel)


class Examples(unittest.TestCase):
    def test_every_file_has_twins(self):
        self.assertEqual(sorted(TWINS), sorted(path.stem for path in EXAMPLES.glob("*.py")))

    def test_every_kernel_of_the_libraries_has_a_twin(self):
        """Kernels of device_kernels.cpp that only change fields of another are left out."""
        found = {twin[2] for twins in TWINS.values() for twin in twins}
        variants = {"MatmulTwoStages", "MatmulFourStages", "MatmulStated", "MatmulBf16", "FewBlocks", "SmallVectorAdd",
                    "SmallRowSoftmax", "SmallLayerNorm", "SmallMatmulBiasGelu", "SmallHistogram", "SmallMxF8Matmul",
                    "SmallMxF4Matmul", "SmallNvF4Matmul", "SmallMxF6Matmul", "FlashAttentionCausal",
                    "FlashAttentionWide", "MatmulV6OnePair", "HopperMatmulInFlight", "HopperMatmulTokens",
                    "HopperAttentionCausal", "BlackwellAttentionCausal"}
        for library in LIBRARIES.values():
            self.assertEqual(set(library) - variants - found, set())

    def test_another_element_type(self):
        kernel = example("matmul").MatmulOf[penstock.lang.bf16]
        self.assertIsInstance(kernel, Kernel)
        self.assertEqual(kernel.name, "MatmulOf_bf16")
        expected = print_kernel(LIBRARIES["device"]["MatmulBf16"], {})
        self.assertEqual(kernel.program(block_n=64).replace("MatmulOf_bf16", "MatmulBf16"), expected)


if __name__ == "__main__":
    if _only:
        sys.exit(not unittest.TextTestRunner().run(unittest.TestLoader().loadTestsFromTestCase(Equality)).wasSuccessful())
    unittest.main()
