#!/usr/bin/env python3
"""Runs a script in an environment with Triton, TileLang and torch from PyPI: environment.py ENVIRONMENT SCRIPT [ARGUMENT ..]

Torch is installed without its packages of CUDA, as in wheel.py: those libraries come from the CUDA toolkit. Exit code 77
(skipped): the packages cannot be installed.
"""

import os
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["numpy", "pytest", "triton==3.9.0", "filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec",
            "setuptools", "z3-solver==4.15.4.0", "ml-dtypes", "psutil", "cloudpickle", "tqdm"]
TILELANG = ["tilelang==0.1.15", "apache-tvm-ffi==0.1.12"]
TORCH = ["torch==2.15.0", "nvidia-cufile", "nvidia-cusparselt-cu13", "nvidia-nvshmem-cu13", "nvidia-nccl-cu13==2.30.7"]


def libraries(environment):
    folders = [*environment.glob("lib/python*/site-packages/nvidia/*/lib"),
               pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"]
    return os.pathsep.join(map(str, folders))


def main():
    environment, *command = sys.argv[1:]
    environment = pathlib.Path(environment).resolve()
    python = environment / "bin/python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    for packages in (PACKAGES, ["--no-deps", *TORCH, *TILELANG]):
        if subprocess.run([python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *packages]).returncode:
            print("the packages cannot be installed from PyPI")
            sys.exit(77)
    sys.exit(subprocess.run([python, *command], env=dict(os.environ, LD_LIBRARY_PATH=libraries(environment))).returncode)


main()
