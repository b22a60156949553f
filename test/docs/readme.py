#!/usr/bin/env python3
"""The README's kernel compiles, and its messages are what the library reports.

  readme.py README.md --compiler C --include DIR --library libpenstock.so --work DIR
  readme.py .. --update      write the messages that are reported into the README

The kernel is the first ```cpp block; it must compile for the CPU and for
Blackwell, and without `transposed` give the message of section "Diagnostics".
A comment `<!-- finding: FILE`, followed by a line to remove and one to add,
comes before the first diagnostic that the changed kernel of FILE gives.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("readme")
parser.add_argument("--compiler", default="clang++-22")
parser.add_argument("--include", default="include")
parser.add_argument("--library", required=True)
parser.add_argument("--work", default=".")
parser.add_argument("--update", action="store_true")
options = parser.parse_args()
root = os.path.dirname(os.path.abspath(options.readme))
text = original = open(options.readme, encoding="utf-8").read()
shutil.rmtree(options.work, ignore_errors=True)
os.makedirs(options.work)


def messages(name, source, main):
    """What the program that includes this source prints."""
    with open(os.path.join(options.work, name), "w", encoding="utf-8") as file:
        file.write(source)
    program = os.path.join(options.work, os.path.splitext(name)[0])
    with open(program + "-main.cpp", "w", encoding="utf-8") as file:
        file.write(f'#include "{name}"\n#include <cstdio>\nint main() {{\n{main}\n}}\n')
    folder = os.path.dirname(os.path.abspath(options.library))
    subprocess.run([options.compiler, "-std=c++20", "-I", options.work, "-I", options.include,
                    "-I", os.path.join(root, "examples/blackwell_matmul"), program + "-main.cpp", options.library,
                    f"-Wl,-rpath,{folder}", "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return printed.replace(options.work + "/", "")


def diagnostics_of(kernel, target):
    return (f"  if (auto c = penstock::try_compile({kernel}{{}}, penstock::Target::{target}()); !c.diagnostics.empty())\n"
            "    std::fputs(to_text(c.diagnostics).c_str(), stdout);")


def first(printed):
    """The first error with its notes and help."""
    lines = printed.rstrip("\n").split("\n")
    later = [i for i, line in enumerate(lines) if i and re.search(r":\d+: (error|warning) PS", line)]
    return "\n".join(lines[:later[0]] if later else lines)


failures = 0


def hold(what, shown, reported):
    """Compares a message of the README, or puts in the one that is reported."""
    global text, failures
    if shown == reported:
        return
    if options.update:
        text = text.replace(shown, reported)
        return
    failures += 1
    print(f"README.md: {what} gives\n{reported}\nand not\n{shown}")


kernel = re.search(r"```cpp\n(struct Matmul .*?)```", text, re.S).group(1)
matmul = "#include <penstock/penstock.h>\nusing namespace penstock;\n" + kernel
printed = messages("whole.cpp", matmul, diagnostics_of("Matmul", "native") + "\n" + diagnostics_of("Matmul", "sm_100a"))
if printed:
    failures += 1
    print(f"README.md: the kernel is rejected:\n{printed}")
assert matmul.count("transposed(Bs)") == 1
shown = re.search(r"## Diagnostics\n.*?```\n(.*?)\n```", text, re.S).group(1)
printed = messages("matmul.cpp", matmul.replace("transposed(Bs)", "Bs"), diagnostics_of("Matmul", "native"))
hold("the kernel without `transposed`", shown, first(printed))

path, removed, added, shown = re.search(r"<!-- finding: (\S+)\n-(.*?)\n\+(.*?)\n-->\n```\n(.*?)\n```", text, re.S).groups()
source = open(os.path.join(root, path), encoding="utf-8").read()
assert source.count(removed + "\n") == 1, f"{path} does not have the line once: {removed}"
printed = messages(os.path.basename(path), source.replace(removed, added),
                   diagnostics_of("blackwell::MatmulV4", "sm_100a"))
hold(f"the change of {path}", shown, first(printed))
if re.search(r":\d+: error PS\d+(.|\n)*:\d+: note", shown) is None:
    failures += 1
    print("README.md: the finding does not show two source lines")

if text != original:
    with open(options.readme, "w", encoding="utf-8") as file:
        file.write(text)
print(f"README.md: {failures} failures")
sys.exit(failures != 0)
