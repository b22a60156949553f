# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports what is installed for checking kernels, what is missing, and how to get it.

    penstock-emu doctor [--format json]
    penstock doctor [--format json]
    python -m penstock_emu.doctor

Versions of packages come from their metadata; each package and the driver are also loaded once, in processes of their own.
The exit code is 1 if the emulator cannot be used, and 0 otherwise: everything else is optional.
"""

import argparse
import ctypes.util
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys


@dataclasses.dataclass
class Item:
    """A part that is installed or not. `use` says what it is needed for, `get` how to install it."""
    name: str
    version: str = ""
    path: str = ""
    use: str = ""
    get: str = ""
    required: bool = False
    problem: str = ""
    loads: bool = True  # False: it is installed, but importing or loading it fails

    @property
    def state(self):
        return "wrong" if self.problem and self.version else "found" if self.version else "missing"


# Name, distribution, module, what needs it, oldest version that tests run, how to install it.
PACKAGES = (
    ("numpy", "numpy", "numpy", "all checks from Python", "1.23", "pip install numpy"),
    ("triton", "triton", "triton", "Triton kernels", "3.4", "pip install triton"),
    ("gluon", "triton", "triton.experimental.gluon", "Gluon kernels", "3.4", "pip install 'triton>=3.5', which contains Gluon"),
    ("tilelang", "tilelang", "tilelang", "TileLang kernels, with nvcc", "0.1.8", "pip install tilelang"),
    ("cute", "nvidia-cutlass-dsl", "cutlass", "CuTe DSL kernels", "4.0", "pip install nvidia-cutlass-dsl"),
    ("tilus", "tilus", "tilus", "Tilus kernels", "", "pip install tilus"),
    ("torch", "torch", "torch", "pytest --kernel-sanitizer on tests that use torch", "2.5",
     "pip install torch --index-url https://download.pytorch.org/whl/cpu, or pip install torch from PyPI"),
    ("pytest", "pytest", "pytest", "pytest --kernel-sanitizer", "7.0", "pip install pytest"),
)


def numbers(version):
    return tuple(int(each) for each in re.findall(r"\d+", version)[:3])


LOAD_SECONDS = 120


def try_loading(tried):
    """Runs Python code for each item, all at the same time, and reports what fails."""
    command = [sys.executable] + (["-S"] if sys.flags.no_site else []) + ["-c"]
    running = [(item, subprocess.Popen(command + [code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       stdin=subprocess.DEVNULL, text=True)) for item, code in tried]
    for item, process in running:
        try:
            _, errors = process.communicate(timeout=LOAD_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            process.returncode, errors = 1, f"no answer within {LOAD_SECONDS} s"
        if process.returncode:
            lines = errors.strip().splitlines() or [f"exit code {process.returncode}"]
            item.loads = False
            item.problem = "\n".join(filter(None, [item.problem, "cannot be loaded: " + lines[-1]]))


def is_installed(module):
    """Whether a module can be found, without importing the packages that it is in."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)
    return spec is not None and (not inner or any(os.path.exists(os.path.join(folder, *inner))
                                                  for folder in spec.submodule_search_locations or ()))


def package(name, distribution, module, use, oldest, get):
    item = Item(name, use=use, get=get)
    try:
        if not is_installed(module):
            return item
        item.version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        item.version = "of a checkout"
    except (ImportError, ValueError):
        return item
    if oldest and item.version[0].isdigit() and numbers(item.version) < numbers(oldest):
        item.problem = f"older than {oldest}, the oldest version that is tested"
    return item


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def program(name, variable, use, get):
    """A program of the CUDA toolkit: named by a variable, on the path, or in the usual folders."""
    item = Item(name, use=use, get=get)
    folders = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [os.environ.get(variable), shutil.which(name)]
    candidates += [os.path.join(folder, "bin", name) for folder in folders if folder]
    for path in candidates:
        found = shutil.which(path) if path else None
        if found and (version := re.search(r"release [\d.]+, V([\d.]+)", output_of([found, "--version"]))):
            item.version, item.path = version.group(1), found
            if found != shutil.which(name) and not os.environ.get(variable):
                item.problem = f"not on the path: set {variable}={found}"
            break
    return item


def emulator():
    item = Item("penstock-emu", use="the emulator", get="pip install the wheel penstock_emu-*.whl", required=True)
    try:
        from ._library import library, version
        item.version, item.path = version(), getattr(library(), "path", "")
    except Exception as error:
        item.problem = str(error)
    return item


def plugin():
    """The entry point that makes pytest load the plugin by itself."""
    item = Item("plugin", use="pytest --kernel-sanitizer without -p", get="install the wheel penstock_emu-*.whl; a checkout needs "
                "`pytest -p penstock_emu.pytest_plugin`")
    for point in importlib.metadata.entry_points(group="pytest11"):
        if point.value.startswith("penstock_emu."):
            item.version = point.dist.version if point.dist else "unknown"
    return item


def cuda_libraries():
    """The emulated CUDA libraries, that `penstock-emu run` starts programs with."""
    item = Item("libcudart", use="penstock-emu run, which starts CUDA programs",
                get="install the wheel penstock_emu-*.whl or the Debian package penstock-emu")
    folder = pathlib.Path(__file__).resolve().parent / "lib" / "cuda-shim"
    if folder.is_dir():
        item.version, item.path = "13, emulated", str(folder)
    return item


def compiler():
    """The package penstock: its compiler is not needed to check kernels of other languages."""
    return package("penstock", "penstock", "penstock", "kernels in Penstock's C++", "", "pip install the wheel penstock-*.whl")


def driver():
    item = Item("GPU driver", use="nothing: kernels run on the emulator", get="not needed")
    if found := ctypes.util.find_library("cuda"):
        item.version = found
    return item


DRIVER = """import ctypes, sys
status = ctypes.CDLL({0!r}).cuInit(0)
if status:
    sys.exit(f"cuInit returns {{status}}" + (": there is no GPU" if status == 100 else ""))
"""


def items():
    made = [emulator(), plugin(), cuda_libraries(), compiler()]
    packages = [(package(*each), f"import {each[2]}") for each in PACKAGES]
    gpu = driver()
    try_loading([each for each in packages + [(gpu, DRIVER.format(gpu.version))] if each[0].version])
    made += [item for item, _ in packages]
    made += [program("nvcc", "PENSTOCK_NVCC", "TileLang kernels, penstock-nvcc",
                     "install the CUDA toolkit: https://developer.nvidia.com/cuda-downloads"),
             program("ptxas", "TRITON_PTXAS_PATH", "nothing: the emulator runs PTX", "part of the CUDA toolkit"), gpu]
    return made


def languages(found):
    """What can be checked here: pairs of a name and the command or the reason against it."""
    by_name = {item.name: item for item in found}

    def needs(*names):
        gone = [name for name in names if not by_name[name].version]
        broken = [name for name in names if not by_name[name].loads]
        reasons = [f"needs {', '.join(gone)}"] if gone else []
        reasons += [f"{', '.join(broken)} cannot be loaded"] if broken else []
        return "; ".join(reasons) or None

    return [
        ("PTX files", needs("penstock-emu") or "penstock-emu run-ptx FILE.ptx KERNEL"),
        ("Triton", needs("numpy", "triton") or "penstock_emu.triton.check"),
        ("Gluon", needs("numpy", "gluon") or "penstock_emu.gluon.check"),
        ("TileLang", needs("numpy", "tilelang", "nvcc") or "penstock_emu.tilelang.check"),
        ("CuTe DSL", needs("numpy", "cute") or "penstock_emu.cute.check"),
        ("existing tests", needs("numpy", "pytest", "torch") or "pytest --kernel-sanitizer"),
        ("CUDA programs", needs("libcudart") or "penstock-emu run PROGRAM, linked with -cudart shared"),
    ]


def text(found):
    lines = []
    width = max(len(item.name) for item in found)
    for item in found:
        shown = f"{item.version}  {item.path}".rstrip() if item.version else "missing"
        lines.append(f"{item.name:{width}}  {shown}")
        if item.problem:
            lines += [f"{'':{width}}  {line}" for line in item.problem.splitlines()]
        if not item.version and item.get != "not needed":
            lines.append(f"{'':{width}}  needed for {item.use}; {item.get}")
    lines += ["", "What can be checked here:"]
    checks = languages(found)
    width = max(len(name) for name, _ in checks)
    lines += [f"  {name:{width}}  {how}" for name, how in checks]
    return "\n".join(lines)


def main(arguments=None, name="penstock-emu doctor"):
    parser = argparse.ArgumentParser(prog=name, description=__doc__.split("\n", 1)[0])
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args(arguments)
    found = items()
    if options.format == "json":
        print(json.dumps({"items": [dict(dataclasses.asdict(item), state=item.state) for item in found],
                          "checks": dict(languages(found))}, indent=2))
    else:
        print(text(found))
    return int(any(item.required and not item.version for item in found))


if __name__ == "__main__":
    sys.exit(main())
