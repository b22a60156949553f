# Locates ptxas and nvdisasm, and runs them.
import os
import pathlib
import re
import shutil
import subprocess
import sys

CUDA = "/usr/local/cuda/bin"


def find(name):
    """Returns the path of a tool, or None."""
    return shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + CUDA)


def installed_nvdisasm(environment):
    """Returns the nvdisasm of CUDA or of a virtual environment, or None."""
    packages = pathlib.Path(environment).glob("lib/python*/site-packages/nvidia/**/nvdisasm")
    return find("nvdisasm") or next(map(str, sorted(packages)), None)


def install_nvdisasm(environment):
    """Installs nvdisasm into a virtual environment if CUDA has none. Returns its path or None."""
    if not installed_nvdisasm(environment):
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([pathlib.Path(environment) / "bin/python3", "-m", "pip", "install", "-q",
                        "--retries", "1", "--timeout", "20", "nvidia-cuda-nvdisasm"])
    return installed_nvdisasm(environment)


def release(ptxas):
    """Returns the version of a ptxas, e.g. 13.0.88."""
    text = subprocess.run([ptxas, "--version"], stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"\bV(\d+\.\d+\.\d+)", text)
    return found.group(1) if found else "?"


def assemble(ptxas, arch, source):
    """Assembles a PTX file. Returns the path of the cubin and what ptxas reported."""
    cubin = os.path.splitext(source)[0] + ".cubin"
    done = subprocess.run([ptxas, "-arch", arch, source, "-o", cubin], stderr=subprocess.PIPE,
                          text=True)
    sys.stderr.write(done.stderr)
    done.check_returncode()
    return cubin, done.stderr


def disassemble(nvdisasm, cubin):
    return subprocess.run([nvdisasm, "-c", cubin], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def listing_of(ptxas, nvdisasm, arch, source):
    """Returns the disassembled machine code of a PTX file."""
    return disassemble(nvdisasm, assemble(ptxas, arch, source)[0])
