# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pytest --kernel-sanitizer: runs the kernels of existing tests on the emulator and checks them.

Launches of Triton, Gluon, TileLang and CuTe DSL are intercepted. Tensors on `cuda` are in host memory, and torch's
operators run on the CPU. Without the option the plugin does nothing.
"""

import importlib.metadata
import re

import pytest

KEY = "penstock_sanitizer"
TIERS = ("note", "undefined", "wrong")

# pluggy 1.2 has wrappers that return values, which runs with pytest 7.0 and later.
NEEDED = {"pytest": (7, 0), "pluggy": (1, 2)}


def blocks(text):
    """The number of blocks to check; 0: all."""
    return 0 if text == "all" else int(text)


def pytest_addoption(parser):
    group = parser.getgroup("kernel-sanitizer", "check GPU kernels on an emulator")
    group.addoption("--kernel-sanitizer", action="store_true",
                    help="run kernels of Triton, Gluon, TileLang and CuTe DSL on an emulator, and report races, missing "
                    "fences, deadlocks and wrong accesses")
    group.addoption("--kernel-sanitizer-arch", type=int, default=90, metavar="CAPABILITY",
                    help="compute capability that kernels are compiled for (90)")
    group.addoption("--kernel-sanitizer-fail-on", choices=TIERS, default="wrong", metavar="TIER",
                    help="lowest tier of findings that fails a test: note, undefined or wrong (wrong)")
    group.addoption("--kernel-sanitizer-timings", type=int, default=2, metavar="N",
                    help="timings that each launch runs in: eager, lazy, then random ones (2)")
    group.addoption("--kernel-sanitizer-blocks", type=blocks, default=64, metavar="N|all",
                    help="check a sample of this many blocks of larger launches; all blocks run for their results (64)")
    group.addoption("--kernel-sanitizer-max-instructions", type=int, default=100_000_000, metavar="N",
                    help="instructions of warps in one launch; a test with a longer one is skipped (100000000)")
    group.addoption("--kernel-sanitizer-max-memory", type=int, default=256, metavar="MIB",
                    help="memory that one launch may refer to; a test with a larger one is skipped (256)")
    group.addoption("--kernel-sanitizer-report", action="append", default=[], metavar="FILE",
                    help="write all findings to a file that ends with .html, .sarif, .json or .txt; may be repeated")


def too_old():
    """A message about versions that are too old, or None."""
    problems = []
    for name, needed in NEEDED.items():
        version = importlib.metadata.version(name)
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < needed:
            problems.append(f"{name} {version} is older than {'.'.join(map(str, needed))}")
    if not problems:
        return None
    packages = " ".join(f"'{name}>={'.'.join(map(str, needed))}'" for name, needed in NEEDED.items())
    return f"--kernel-sanitizer: {' and '.join(problems)}. Upgrade both: pip install {packages}"


def sanitizer(options):
    if problem := too_old():
        raise pytest.UsageError(problem)
    try:
        from ._pytest_hooks import Sanitizer
        return Sanitizer(options)
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise pytest.UsageError("--kernel-sanitizer: numpy is missing: pip install numpy") from error


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    # Before any conftest.py asks torch for a GPU.
    if early_config.known_args_namespace.kernel_sanitizer:
        early_config._penstock_sanitizer = sanitizer(early_config.known_args_namespace)


def pytest_configure(config):
    if not config.getoption("kernel_sanitizer"):
        return
    made = getattr(config, "_penstock_sanitizer", None) or sanitizer(config.option)
    made.config = config
    config.pluginmanager.register(made, KEY)


def pytest_unconfigure(config):
    made = config.pluginmanager.get_plugin(KEY)
    if made is not None:
        config.pluginmanager.unregister(made)
        made.restore()
