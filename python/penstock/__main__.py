"""`python -m penstock COMMAND kernels.py [KERNEL]`: reports of kernels in Python.

The `penstock` tool cannot load Python, so this does the same for kernels of penstock.lang. For
shared libraries and tile programs it runs the tool.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import sys
from typing import Any

from . import Error
from ._errors import refuse


def _kernels(path: str) -> dict[str, Any]:
    """The kernels of a file, by the names of its variables."""
    from .lang import Kernel

    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise refuse("PS1502", f"`{path}` cannot be read")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if isinstance(value, Kernel)}


def _settings(texts: list[str]) -> dict[str, str]:
    """Names and values of `a=1,b=2`."""
    found = {}
    for text in ",".join(texts).split(","):
        if text:
            name, separator, value = text.partition("=")
            if not separator:
                raise refuse("PS1501", f"`{text}` is not NAME=VALUE", "for example: --shape M=256,N=256,K=64")
            found[name] = value
    return found


def _fields(kernel: Any, texts: dict[str, str]) -> dict[str, Any]:
    """Values of fields in the types of their defaults."""
    found: dict[str, Any] = {}
    for name, text in texts.items():
        kind = type(kernel._values.get(name, ""))
        try:
            found[name] = text == "true" if kind is bool else kind(text)
        except ValueError:
            raise refuse("PS1006", f"\"{text}\" is not a value of the field `{name}`") from None
    return found


def _run(options: argparse.Namespace) -> int:
    known = _kernels(options.file)
    names = {kernel.name: kernel for kernel in known.values()} | known
    if options.command == "list":
        for kernel in {id(k): k for k in known.values()}.values():
            print(f"{kernel.name}  {kernel.signature}  {' '.join(f'{n}={v}' for n, v in kernel.fields.items())}".rstrip())
        return 0
    if options.kernel is None and len(known) == 1:
        options.kernel = next(iter(known))
    if options.kernel not in names:
        raise refuse("PS1503", f"`{options.file}` has no kernel `{options.kernel or ''}`", "it has: " + ", ".join(known))
    kernel = names[options.kernel]
    fields = _fields(kernel, _settings(options.set))
    sizes = {name: float(value) for name, value in _settings(options.shape).items()}
    if options.command == "print":
        print(kernel.program(**fields), end="")
    elif options.command == "explain":
        print(kernel.explain(options.target, **fields), end="")
    elif options.command == "trace":
        output = options.output or f"{kernel.name}.svg"
        pathlib.Path(output).write_text(str(kernel.timeline(options.target, sizes or None, **fields)), encoding="utf-8")
        print(f"drew {output}")
    elif options.command == "check":
        print(json.dumps(kernel.check(options.target, sizes or None, options.timings, **fields), indent=1))
    else:
        print(json.dumps(kernel.with_fields(**fields).tune(options.target, sizes), indent=1))
    return 0


def main(arguments: list[str]) -> int:
    if not any(a.endswith(".py") for a in arguments) and not {"-h", "--help"} & set(arguments):
        from ._tool import main as tool

        sys.argv[1:] = arguments
        tool()  # does not return
    parser = argparse.ArgumentParser("python -m penstock", description="Reports of kernels in Python.")
    parser.add_argument("command", choices=["list", "print", "explain", "trace", "check", "tune"])
    parser.add_argument("file", help="kernels.py")
    parser.add_argument("kernel", nargs="?", help="variable or name of the kernel")
    parser.add_argument("--target", default="sm_90a", help="native, sm_90a, sm_100a, ..")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE,..", help="fields of the kernel")
    parser.add_argument("--shape", action="append", default=[], metavar="SIZE=VALUE,..", help="sizes and scalars")
    parser.add_argument("--timings", type=int, default=20, help="of `check`")
    parser.add_argument("--output", help="picture of `trace`")
    try:
        return _run(parser.parse_args(arguments))
    except Error as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
