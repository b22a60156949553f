"""Counts of test/field/suites/run, on a file as pytest writes it. Needs only the standard library."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

PATH = pathlib.Path(__file__).resolve().parents[1] / "field/suites/run"
loader = importlib.machinery.SourceFileLoader("suites", str(PATH))
suites = importlib.util.module_from_spec(importlib.util.spec_from_loader("suites", loader))
sys.modules["suites"] = suites  # dataclasses look modules up
sys.dont_write_bytecode = True
loader.exec_module(suites)


def case(name, launches=None, inside=""):
    properties = "" if launches is None else (
        f'<properties><property name="kernel_sanitizer_launches" value="{launches}"/></properties>')
    return f'<testcase classname="t" name="{name}">{properties}{inside}</testcase>'


XML = "<testsuites><testsuite>" + "".join([
    case("right", 2), case("plain", 0), case("race", 1, '<failure message="PS2101"/>'),
    case("large", 0, '<skipped message="kernel-sanitizer: 300 MiB of memory"/>'),
    case("device", None, '<skipped message="needs\nan NPU"/>'), case("broken", 0, '<failure message="no"/>'),
]) + "</testsuite></testsuites>"

SUMMARY = """
kernel        language  launches  seconds  wrong  undefined  notes
row_sums      Triton           2     0.02      0          0      1
running_sums  Triton           1     0.02      1          0      1
"""


class Counts(unittest.TestCase):

    def test_outcomes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "tests.xml"
            path.write_text(XML)
            counts, reasons, failed = suites.counted(path)
        self.assertEqual(dict(counts), {"run": 2, "failed": 1, "without kernels": 1, "skipped": 2, "failed before a launch": 1})
        self.assertEqual(set(reasons), {"kernel-sanitizer: 300 MiB of memory", "needs an NPU"})
        self.assertEqual(failed, ["t.race", "t.broken"])

    def test_kernels_with_findings(self):
        self.assertEqual(suites.kernel_findings(SUMMARY), {"running_sums": (1, 0)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
