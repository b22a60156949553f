#!/usr/bin/env python3
"""Lines python/wheel (MB), python/import (ms) and python/call (us above C++) of benchmarks/report.

    measure.py BUILD --only PREFIX

Needs the wheels of packaging/build-wheels, and an environment in which they are installed with torch:
$PENSTOCK_PYTHON, or that of the test python-wheel. Lines that cannot be measured are left out, with
the reason on standard error.
"""

import os
import pathlib
import subprocess
import sys

build, only = pathlib.Path(sys.argv[1]), sys.argv[3]
root = pathlib.Path(__file__).resolve().parents[2]
python = os.environ.get("PENSTOCK_PYTHON") or str(build / "wheel-test" / "venv" / "bin" / "python")
# As in the other benchmarks, on a machine that others use.
clock = "process_time" if os.environ.get("PENSTOCK_BENCH_CPU_TIME") else "perf_counter"
CALL = """
from time import CLOCK as clock
import torch
from penstock import kernels
kernel = kernels.library["SwiGlu"].compile()
gate, up, y = (torch.zeros(1, 64, dtype=torch.float16) for _ in range(3))
best = 1e9
for _ in range(200):
    started = clock()
    for _ in range(200):
        kernel(gate, up, y)
    best = min(best, (clock() - started) / 200)
print(best * 1e6)
"""
IMPORT = """
from time import CLOCK as clock
started = clock()
import penstock
print((clock() - started) * 1e3)
"""


def output(*command):
    command = [word.replace("CLOCK", clock) for word in command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    site = sorted(pathlib.Path(python).parents[1].glob("lib/python*/site-packages/nvidia/*/lib"))
    if site:  # torch of PyPI, without its own packages of CUDA
        cuda = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"
        environment["LD_LIBRARY_PATH"] = ":".join(map(str, [*site, cuda]))
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def wheel():
    found = [*(root / "build-package" / "wheels").glob("penstock-*.whl"), *(build / "wheel-test" / "first").glob("penstock-*.whl")]
    return found[0].stat().st_size / 1e6


def call():
    ours = output(python, "-c", CALL)
    return ours - output(str(build / "benchmarks" / "python-call"))


LINES = {
    "python/wheel": (wheel, 30, "MB"),
    "python/import": (lambda: min(output(python, "-c", IMPORT) for _ in range(10)), 50, "ms"),
    "python/call": (call, 1.5, "us above C++"),
}
for name, (measure, limit, unit) in LINES.items():
    if not name.startswith(only):
        continue
    try:
        ours = measure()
    except (IndexError, OSError, subprocess.CalledProcessError) as error:
        print(f"{name} is not measured: {getattr(error, 'stderr', None) or error}", file=sys.stderr)
        continue
    print(f"{name}\t{ours:.2f}\t{limit}\t{ours / limit:.2f}\t{unit}")
