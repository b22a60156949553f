"""Everything of the C++ language has a spelling in Python.

The functions of record_c.h, the options of the headers and the methods of Block are read from the
headers, so that what is added there and not in Python fails this test.
"""

import inspect
import pathlib
import re
import unittest

import penstock.lang as pl
from penstock.lang import _block, _hardware, _native, _values, _tiles, _scopes, _define, _location, _recording

INCLUDE = pathlib.Path(__file__).resolve().parents[3] / "include/penstock"


def header(name):
    return (INCLUDE / name).read_text()


def fields_of(text, struct):
    """Names of the fields of a struct of options."""
    body = re.search(r"struct %s \{(.*?)\n\};" % struct, text, re.S).group(1)
    body = re.sub(r"//.*", "", body)
    return re.findall(r"(\w+)(?: = [^;,]*?(?:\{\})?)?\s*[;,]", re.sub(r"<[^<>]*>", "", body))


def parameters(function):
    return set(inspect.signature(function).parameters)


class Coverage(unittest.TestCase):
    def test_every_function_of_record_c_is_bound_and_called(self):
        declared = set(re.findall(r"\bpenstock_record_(\w+)\(", header("record_c.h")))
        self.assertGreater(len(declared), 70)
        bound = set(_native._RECORDING) | {"close", "abandon", "error"}
        self.assertEqual(declared, bound)
        source = "".join(inspect.getsource(m) for m in (
            _block, _hardware, _values, _tiles, _scopes, _define, _location, _recording))
        # A loop that break left is closed here, and reported when the kernel function has returned.
        unused = {name for name in bound if f"record.{name}(" not in source} - {"abandon"}
        self.assertEqual(unused, set())

    def test_options(self):
        b = _block.Block
        cases = [
            ("tile_options.h", "TileOptions", b.shared, {}), ("tile_options.h", "TileOptions", b.local, {}),
            ("tile_options.h", "CopyOptions", b.copy, {"async": "async_"}),
            ("tile_options.h", "GemmOptions", b.gemm, {"async": "async_"}),
            ("tile_options.h", "ReduceOptions", b.reduce, {}), ("loops.h", "RangeOptions", b.range, {}),
            ("loops.h", "PipelineOptions", b.pipelined, {}), ("loops.h", "StatementOptions", b.statement, {}),
            ("loops.h", "WaitOptions", b.wait, {}), ("block.h", "Preferences", b.prefer, {}),
            ("hardware.h", "BarrierArriveOptions", _hardware.BarrierCalls.arrive, {}),
            ("hardware.h", "BarrierArriveOptions", _hardware.BarrierCalls.arrive_expect, {}),
            ("hardware.h", "BarrierWaitOptions", _hardware.BarrierCalls.wait, {}),
            ("hardware.h", "BarrierTryWaitOptions", _hardware.BarrierCalls.try_wait, {}),
            ("hardware.h", "TmaLoadOptions", _hardware.TmaCalls.load, {}),
            ("hardware.h", "TmaStoreOptions", _hardware.TmaCalls.store, {}),
            ("hardware.h", "TmaStoreOptions", _hardware.TmaCalls.reduce, {}),
            ("hardware.h", "AsyncCopyOptions", _hardware.AsyncCopyCalls.load, {}),
            ("hardware.h", "CommitOptions", _hardware.TensorCalls.commit, {}),
            ("hardware.h", "GroupWaitOptions", _hardware.TmaCalls.wait_group, {}),
            ("hardware.h", "MmaOptions", _hardware.WgmmaCalls.mma, {}),
            ("hardware.h", "TensorMmaOptions", _hardware.TensorCalls.mma, {})]
        for file, struct, function, renamed in cases:
            with self.subTest(struct=struct, function=function.__qualname__):
                names = fields_of(header(file), struct)
                self.assertTrue(names)
                self.assertEqual({renamed.get(n, n) for n in names} - parameters(function), set())

    def test_methods_of_a_block(self):
        text = header("block.h").split("class Block {")[1].split("\nprivate:")[0]
        names = set(re.findall(r"^  (?! )(?:template <[^>]*> )?(?:[\w:<>, ]+[ &]+)(\w+)\(", text, re.M))
        names -= {"Block", "within", "Printable", "requires", "literal", "checkCopied"}
        self.assertGreater(len(names), 30)
        self.assertEqual({n for n in names if not hasattr(_block.Block, n)}, set())

    def test_methods_of_engines(self):
        text = header("hardware.h")
        for name, cls in (("BarrierCalls", _hardware.BarrierCalls), ("NamedBarrierCalls", _hardware.NamedBarrierCalls),
                          ("RegisterCalls", _hardware.RegisterCalls), ("TmaCalls", _hardware.TmaCalls),
                          ("AsyncCopyCalls", _hardware.AsyncCopyCalls), ("FenceCalls", _hardware.FenceCalls),
                          ("LaunchControlCalls", _hardware.LaunchControlCalls), ("TensorCalls", _hardware.TensorCalls),
                          ("WgmmaCalls", _hardware.WgmmaCalls)):
            body = re.search(r"struct %s \{(.*?)\n\};" % name, text, re.S).group(1).split("private:")[0]
            found = set(re.findall(r"^  (?! )[\w:<>, ]+ (\w+)\(", body, re.M))
            with self.subTest(engine=name):
                self.assertTrue(found)
                self.assertEqual({n for n in found if not hasattr(cls, n)}, set())

    def test_functions_of_values(self):
        names = set(re.findall(r"friend Expr<T> (\w+)\(Arg", header("tile.h")))
        names |= {"select", "where", "cast", "ceil_div", "fast_divmod", "transposed", "as_matrix", "slice", "row", "col",
                  "index", "broadcast_rows", "broadcast_cols", "infinity"}
        names = {n for n in names if not n.startswith("operator")}
        self.assertGreater(len(names), 25)
        self.assertEqual({n for n in names if n not in pl.__all__}, set())

    def test_element_types_and_enumerators(self):
        elements = re.search(r"enum class Element : uint8_t \{(.*?)\};", header("elements.h"), re.S).group(1)
        for number, name in enumerate(re.findall(r"\w+", elements)):
            element = getattr(pl, {"i1": "boolean", "index": "index_t"}.get(name, name))
            self.assertEqual(element.code, number)
        for file, enum, prefix in (("tile.h", "Reduction", None), ("block.h", "Atomic", None), ("hardware.h", "Semantics", None),
                                   ("hardware.h", "Cache", None), ("hardware.h", "ThreadScope", None)):
            body = re.search(r"enum %s : uint8_t \{(.*?)\};" % enum, header(file), re.S).group(1)
            for name in re.findall(r"\w+", body):
                self.assertTrue(hasattr(pl, name), name)

    def test_operations_have_the_numbers_of_the_header(self):
        body = re.search(r"enum class Op : uint8_t \{(.*?)\};", header("record.h"), re.S).group(1)
        names = ["_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper() for name in re.findall(r"\w+", body)]
        numbers = {name: value for name, value in vars(_values).items() if name[0] == "_" and name.isupper() and type(value) is int}
        self.assertEqual(numbers, {name: number for number, name in enumerate(names)})

    def test_functions_that_compute_one_value(self):
        functions = {name for name in pl.__all__ if getattr(getattr(pl, name), "__module__", "") == _values.__name__
                     and inspect.isfunction(getattr(pl, name))}
        self.assertEqual(functions - set(_values.__all__), set())
        self.assertEqual(_location._COMPUTING, functions - {"fast_divmod"})  # which has two


if __name__ == "__main__":
    unittest.main()
