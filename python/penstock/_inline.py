"""Kernels as C++ source in a string, compiled once by the system's compiler."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
from typing import Sequence

from ._errors import refuse
from ._kernels import Library, load
from ._library import PACKAGE, path, version

_PROLOGUE = "#include <penstock/penstock.h>\nusing namespace penstock;\n"


def _compiler() -> list[str]:
    """$CXX, or the first of c++, g++ and clang++."""
    if given := os.environ.get("CXX"):
        return shlex.split(given)
    for name in ("c++", "g++", "clang++"):
        if found := shutil.which(name):
            return [found]
    raise refuse("PS1769", "no C++ compiler is installed", "install g++ 12 or later, or set CXX")


def _directory() -> pathlib.Path:
    """Beside the cache of compiled kernels."""
    base = os.environ.get("PENSTOCK_CACHE_DIR")
    if not base:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        base = os.path.join(home, "penstock")
    return pathlib.Path(base) / "inline"


def _include() -> str:
    return os.environ.get("PENSTOCK_INCLUDE") or os.path.join(PACKAGE, "include")


def inline(source: str, *, flags: Sequence[str] = ()) -> Library:
    """Compiles C++ source with kernels that PENSTOCK_KERNEL registers, and loads it.

    ``<penstock/penstock.h>`` and ``using namespace penstock`` precede the source. The library is
    kept in the cache directory: the same source is compiled once. Raises penstock.Error with the
    compiler's messages.
    """
    compiler = _compiler()
    library = path()
    # Hidden, because kernels of one name in two libraries would share C++ symbols otherwise.
    command = [*compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-I", _include(), *flags]
    shown = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False).stdout
    key = hashlib.sha256("\0".join((source, shown, version(), os.path.realpath(library), *command)).encode()).hexdigest()[:32]
    directory = _directory()
    made = directory / f"{key}.so"
    if not made.exists():
        directory.mkdir(parents=True, exist_ok=True)
        text = directory / f"{key}.cpp"
        # Diagnostics of kernels name this file and count lines as in the string.
        text.write_text(_PROLOGUE + f'#line 1 "{text}.txt"\n' + source, encoding="utf-8")
        pathlib.Path(f"{text}.txt").write_text(source, encoding="utf-8")
        with tempfile.TemporaryDirectory(dir=directory) as work:
            # Renamed when it is complete, because other processes may look for it.
            unfinished = os.path.join(work, "kernels.so")
            run = subprocess.run([*command, str(text), library, "-o", unfinished], capture_output=True, text=True,
                                 check=False)
            if run.returncode:
                raise refuse("PS1769", f"the C++ source of a kernel does not compile:\n{run.stderr.rstrip()}",
                             f"the command was: {shlex.join([*command, str(text)])}")
            os.replace(unfinished, made)
    kernels = load(made)
    if not kernels:
        raise refuse("PS1769", "the C++ source registers no kernel",
                     "add `PENSTOCK_KERNEL(Name);` after the kernel `Name`")
    return kernels
