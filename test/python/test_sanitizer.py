"""pytest --kernel-sanitizer on the tests of a user, in processes of their own.

    test_sanitizer.py LIBRARY MODULES

LIBRARY is libpenstock_emu.so, MODULES the folder of the package penstock_emu. The interpreter needs pytest; tests of
Triton are skipped without torch and triton. Exit code 77 (skipped): there is no pytest.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY, MODULES = sys.argv.pop(1), sys.argv.pop(1)


def missing(*modules):
    """Names of the modules that cannot be imported, or None."""
    return ", ".join(name for name in modules if importlib.util.find_spec(name) is None) or None


class Sanitizer(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def enterContext(self, context):  # unittest has it from Python 3.11 on
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def variables(self, path=()):
        # Paths of sources are in cached PTX, so that each test has a cache of its own.
        return dict(os.environ, PENSTOCK_EMU_LIBRARY=LIBRARY, PYTHONDONTWRITEBYTECODE="1", TRITON_CACHE_DIR=str(self.folder / "triton-cache"),
                    PYTHONPATH=os.pathsep.join([*map(str, path), MODULES]))

    def pytest(self, file, *options, path=()):
        """Runs pytest with the plugin; returns its exit code and output."""
        ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p",
                              "penstock_emu.pytest_plugin", *map(str, options), str(file)], env=self.variables(path), cwd=self.folder,
                             capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class WithoutKernels(Sanitizer):

    def test_nothing_changes_without_the_option(self):
        tests = self.write("test_plain.py", "import sys\n\ndef test():\n    assert 'penstock_emu._library' not in sys.modules\n")
        code, output = self.pytest(tests)
        self.assertEqual(code, 0, output)
        self.assertNotIn("kernel sanitizer", output)

    def test_commands_of_ci(self):
        """The pytest commands of the GitHub Action and the GitLab job, on a test without kernels."""
        self.write("tests/test_plain.py", "def test():\n    pass\n")
        values = {"ARCH": "100", "FAIL_ON": "undefined", "BLOCKS": "all", "TESTS": "tests", "RUNNER_TEMP": str(self.folder)}
        (self.folder / "kernel-sanitizer").mkdir()
        for name, prefix, files in (("action.yml", "", ["kernel-sanitizer/report.html", "kernel-sanitizer/report.sarif"]),
                                    ("gitlab-ci.yml", "SANITIZER_", ["kernel-sanitizer.html", "kernel-sanitizer.xml"])):
            text = (ROOT / "packaging/action" / name).read_text()
            command = re.search(r"python -m pytest (?:[^\n]*\\\n)*[^\n|]*", text).group(0)
            variables = {name if name == "RUNNER_TEMP" else prefix + name: value for name, value in values.items()}
            ran = subprocess.run(["bash", "-euc", command.replace("python -m pytest", f"{sys.executable} -m pytest -p "
                                  "no:cacheprovider -p penstock_emu.pytest_plugin")], cwd=self.folder, capture_output=True,
                                 text=True, env=dict(self.variables(), **variables))
            self.assertEqual(ran.returncode, 0, command + ran.stdout + ran.stderr)
            self.assertIn("sm_100: 0 kernels, 0 launches, 0 findings, 0 skipped; tests fail on findings of tier undefined",
                          ran.stdout)
            for file in files:
                self.assertTrue((self.folder / file).exists(), file)

    def test_documented_options_exist(self):
        _, output = self.pytest("--help")
        for name in ("docs/how-to/sanitizer.md", "packaging/action/action.yml", "packaging/action/gitlab-ci.yml"):
            for option in re.findall(r"--kernel-sanitizer[\w-]*", (ROOT / name).read_text()):
                self.assertRegex(output, re.escape(option) + r"[\s=]", name)

    def test_tests_without_kernels_pass(self):
        tests = self.write("test_plain.py", "def test():\n    pass\n")
        code, output = self.pytest(tests, "--kernel-sanitizer", "--kernel-sanitizer-report", "found.json")
        self.assertEqual(code, 0, output)
        self.assertIn("sm_90: 0 kernels, 0 launches, 0 findings, 0 skipped; tests fail on findings of tier wrong", output)
        self.assertEqual(json.loads((self.folder / "found.json").read_text())["diagnostics"], [])

    def test_missing_library_is_an_error_of_usage(self):
        tests = self.write("test_plain.py", "def test():\n    pass\n")
        global LIBRARY
        library, LIBRARY = LIBRARY, "/nonexistent/libpenstock_emu.so"
        try:
            code, output = self.pytest(tests, "--kernel-sanitizer")
        finally:
            LIBRARY = library
        self.assertEqual(code, 4, output)
        self.assertIn("libpenstock_emu.so cannot be loaded", output)

    def test_old_versions_are_an_error_of_usage(self):
        """Versions come from metadata: that of an old pluggy is first on the path."""
        tests = self.write("test_plain.py", "def test():\n    pass\n")
        self.write("pluggy-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pluggy\nVersion: 1.0.0\n")
        code, output = self.pytest(tests, path=[self.folder])
        self.assertEqual(code, 0, output)
        code, output = self.pytest(tests, "--kernel-sanitizer", path=[self.folder])
        self.assertEqual(code, 4, output)
        self.assertIn("--kernel-sanitizer: pluggy 1.0.0 is older than 1.2. Upgrade both: pip install 'pytest>=7.0' 'pluggy>=1.2'",
                      output)

    def test_missing_numpy_is_an_error_of_usage(self):
        tests = self.write("test_plain.py", "def test():\n    pass\n")
        self.write("numpy.py", "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n")
        code, output = self.pytest(tests, "--kernel-sanitizer", path=[self.folder])
        self.assertEqual(code, 4, output)
        self.assertIn("--kernel-sanitizer: numpy is missing: pip install numpy", output)

    def test_calls_of_cute_dsl_are_skipped(self):
        self.write("cutlass/__init__.py", "")
        self.write("cutlass/cute/__init__.py", "")
        self.write("cutlass/base_dsl/__init__.py", "")
        self.write("cutlass/base_dsl/jit_executor.py",
                   "class JitCompiledFunction:\n    def __call__(self, *arguments):\n        raise SystemExit('no driver')\n")
        code, output = self.pytest(HERE / "sanitizer/cute_calls.py", "--kernel-sanitizer", "-rs", path=[self.folder])
        self.assertEqual(code, 0, output)
        self.assertIn("1 passed, 1 skipped", output)
        self.assertIn("CuTe DSL launches from compiled host code, which the sanitizer cannot intercept; check the kernel with "
                      "penstock_emu.cute.check", output)


@unittest.skipIf(missing("torch", "triton"), f"there is no {missing('torch', 'triton')}")
class Triton(Sanitizer):

    def test_kernels_and_a_broken_twin(self):
        report, junit = self.folder / "found.json", self.folder / "tests.xml"
        code, output = self.pytest(HERE / "sanitizer/rows.py", "--kernel-sanitizer", "--kernel-sanitizer-report", report,
                                   "--junitxml", junit)
        self.assertEqual(junit.read_text().count('name="kernel_sanitizer_launches" value="1"'), 3)
        self.assertEqual(code, 1, output)
        self.assertIn("1 failed, 2 passed", output)
        self.assertIn("error PS2101: data race on", output)
        # Both sides, by the lines of the kernel.
        for line in ("tl.store(x + row * N + N, total)", "tl.load(x + row * N + i"):
            self.assertIn(line, output)
        self.assertIn("PS2101", {each["code"] for each in json.loads(report.read_text())["diagnostics"]})
        # Launches, seconds, findings of tiers wrong and undefined.
        self.assertRegex(output, r"row_sums +Triton +2 +\S+ +0 +0 ")
        self.assertRegex(output, r"running_sums +Triton +1 +\S+ +1 +0 ")
        self.assertIn("1 launches have more than 64 blocks: all ran for their results, a sample was checked", output)
        self.assertIn("  row_sums: 64 of 200 blocks: x 0 to 31; x 13, 19, .., 199\n", output)

    def test_example_of_the_page(self):
        page = (ROOT / "docs/how-to/sanitizer.md").read_text()
        code = re.search(r"```python\n(.*?)```", page, re.S).group(1)
        finding = re.search(r"```\n(test_rows\.py:\d+: error.*?)\n```", page, re.S).group(1)
        table = re.search(r"```\n(kernel .*?)\n```", page, re.S).group(1)
        code, output = self.pytest(self.write("test_rows.py", code), "--kernel-sanitizer")
        self.assertEqual(code, 1, output)
        self.assertIn(finding, output.replace(f"{self.folder}/", ""))
        seconds = re.compile(r"\d+\.\d\d")
        self.assertIn(seconds.sub("S", table), seconds.sub("S", output))

    def test_torch_on_the_host(self):
        code, output = self.pytest(HERE / "sanitizer/host.py", "--kernel-sanitizer")
        self.assertEqual(code, 0, output)
        self.assertIn("2 passed", output)

    def test_redundant_warps_of_kernels_in_place(self):
        code, output = self.pytest(HERE / "sanitizer/in_place.py", "--kernel-sanitizer", "--kernel-sanitizer-fail-on", "undefined")
        self.assertEqual(code, 1, output)
        self.assertIn("1 failed, 1 passed", output)
        self.assertRegex(output, r"scale +Triton +1 +\S+ +0 +0 +1")
        self.assertRegex(output, r"in_place\.py:18: error PS2101: data race on x\+0 to x\+160: warps 2 and 3 read it")

    def test_all_blocks_on_blackwell(self):
        report = self.folder / "found.html"
        code, output = self.pytest(HERE / "sanitizer/rows.py", "--kernel-sanitizer", "--kernel-sanitizer-arch", "100",
                                   "--kernel-sanitizer-blocks", "all", "--kernel-sanitizer-report", report)
        self.assertEqual(code, 1, output)
        self.assertIn("sm_100: 2 kernels, 3 launches", output)
        self.assertNotIn("a sample was checked", output)
        # Both sides, and the steps between them.
        for text in ("tl.store(x + row * N + N, total)", "tl.load(x + row * N + i", 'class="timeline"'):
            self.assertIn(text, report.read_text())


NO_TILELANG = missing("torch", "tilelang") or (None if shutil.which(os.environ.get("PENSTOCK_NVCC", "nvcc")) else "nvcc")


@unittest.skipIf(NO_TILELANG, f"there is no {NO_TILELANG}")
class TileLang(Sanitizer):

    def test_sizes_of_a_launch(self):
        code, output = self.pytest(HERE / "sanitizer/tilelang_rows.py", "--kernel-sanitizer")
        self.assertEqual(code, 0, output)
        self.assertIn("1 kernels, 3 launches, 0 findings, 0 skipped", output)


if __name__ == "__main__":
    if missing("pytest", "numpy"):
        print(f"there is no {missing('pytest', 'numpy')}")
        sys.exit(77)
    unittest.main(verbosity=2)
