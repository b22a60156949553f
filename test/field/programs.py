# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA programs: those of the projects where they have one that takes sizes, otherwise ours in `hosts`."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from mutants import Mutants
from table import Result

HOSTS = pathlib.Path(__file__).resolve().parent / "hosts"
COMMON = ["-cudart", "shared", "--no-compress", "-lineinfo", "-DNDEBUG", "--expt-relaxed-constexpr",
          "--expt-extended-lambda", "-lcuda"]
FLAGS = {
    "cutlass": ["-std=c++17", "-O2", "-I{sources}/cutlass/include", "-I{sources}/cutlass/tools/util/include",
                "-I{sources}/cutlass/examples/common"],
    "ThunderKittens": ["-std=c++20", "-O3", "--use_fast_math", "-Xcompiler=-fno-strict-aliasing",
                       "-I{sources}/ThunderKittens/include", "-I{sources}/ThunderKittens/prototype"],
    "DeepGEMM": ["-std=c++20", "-O3", "-I{sources}/DeepGEMM/deep_gemm/include", "-I{sources}/cutlass/include"],
    "flash-attention": ["-std=c++17", "-O3", "--use_fast_math", "-I{sources}/flash-attention/hopper",
                        "-I{sources}/cutlass/include"],
}
COUNTS = re.compile(r"penstock-emu: (\d+) mutants?: (\d+) detected, (\d+) survivors?, (\d+) never executed; "
                    r"(\d+) of (\d+) lines executed")
RUN_TIME = re.compile(r"([0-9.]+) s in kernels")


def found_in(text, what="findings in"):
    """Findings in the output of `penstock-emu run --format json`."""
    found = []
    decoder = json.JSONDecoder()
    for part in text.split(f"penstock-emu: {what} kernel ")[1:]:
        start = part.find("\n") + 1
        found += decoder.raw_decode(part[start:].lstrip())[0]["diagnostics"]
    return found


@dataclasses.dataclass
class Program:
    """`passed` is what it prints if its own verification passes; `checked` matches the kernels that are checked."""
    project: str
    name: str
    source: str  # below the checkout, or of `hosts`
    arch: str
    arguments: list
    warps: int  # of a cluster
    passed: str = "verified"
    checked: str = "."
    kernel: str = ""  # the file that a host program includes
    defines: list = dataclasses.field(default_factory=list)
    minutes: int = 2  # of nvcc

    def binary(self, options):
        made = options.work / re.sub(r"\W+", "-", self.name.lower())
        folder = HOSTS if "/" not in self.source else options.sources / self.project
        source = folder / self.source
        if made.exists() and made.stat().st_mtime > max(source.stat().st_mtime, (HOSTS / "Host.h").stat().st_mtime):
            return made
        flags = [flag.format(sources=options.sources.resolve()) for flag in FLAGS[self.project]]
        if self.kernel:
            flags.append(f'-DKERNEL_FILE="{(options.sources / self.project / self.kernel).resolve()}"')
        target = self.arch[3:]
        print(f"nvcc: {self.name}, about {self.minutes} minutes", file=sys.stderr, flush=True)
        result = subprocess.run(["nvcc", *COMMON, *flags, *self.defines, "-I", HOSTS,
                                 f"-gencode=arch=compute_{target},code=compute_{target}", source, "-o", made],
                                capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{self.name}: nvcc:\n{result.stderr[-3000:]}")
        return made

    def run(self, options, timings):
        binary = self.binary(options)
        return [] if options.build_only else [self.run_once(options, binary, timing) for timing in timings]

    def mutants(self, options):
        """Mutants of the first kernel that is checked, at its first launch. The rest runs unchecked."""
        command = [options.build / "bin/penstock-emu", "run", "--kernel", "^$", "--mutate", self.checked, "--format", "json",
                   self.binary(options), *self.arguments]
        start = time.monotonic()
        ran = subprocess.run(["timeout", str(options.timeout * 20), *command], capture_output=True, text=True,
                             errors="replace")
        seconds = time.monotonic() - start
        if (counts := COUNTS.search(ran.stderr)) is None:
            return Mutants(self.name, {}, problem=f"exit code {ran.returncode}: {ran.stderr[-300:]}")
        names = ("mutants", "detected", "survivors", "unexecuted", "executed_lines", "lines")
        return Mutants(self.name, dict(zip(names, map(int, counts.groups()))), found_in(ran.stderr, "mutants of"),
                       seconds)

    def run_once(self, options, binary, timing):
        command = [options.build / "bin/penstock-emu", "run", "--timing", timing, "--kernel", self.checked,
                   "--format", "json", binary, *self.arguments]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            start = time.monotonic()
            child = subprocess.Popen(["timeout", str(options.timeout), *command], stdout=out, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
            out.seek(0), errors.seek(0)
            text, error = out.read().decode(errors="replace"), errors.read().decode(errors="replace")
        right = child.returncode == 0 and re.search(self.passed, text) is not None
        problem = "" if right else f"exit code {child.returncode}: {text[-400:]} {error[-400:]}"
        if (spent := RUN_TIME.search(error)) is None:
            return Result(timing, False, seconds=seconds, bytes=usage.ru_maxrss * 1024, problem=problem or "no summary")
        return Result(timing, right, found_in(error), float(spent.group(1)), usage.ru_maxrss * 1024, problem)


def cutlass(name, source, arch, arguments, warps, **more):
    return Program("cutlass", "CUTLASS " + name, "examples/" + source, arch, arguments + ["--iterations=0"], warps,
                   more.pop("passed", "Disposition: Passed"), more.pop("checked", "device_kernel"), **more)


def tutorial(name, source, arch, warps, *arguments, passed="Execution is successful", checked="gemm_device"):
    return Program("cutlass", "CUTLASS tutorial " + name, "examples/cute/tutorial/" + source, arch, list(arguments), warps,
                   passed, checked)


def level(target, number, size, warps):
    arch, folder, define = {"h100": ("sm_90a", "educational_h100", "-DKITTENS_HOPPER"),
                            "b200": ("sm_100a", "educational_b200", "-DKITTENS_BLACKWELL")}[target]
    return Program("ThunderKittens", f"ThunderKittens {target} level {number}", "TkLevel.cu", arch, [str(size)], warps,
                   kernel=f"kernels/gemm/{folder}/level_{number:02}.cu", defines=[define])


def deep_gemm(name, source, arch, arguments, cluster, threads, *defines):
    return Program("DeepGEMM", f"DeepGEMM {name}, cluster {cluster}", source, arch, arguments, cluster * threads // 32,
                   defines=[f"-DCLUSTER={cluster}", *defines])


def flash_attention(depth, causal, length):
    return Program("flash-attention", f"FlashAttention-3 forward {depth}{' causal' if causal else ''}",
                   "FlashAttention3.cu", "sm_90a", [str(length)], 12,
                   defines=[f"-DDEPTH={depth}", f"-DCAUSAL={'true' if causal else 'false'}"])


KERNELS = [
    cutlass("48", "48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu", "sm_90a",
            ["--m=256", "--n=256", "--k=512"], 24),
    cutlass("54 fp8", "54_hopper_fp8_warp_specialized_gemm/54_hopper_fp8_warp_specialized_gemm.cu", "sm_90a",
            ["--m=256", "--n=256", "--k=512"], 24),
    cutlass("70 fp16", "70_blackwell_gemm/70_blackwell_fp16_gemm.cu", "sm_100a", ["--m=256", "--n=256", "--k=512"], 16),
    cutlass("72a nvfp4", "72_blackwell_narrow_precision_gemm/72a_blackwell_nvfp4_bf16_gemm.cu", "sm_100a",
            ["--m=256", "--n=256", "--k=1024"], 16),
    # The first of its three kernels has four warps, and the timing is one for all.
    cutlass("88 attention", "88_hopper_fmha/88_hopper_fmha.cu", "sm_90a",
            ["--b=1", "--h=1", "--q=256", "--k=256", "--d=64", "--verify"], 4, passed=r"\[OK\]", minutes=15),
    tutorial("tiled_copy", "tiled_copy.cu", "sm_90a", 8, passed="Success", checked="copy_kernel"),
    tutorial("01", "blackwell/01_mma_sm100.cu", "sm_100a", 4, "256", "512", "128"),
    tutorial("02", "blackwell/02_mma_tma_sm100.cu", "sm_100a", 4, "512", "1024", "128"),
    tutorial("03", "blackwell/03_mma_tma_multicast_sm100.cu", "sm_100a", 64, "512", "1024", "128"),
    tutorial("04", "blackwell/04_mma_tma_2sm_sm100.cu", "sm_100a", 64, "512", "1024", "128"),
    tutorial("05", "blackwell/05_mma_tma_epi_sm100.cu", "sm_100a", 64, "512", "1024", "128"),
    Program("ThunderKittens", "ThunderKittens bf16 h100", "TkHopper.cu", "sm_90a", ["256", "512"], 12,
            kernel="kernels/gemm/bf16_h100/bf16_h100_gemm.cu", defines=["-DKITTENS_HOPPER"]),
    Program("ThunderKittens", "ThunderKittens bf16 b200", "TkBlackwell.cu", "sm_100a", ["512"], 24,
            kernel="kernels/gemm/bf16_b200/bf16_b200_gemm.cu",
            defines=["-DKITTENS_BLACKWELL"]),
    Program("ThunderKittens", "ThunderKittens attention h100", "TkAttention.cu", "sm_90a", ["2", "384"], 16,
            kernel="kernels/attention/mha_h100_lcf/mha_h100_lcf.cu", defines=["-DKITTENS_HOPPER"]),
    level("h100", 4, 256, 1), level("h100", 5, 256, 1), level("h100", 6, 256, 4), level("h100", 7, 256, 8),
    level("h100", 8, 256, 12), level("b200", 5, 512, 1), level("b200", 7, 512, 4), level("b200", 9, 512, 24),
    deep_gemm("fp8 sm_90", "DeepGemmFp8.cu", "sm_90a", ["512", "512", "1024"], 1, 384),
    deep_gemm("fp8 sm_90", "DeepGemmFp8.cu", "sm_90a", ["512", "512", "1024"], 2, 384),
    deep_gemm("bf16 sm_90", "DeepGemmBf16.cu", "sm_90a", ["512", "256", "512"], 1, 384),
    deep_gemm("bf16 sm_90", "DeepGemmBf16.cu", "sm_90a", ["512", "256", "512"], 2, 384),
    deep_gemm("bf16 sm_100", "DeepGemmBf16.cu", "sm_100a", ["512", "256", "512"], 2, 256, "-DBLACKWELL"),
    flash_attention(64, False, 768),
    flash_attention(64, True, 512),
]
