"""Runs the Python of docs/how-to/python-kernels.md and compares the message that the page shows; and
compares kernels that pages show in C++ and Python: both record the same program.

    page.py COMPILER INCLUDE WORK [--all]

Blocks that call kernels need numpy and run with the wheels (--all); the others run always.
"""

import ctypes
import importlib.util
import linecache
import pathlib
import re
import subprocess
import sys
import unittest

import penstock
from penstock import _library
from penstock.lang import _native

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/how-to/python-kernels.md"
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE.read_text(), re.S)
NUMPY = importlib.util.find_spec("numpy") is not None and importlib.util.find_spec("tvm_ffi") is not None


def run(code, file, names):
    """Runs code as a file, so that messages show its lines."""
    linecache.cache[file] = len(code), None, code.splitlines(True), file
    exec(compile(code, file, "exec"), names)


class Page(unittest.TestCase):
    def test_blocks(self):
        python = [code for language, code in BLOCKS if language == "python"]
        self.assertEqual(len(python), 6)
        if "--all" in sys.argv:
            self.assertTrue(NUMPY, "numpy and apache-tvm-ffi are not installed")
        names, ran = {"__name__": "page"}, 0
        for number, code in enumerate(python):
            if "import numpy" in code and not NUMPY:
                continue
            file = f"<block {number}>" if "def sums" not in code else "sums.py"
            run(code, file, names)
            ran += 1
        self.assertGreaterEqual(ran, 5)
        self.assertIn("<svg", str(names["picture"]))
        self.assertTrue(names["best"]["candidates"])

        with self.assertRaises(penstock.Error) as caught:
            names["sums"].program()
        shown = next(code for language, code in BLOCKS if not language and "PS1013" in code)
        self.assertEqual(str(caught.exception).strip(), shown.strip())

    def test_twins(self):
        """A block of Python behind one of C++ is the same kernel. The site shows them as tabs."""
        compiler, include, work = sys.argv[1:4]
        fence = r"```%s\n((?:(?!```).*\n)*)```\n"
        twins = re.compile(fence % "cpp" + "\n(?:### Penstock in Python\n\n)?" + fence % "python")
        for page, count in (("README.md", 1), ("docs/start/first-kernel.md", 1), ("docs/tutorials/tile-programs.md", 3),
                            ("docs/how-to/porting.md", 1)):
            found = twins.findall((ROOT / page).read_text())
            self.assertEqual(len(found), count, page)
            names = {}
            exec("import penstock.lang as pl\nfrom penstock.lang import In, Out, f16, f32", names)
            source = "#include <penstock/penstock.h>\n#include <penstock/tune.h>\nusing namespace penstock;\n"
            for number, (cpp, python) in enumerate(found):
                run(python, f"<{page} {number}>", names)
                kernel = re.search(r"struct (\w+)", cpp)
                if kernel is None:  # a lambda, which has no signature
                    cpp = cpp.replace("auto matmul = []", "struct matmul { void operator()").replace(
                        ") {", ") const {", 1).rstrip()[:-1] + "};\n"
                source += cpp.replace("#pragma once", "")
                name = kernel[1] if kernel else "matmul"
                if f"PENSTOCK_KERNEL({name}" not in cpp:
                    source += f"PENSTOCK_KERNEL({name});\n"
            stem = pathlib.Path(work) / pathlib.Path(page).stem
            stem.parent.mkdir(parents=True, exist_ok=True)
            stem.with_suffix(".cpp").write_text(source)
            subprocess.run([compiler, "-std=c++20", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", "-I", include,
                            stem.with_suffix(".cpp"), _library.path(), "-o", stem.with_suffix(".so")], check=True)
            library = penstock.load(stem.with_suffix(".so"))
            self.assertEqual(len(library), count)
            for name, kernel in library.items():
                expected = program_of(kernel)
                if "tile.signature" not in expected:
                    for number, called in enumerate(("A", "B", "C")):
                        expected = expected.replace(f'"arg{number}"', f'"{called}"')
                    expected = expected.replace("{tile.kernel}", '{tile.kernel, tile.signature = "A[M,K], B[N,K] -> C[M,N]"}')
                kernel = names.get(name) or names[name.lower()]
                self.assertEqual(kernel.program(), expected, page)


def program_of(kernel):
    """The program of a kernel of a library."""
    options, text = _library.compile_options("native", {}, {}, 0), ctypes.c_void_p()
    _library.check(_native.print_program, kernel.library._handle, kernel.name.encode(), ctypes.byref(options),
                   ctypes.byref(text))
    return _library.take_text(text.value).decode()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
