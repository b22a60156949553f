#!/usr/bin/env python3
"""Builds the wheels, installs them into an empty environment, and uses them as a new user would.

    wheel.py SOURCE WORK [--torch]

Exit code 77 (skipped): PyPI cannot be reached.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

source, work = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
with_torch = "--torch" in sys.argv
tests = source / "test" / "python"
work.mkdir(parents=True, exist_ok=True)
TORCH = ["torch==2.15.0", "nvidia-cufile", "nvidia-cusparselt-cu13", "nvidia-nvshmem-cu13", "nvidia-nccl-cu13==2.30.7"]


def run(command, **options):
    print("$", *command, flush=True)
    subprocess.run([str(c) for c in command], check=True, **options)


def digests(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.whl"))}


subprocess.run(["rm", "-rf", work / "first", work / "second"], check=True)
build = source / "build-package"
run([source / "packaging" / "build-wheels", "--output", work / "first"])
# A second link and a second archive have equal bytes.
for name in ("libpenstock.so.0.1.0", "libpenstock_gallery.so"):
    (build / "lib" / name).unlink()
run([source / "packaging" / "build-wheels", "--output", work / "second"])
assert digests(work / "first") == digests(work / "second"), "two builds differ"
wheels = sorted((work / "first").glob("*.whl"))
largest = next(w for w in wheels if w.name.startswith("penstock-"))
assert largest.stat().st_size <= 30e6, f"{largest.name} has {largest.stat().st_size / 1e6:.1f} MB"

started = time.monotonic()
venv = work / "venv"
python = venv / "bin" / "python"
run([sys.executable, "-m", "venv", "--clear", venv])
pip = [python, "-m", "pip", "install", "-q", "--find-links", work / "first"]
if subprocess.run([*pip, "numpy", "apache-tvm-ffi"], check=False).returncode:
    print("PyPI cannot be reached")
    sys.exit(77)
run([*pip, *wheels])
environment = {k: v for k, v in os.environ.items() if not k.startswith(("PENSTOCK_", "PYTHON"))}
environment["PENSTOCK_CACHE_DIR"] = str(work / "cache")
# The example of the README, from the README.
readme = (source / "README.md").read_text()
section = readme[readme.index("## From Python"):readme.index("## Diagnostics")]
example, torch_example = re.findall(r"```python\n(.*?)```", section, re.S)
run([python, "-c", example], env=environment, cwd=work)
run([python, tests / "test_numpy.py"], env=environment, cwd=work)
for target in ("native", "sm_90a:emulated", "sm_100a:emulated"):
    run([python, tests / "test_gallery.py", target], env=environment, cwd=work)
for device in ("h100", "b200"):
    shim = venv.glob("lib/python*/site-packages/penstock_emu/lib/cuda-shim")
    folder = next(shim, source / "build-ci" / "lib" / "cuda-shim")
    run([python, tests / "test_numpy.py"], cwd=work,
        env={**environment, "LD_LIBRARY_PATH": str(folder), "PENSTOCK_EMU_DEVICE": device})
run([venv / "bin" / "penstock", "--version"], env=environment)
print(f"installed and used in {time.monotonic() - started:.0f} s", flush=True)

if with_torch:
    if subprocess.run([*pip, "--no-deps", *TORCH], check=False).returncode:
        print("torch cannot be installed")
        sys.exit(77)
    run([*pip, "filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "jax"])
    site = next(venv.glob("lib/python*/site-packages"))
    folders = [*site.glob("nvidia/*/lib"), pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"]
    environment["LD_LIBRARY_PATH"] = ":".join(map(str, folders))
    run([python, "-c", example + torch_example], env=environment, cwd=work)
    for test in ("test_torch.py", "test_jax.py"):
        run([python, tests / test], env=environment, cwd=work)
