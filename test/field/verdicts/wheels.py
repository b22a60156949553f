# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pinned packages of PyPI, each version in its own folder, so that several versions of a compiler exist side by side."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

NUMPY = "numpy==1.26.4"
# Packages that TileLang imports. Its wheels contain TVM, but not its foreign-function interface, whose version must match.
TILELANG = [NUMPY, "z3-solver==4.15.4.0", "ml-dtypes==0.5.4", "psutil==7.1.3", "cloudpickle==3.1.2", "tqdm==4.67.1",
            "typing-extensions==4.15.0"]
FFI = {"0.1.8": "0.1.6", "0.1.11": "0.1.10", "0.1.12": "0.1.11", "0.1.13": "0.1.12", "0.1.15": "0.1.12"}

STAND_INS = pathlib.Path(__file__).resolve().parent / "standins"

ENVIRONMENTS = {"plain": [NUMPY]}
for _version in ("3.4.0", "3.5.1", "3.6.0", "3.7.0", "3.7.1", "3.8.0", "3.9.0"):
    ENVIRONMENTS[f"triton {_version}"] = [NUMPY, f"triton=={_version}"]
# Projects whose kernels are controls. They are not imported as a whole.
ENVIRONMENTS["controls"] = [NUMPY, "triton==3.9.0", "liger-kernel==0.8.5", "sageattention==1.0.6"]
for _version, _ffi in FFI.items():
    ENVIRONMENTS[f"tilelang {_version}"] = TILELANG + [f"apache-tvm-ffi=={_ffi}", f"tilelang=={_version}"]

_locks = {}
_guard = threading.Lock()
_failed = {}


class Missing(RuntimeError):
    """A package that cannot be installed."""


def folder_of(requirement, work):
    """Installs one package, without those it depends on, unless its folder exists."""
    folder = work / "wheels" / requirement.replace("==", "-")
    with _guard:
        lock = _locks.setdefault(requirement, threading.Lock())
    with lock:
        if folder.is_dir():
            return folder
        if requirement in _failed:
            raise Missing(_failed[requirement])
        print(f"pip: {requirement}", file=sys.stderr, flush=True)
        partial = folder.with_name(folder.name + ".part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:",
                               "--target", partial, requirement], capture_output=True, text=True)
        if made.returncode:
            shutil.rmtree(partial, ignore_errors=True)
            _failed[requirement] = f"pip cannot install {requirement}"
            raise Missing(_failed[requirement])
        partial.rename(folder)
        return folder


def variables(environment, work):
    """Environment variables that make the packages of an environment importable."""
    folders = [folder_of(requirement, work) for requirement in ENVIRONMENTS[environment]]
    if environment.startswith("tilelang") or environment == "controls":
        folders.append(STAND_INS)
    libraries = [str(folder / "z3/lib") for folder in folders if (folder / "z3/lib").is_dir()]
    made = {"TRITON_CACHE_DIR": str(work / "cache" / environment.replace(" ", "-")), "TILELANG_DISABLE_CACHE": "1",
            "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
            "TILELANG_CACHE_DIR": str(work / "cache" / environment.replace(" ", "-"))}
    if libraries:
        made["LD_LIBRARY_PATH"] = os.pathsep.join(libraries + [os.environ.get("LD_LIBRARY_PATH", "")]).strip(os.pathsep)
    return [pathlib.Path(folder) for folder in folders], made
