#!/usr/bin/env python3
# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the emulator's wheel without the compiler, and uses it as a new user of docs/how-to/check-in-ci.md does.

    new_user.py SOURCE WORK

From an empty environment to the finding of a race in a Triton kernel it may take five minutes, with the downloads.
Exit code 77 (skipped): PyPI cannot be reached.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

SOURCE, WORK = (pathlib.Path(path).resolve() for path in sys.argv[1:])
LIMIT = 300  # seconds
PROJECT = pathlib.Path(__file__).resolve().parent / "project"


def run(*command, **options):
    print("$", *command, flush=True)
    return subprocess.run([str(word) for word in command], **options)


def expect(holds, text):
    if not holds:
        sys.exit(text)


run(SOURCE / "packaging" / "build-wheels", "--emulator", "--build", WORK / "build", "--output", WORK / "wheels", check=True)
cache = (WORK / "build" / "CMakeCache.txt").read_text()
expect("LLVM_DIR" not in cache and "MLIR_DIR" not in cache, "the build has looked for LLVM")
[wheel] = (WORK / "wheels").glob("*.whl")
expect(wheel.stat().st_size < 20e6, f"{wheel.name} has {wheel.stat().st_size} bytes")

# No compiler of ours, no torch, no variable that names our files.
environment = {name: value for name, value in os.environ.items()
               if not name.startswith(("PENSTOCK", "PYTHON", "LD_")) and name != "VIRTUAL_ENV"}
started = time.monotonic()
run(sys.executable, "-m", "venv", "--clear", WORK / "venv", check=True, env=environment)
programs = WORK / "venv" / "bin"
if run(programs / "pip", "install", "--quiet", wheel, "triton==3.9.0", "numpy", "pytest", env=environment).returncode:
    print("PyPI cannot be reached")
    sys.exit(77)
tested = run(programs / "python", "-m", "pytest", "-p", "no:cacheprovider", PROJECT, env=environment, cwd=WORK,
             capture_output=True, text=True)
seconds = time.monotonic() - started
print(tested.stdout, tested.stderr, f"from nothing to the finding: {seconds:.0f} s", sep="\n", flush=True)
# One test passes; the other one fails, and names the load and the store.
expect(tested.returncode == 1 and "1 failed, 1 passed" in tested.stdout, "the tests ended otherwise")
expect("error PS2101: data race on" in tested.stdout, "the race was not found")
for line in ("tl.store(x + row * N + N, total)", "tl.load(x + row * N + i"):
    expect(line in tested.stdout, f"the finding does not quote `{line}`")
expect(seconds < LIMIT, f"it took {seconds:.0f} s, at most {LIMIT} are allowed")

# The test of a Triton kernel that README.md and docs/start/check-a-kernel.md show, and the finding below it.
for page in ("README.md", "docs/start/check-a-kernel.md"):
    text = (SOURCE / page).read_text()
    code = re.search(r"```python\n(import numpy as np\n.*?)```", text, re.S).group(1)
    shown = re.search(r"```\n(my_kernels\.py:\d+: error PS2101.*?)\n```", text, re.S).group(1)
    folder = WORK / "readme"
    folder.mkdir(exist_ok=True)
    (folder / "my_kernels.py").write_text((PROJECT.parent / "readme" / "my_kernels.py").read_text())
    (folder / "test_kernels.py").write_text(code)
    tested = run(programs / "python", "-m", "pytest", "-p", "no:cacheprovider", "test_kernels.py",
                 env={**environment, "TRITON_CACHE_DIR": str(folder / "cache")}, cwd=folder, capture_output=True, text=True)
    printed = re.sub(r"^E {11}", "", tested.stdout, flags=re.M).replace(f"{folder}/", "")
    expect(tested.returncode == 1 and shown in printed, f"{page} shows\n{shown}\nand not\n{tested.stdout}{tested.stderr}")

# The Triton kernel of docs/how-to/porting.md.
tested = run(programs / "python", "-m", "pytest", "-p", "no:cacheprovider", "-k", "triton", SOURCE / "test/docs/porting",
             env={**environment, "PYTHONDONTWRITEBYTECODE": "1"}, cwd=WORK, capture_output=True, text=True)
expect(tested.returncode == 0, tested.stdout + tested.stderr)

# The tools of the wheel.
version = run(programs / "penstock-emu", "--version", env=environment, capture_output=True, text=True, check=True)
expect("penstock-emu" in version.stdout, version.stdout)
parsed = run(programs / "penstock-emu", "parse", SOURCE / "test" / "tools" / "Inputs" / "race.ptx", env=environment,
             capture_output=True, text=True, check=True)
expect("1 kernels, 0 problems" in parsed.stdout, parsed.stdout)

# pytest finds the plugin of the wheel by itself.
options = run(programs / "python", "-m", "pytest", "--help", env=environment, cwd=WORK, capture_output=True, text=True, check=True)
expect("--kernel-sanitizer" in options.stdout, "pytest does not load the plugin of the wheel")
