# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of languages in Python: `dsl` has a file for each language, which runs in the interpreter of `--python`."""

import dataclasses
import json
import os
import pathlib
import subprocess
import time

from mutants import Mutants
from table import Result

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class PythonKernel:
    project: str
    case: str  # a function of dsl/PROJECT.py
    warps: int

    @property
    def name(self):
        return f"{self.project} {self.case}"

    def start(self, options, words, timeout):
        """Runs the case; returns the process and the results that it printed."""
        variables = dict(os.environ, PYTHONPATH=str(HERE.parents[1] / "python"),
                         PENSTOCK_EMU_LIBRARY=str(options.build / "lib/libpenstock_emu.so"),
                         FIELD_WORK=str(options.work), FIELD_SOURCES=str(options.sources))
        command = [options.python, HERE / "dsl" / (self.project.lower().replace(" ", "_") + "_kernels.py"), self.case]
        ran = subprocess.run([*command, *words], env=variables, capture_output=True, text=True, timeout=timeout)
        return ran, [json.loads(line[7:]) for line in ran.stdout.splitlines() if line.startswith("result ")]

    def mutants(self, options):
        start = time.monotonic()
        try:
            ran, results = self.start(options, ["mutants"], options.timeout * 20)
        except subprocess.TimeoutExpired:
            return Mutants(self.name, {}, problem="no end within the time limit")
        if ran.returncode or not results:
            return Mutants(self.name, {}, problem=f"exit code {ran.returncode}: {ran.stderr[-300:]}")
        return Mutants(self.name, seconds=time.monotonic() - start, **results[0])

    def run(self, options, timings):
        if options.build_only:
            return []
        start = time.monotonic()
        try:
            ran, results = self.start(options, timings, options.timeout * len(timings))
        except subprocess.TimeoutExpired:
            return [Result("all", False, seconds=time.monotonic() - start, problem="no end within the time limit")]
        results = [Result(**result) for result in results]
        if ran.returncode or len(results) != len(timings):
            results.append(Result("all", False, problem=f"exit code {ran.returncode}: {ran.stderr[-600:]}"))
        return results


KERNELS = [PythonKernel("Triton", f"{case} sm_{target}", warps)
           for case, warps in (("matmul_pointers", 8), ("matmul_descriptors", 4), ("matmul_persistent", 4),
                               ("attention", 8), ("softmax", 4), ("two_uses", 4), ("carried", 4))
           for target in (90, 100)]
KERNELS += [PythonKernel("Triton", "matmul_specialized sm_100", 8)]
KERNELS += [PythonKernel("TileLang", case, warps) for case, warps in (("gemm", 8), ("softmax", 4))]
KERNELS += [PythonKernel("CuTe DSL", "reverse", 4)]
KERNELS += [PythonKernel("Tilus", f"product sm_{target}", 4) for target in (90, 100)]
# The example of CUTLASS is in its checkout.
FROM_SOURCES = [PythonKernel("CuTe DSL", "dense_gemm", 16)]
