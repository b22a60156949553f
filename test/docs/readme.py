#!/usr/bin/env python3
"""The README's kernel compiles, and its messages are what the library reports.

  readme.py README.md --compiler C --include DIR --library libpenstock.so --work DIR
  readme.py .. --update      write the messages that are reported into the pages

The kernel is the first ```cpp block; it must compile for the CPU, Hopper and Blackwell.
A comment `<!-- finding: FILE`, followed by a line to remove and one to add, comes before
the first diagnostic that the changed kernel of FILE gives. The kernel of
docs/start/first-kernel.md without `broadcast_rows` gives the message shown there.

console.py runs the README's commands; test/emulator/wheel/new_user.py its test of a Triton kernel.
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
shutil.rmtree(options.work, ignore_errors=True)
os.makedirs(options.work)


class Page:
    def __init__(self, path):
        self.path = path
        self.text = self.original = open(os.path.join(root, path), encoding="utf-8").read()

    def hold(self, what, shown, reported):
        """Compares a message of the page, or puts in the one that is reported."""
        global failures
        if shown == reported:
            return
        if options.update:
            self.text = self.text.replace(shown, reported)
            return
        failures += 1
        print(f"{self.path}: {what} gives\n{reported}\nand not\n{shown}")

    def save(self):
        if self.text != self.original:
            with open(os.path.join(root, self.path), "w", encoding="utf-8") as file:
                file.write(self.text)


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
    return (f"  if (auto c = penstock::try_compile({kernel}, penstock::Target::{target}()); !c.diagnostics.empty())\n"
            "    std::fputs(to_text(c.diagnostics).c_str(), stdout);")


def first(printed):
    """The first error with its notes and help."""
    lines = printed.rstrip("\n").split("\n")
    later = [i for i, line in enumerate(lines) if i and re.search(r":\d+: (error|warning) PS", line)]
    return "\n".join(lines[:later[0]] if later else lines)


failures = 0
readme = Page("README.md")
kernel = re.search(r"```cpp\n(auto matmul = .*?)```", readme.text, re.S).group(1)
matmul = "#include <penstock/penstock.h>\nusing namespace penstock;\n" + kernel
printed = messages("whole.cpp", matmul,
                   "\n".join(diagnostics_of("matmul", target) for target in ("native", "sm_90a", "sm_100a")))
if printed:
    failures += 1
    print(f"README.md: the kernel is rejected:\n{printed}")

path, removed, added, shown = re.search(r"<!-- finding: (\S+)\n-(.*?)\n\+(.*?) -->\n```\n(.*?)\n```",
                                        readme.text, re.S).groups()
source = open(os.path.join(root, path), encoding="utf-8").read()
assert source.count(removed + "\n") == 1, f"{path} does not have the line once: {removed}"
printed = messages(os.path.basename(path), source.replace(removed, added),
                   diagnostics_of("blackwell::MatmulV4{}", "sm_100a"))
readme.hold(f"the change of {path}", shown, first(printed))
if re.search(r":\d+: error PS\d+(.|\n)*:\d+: note", shown) is None:
    failures += 1
    print("README.md: the finding does not show two source lines")
lines = readme.text.count("\n")
if lines >= 120:
    failures += 1
    print(f"README.md has {lines} lines, at most 119 are allowed")

page = Page("docs/start/first-kernel.md")
softmax = re.search(r"```cpp\n(#pragma once\n.*?)```", page.text, re.S).group(1)
shown = re.search(r"```\n(softmax\.h:\d+: error PS.*?)\n```", page.text, re.S).group(1)
wrong = "broadcast_rows(top)"
assert softmax.count(wrong) == 1
printed = messages("softmax.h", softmax.replace(wrong, "top"), diagnostics_of("Softmax{}", "native"))
page.hold(f"the kernel without `{wrong}`", shown, first(printed))

for each in (readme, page):
    each.save()
print(f"README.md and docs/start/first-kernel.md: {failures} failures")
sys.exit(failures != 0)
