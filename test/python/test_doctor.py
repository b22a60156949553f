"""penstock_emu.doctor: test_doctor.py LIBRARY MODULES. Needs only the standard library."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY, MODULES = sys.argv.pop(1), sys.argv.pop(1)


class Doctor(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_doctor(self, *options, library=LIBRARY, code=None, **variables):
        # No packages but those of the test.
        environment = {"PATH": "/nonexistent", "PENSTOCK_EMU_LIBRARY": library, "PYTHONDONTWRITEBYTECODE": "1",
                       "PYTHONPATH": os.pathsep.join([MODULES, str(self.folder)]), **variables}
        command = ["-c", code] if code else ["-m", "penstock_emu.doctor"]
        return subprocess.run([sys.executable, "-S", *command, *options], env=environment, capture_output=True, text=True)

    def package(self, name, version, module, code=""):
        (self.folder / module).mkdir()
        # Packages are imported in other processes than that of the doctor.
        doctor = "import sys\nassert 'penstock_emu' not in sys.modules\n"
        (self.folder / module / "__init__.py").write_text(doctor + code)
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    def test_names_what_is_missing_and_how_to_get_it(self):
        ran = self.run_doctor()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("needed for Triton kernels; pip install triton", ran.stdout)
        self.assertIn("needed for TileLang kernels, with nvcc; pip install tilelang", ran.stdout)
        self.assertRegex(ran.stdout, r"Triton +needs numpy, triton")
        self.assertRegex(ran.stdout, r"PTX files +penstock-emu run-ptx")

    def test_versions(self):
        self.package("tilelang", "0.1.15", "tilelang")
        self.package("nvidia-cutlass-dsl", "4.8.1", "cutlass")
        self.package("torch", "2.1.0", "torch")
        self.package("numpy", "2.4.6", "numpy")
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "nvcc").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
        (programs / "nvcc").chmod(0o755)
        ran = self.run_doctor("--format", "json", CUDA_HOME=str(self.folder))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        report = json.loads(ran.stdout)
        items = {item["name"]: item for item in report["items"]}
        self.assertEqual([items[name]["version"] for name in ("tilelang", "cute", "nvcc")], ["0.1.15", "4.8.1", "13.0.88"])
        self.assertEqual(items["tilelang"]["state"], "found")
        self.assertEqual(items["torch"]["state"], "wrong")
        self.assertIn("older than 2.5", items["torch"]["problem"])
        self.assertIn("PENSTOCK_NVCC=", items["nvcc"]["problem"])
        self.assertEqual(report["checks"]["TileLang"], "penstock_emu.tilelang.check")

    def test_packages_are_tried(self):
        self.package("torch", "2.9.0", "torch", "raise OSError('libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent')\n")
        self.package("numpy", "2.4.6", "numpy")
        self.package("pytest", "9.0.0", "pytest")
        self.package("triton", "3.9.0", "triton", "import os; os._exit(7)\n")
        report = json.loads(self.run_doctor("--format", "json").stdout)
        items = {item["name"]: item for item in report["items"]}
        self.assertEqual({name: items[name]["state"] for name in ("torch", "triton", "numpy", "pytest")},
                         {"torch": "wrong", "triton": "wrong", "numpy": "found", "pytest": "found"})
        self.assertEqual(items["torch"]["problem"],
                         "cannot be loaded: OSError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent")
        self.assertEqual(items["triton"]["problem"], "cannot be loaded: exit code 7")
        self.assertEqual(report["checks"]["existing tests"], "torch cannot be loaded")
        self.assertEqual(report["checks"]["Triton"], "triton cannot be loaded")

    def test_the_driver_is_tried(self):
        library = self.folder / "libcuda.so.1"
        library.write_text("no library")
        code = f"import ctypes.util; ctypes.util.find_library = lambda name: {str(library)!r}\n" \
               "import sys; from penstock_emu import doctor; sys.exit(doctor.main())"
        report = json.loads(self.run_doctor("--format", "json", code=code).stdout)
        driver = next(item for item in report["items"] if item["name"] == "GPU driver")
        self.assertEqual(driver["state"], "wrong")
        self.assertRegex(driver["problem"], "cannot be loaded: OSError: .*libcuda.so.1")

    def test_fails_without_the_emulator(self):
        ran = self.run_doctor(library="/nonexistent/libpenstock_emu.so")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("libpenstock_emu.so cannot be loaded", ran.stdout)

    def test_both_tools_run_it(self):
        # The package penstock itself cannot be imported without libpenstock.so.
        tool = str(pathlib.Path(MODULES) / "penstock/_tool.py")
        for code in ("from penstock_emu import _tool; _tool.emulator()", f"import runpy; runpy.run_path({tool!r})['main']()"):
            ran = self.run_doctor("doctor", "--format", "json", code=code)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(json.loads(ran.stdout)["items"][0]["name"], "penstock-emu")


if __name__ == "__main__":
    unittest.main(verbosity=2)
