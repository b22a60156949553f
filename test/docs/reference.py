#!/usr/bin/env python3
"""Every function of the C++ reference has a description and an example that compiles.

  reference.py ROOT --compiler CXX --work DIR [--list]

The functions are those of the pages that docs/site/cpp_reference.py makes. An example has to
use the function by its name. Signatures show no internal types. Exit code 77: no Doxygen.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("root")
parser.add_argument("--compiler", default="clang++-22")
parser.add_argument("--work", default="reference-work")
parser.add_argument("--list", action="store_true", help="print the functions without an example")
options = parser.parse_args()
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(options.root, "docs/site"))
import cpp_reference

if not shutil.which("doxygen"):
    print("skipped: doxygen is not installed")
    sys.exit(77)
headers = os.path.join(options.root, "include/penstock")
folder = os.path.join(options.root, "docs/site/examples")
reference = cpp_reference.Reference(cpp_reference.doxygen(headers, options.work), headers, folder)


def uses(code, name, signatures):
    """Whether an example uses a function: its name, or the symbol of an operator."""
    last = name.split("::")[-1].split(".")[-1]
    if match := re.fullmatch(r"operator\s*(\W+)", last):
        symbol = match.group(1)
        parts = {"[]": "[", "()": "("}
        return parts.get(symbol, symbol) in code
    if last.startswith("operator"):  # a conversion
        return True
    return re.search(rf"\b{re.escape(last)}\b", code) is not None


problems, total, complete, named = [], 0, 0, set()
for header in cpp_reference.page_names(headers):
    for name, signatures, prose in reference.all_functions(header):
        total += 1
        named.add(name)
        before = len(problems)
        code = reference.examples.get(name)
        if not prose:
            problems.append(f"{header}: {name} has no description")
        if code is None:
            problems.append(f"{header}: {name} has no example")
            if options.list:
                print(header, name, *signatures[:1])
        elif not uses(code, name, signatures):
            problems.append(f"{header}: the example of {name} does not use it")
        for text in signatures:
            if "detail::" in text:
                problems.append(f"{header}: {name} shows an internal type: {text}")
        complete += len(problems) == before
for name in reference.examples:
    if name not in named:
        problems.append(f"docs/site/examples: there is no function {name}")
for file in sorted(os.listdir(folder)):
    run = subprocess.run([options.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-parameter",
                          "-I", os.path.join(options.root, "include"), os.path.join(folder, file)],
                         capture_output=True, text=True)
    if run.returncode:
        problems.append(run.stderr.strip())
print("\n".join(problems))
print(f"{complete} of {total} functions have a description and an example")
sys.exit(bool(problems))
