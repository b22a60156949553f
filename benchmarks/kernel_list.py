"""Kernels of the examples and the gallery, for commands that compile all of them."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = ["lib/libexample_kernels.so", "lib/libexample_device_kernels.so", "lib/libpenstock_gallery.so"]


def build_tree():
    named = os.environ.get("PENSTOCK_BUILD")
    for folder in [named] if named else ["build-ci", "build-dev"]:
        path = ROOT / folder
        if (path / "bin/penstock").exists():
            return path
    sys.exit("no build found; build first, or set PENSTOCK_BUILD")


def require(build, *paths):
    """The files of a build tree. Ends the program with the command that builds those that do not exist."""
    missing = [path for path in paths if not (build / path).exists()]
    if missing:
        targets = " ".join(pathlib.Path(path).stem.removeprefix("lib") for path in missing)
        sys.exit(f"{build} has no {', '.join(missing)}; build with: ninja -C {build} {targets}")
    return [build / path for path in paths]


def configurations(fields):
    """Values of --set: the defaults, then each switch on its own."""
    turned = {"false": "true", "true": "false", "0": "1", "1": "2"}
    return [""] + [f"{name}={turned[value]}" for name, value in fields.items() if value in turned]


def kernels(build, library):
    """(name, configuration) of each kernel of a library."""
    listed = subprocess.run([build / "bin/penstock", "list", library, "--json"],
                            capture_output=True, text=True, check=True)
    return [(kernel["name"], configuration) for kernel in json.loads(listed.stdout)["kernels"]
            for configuration in configurations(kernel.get("fields", {}))]
