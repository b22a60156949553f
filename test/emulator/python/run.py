#!/usr/bin/env python3
# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Python tests of the emulator in an environment of their own: run.py LIBRARY MODULE_FOLDER ENVIRONMENT [TESTS]

TESTS is a folder with a requirements.txt, by default the folder of this script."""

import os
import pathlib
import subprocess
import sys
import venv

SKIPPED = 77


def main():
    library, module, environment, *tests = sys.argv[1:]
    folder = pathlib.Path(tests[0]).resolve() if tests else pathlib.Path(__file__).resolve().parent
    python = pathlib.Path(environment) / "bin/python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    install = subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", folder / "requirements.txt"])
    if install.returncode:
        print("the packages of requirements.txt cannot be installed")
        sys.exit(SKIPPED)
    variables = dict(os.environ, PENSTOCK_EMU_LIBRARY=library, PYTHONPATH=module, TRITON_DEFAULT_FP_FUSION="1")
    sys.exit(subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder], env=variables).returncode)


main()
