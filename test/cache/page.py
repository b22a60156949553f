#!/usr/bin/env python3
"""Builds the program of docs/how-to/cache.md, starts it twice, and compares what it prints with the
page: the second process finds what the first one compiled.

    page.py PAGE COMPILER INCLUDE LIBRARY
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

page, compiler, include, library = sys.argv[1:]
text = pathlib.Path(page).read_text()
program = re.search(r"```cpp\n(.*?)```", text, re.S).group(1)
stated = re.search(r"The first run prints (\d+), later runs print (\d+)", text)
assert stated, "the page does not say what the program prints"
with tempfile.TemporaryDirectory() as work:
    source = pathlib.Path(work, "main.cpp")
    source.write_text(program)
    subprocess.run([compiler, "-std=c++20", "-I", include, str(source), library,
                    "-Wl,-rpath," + os.path.dirname(library), "-o", work + "/program"], check=True)
    for expected in stated.groups():
        printed = subprocess.run([work + "/program"], cwd=work, check=True, capture_output=True,
                                 text=True).stdout
        assert printed == expected + " lookups found the kernel\n", printed
print("the program prints what the page says")
