#!/usr/bin/env python3
# ===- check.py - What a C++ compiler says about a wrong program -----------===//
#
# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""usage: check.py COMPILER INCLUDE FILE

Compiles FILE and looks at the first error. A comment of the file says what it
must be:

  // FIRST ERROR: words   the first error is at this line and has these words
  // SHOWN: words         the first error has these words, and the compiler
                          shows this line (g++ puts what a macro says at the macro)
  // OLD COMPILER         the first error says which compilers will do
  // NO WARNINGS          there is nothing to say
"""
import re
import subprocess
import sys


def output(compiler, include, file, *flags):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I" + include, *flags, file]
    return subprocess.run(command, capture_output=True, text=True).stderr


def check(compiler, include, file):
    source = open(file).read()
    if "// NO WARNINGS" in source:
        said = output(compiler, include, file, "-Wall", "-Wextra", "-Wshadow", "-Wconversion")
        return "" if said == "" else "there are warnings:\n" + said
    flags = []
    if "// OLD COMPILER" in source:
        name = "__clang_major__" if "clang" in compiler else "__GNUC__"
        flags = ["-w", "-U" + name, "-D%s=%d" % (name, 15 if "clang" in compiler else 11)]
    said = output(compiler, include, file, *flags)
    first = next((line for line in said.splitlines() if "error:" in line), "no error")
    if flags:
        wanted = r"#error .*Penstock needs .*12 or later" if "clang" not in compiler else \
            r"error: \"Penstock needs clang 16 or later"
        return "" if re.search(wanted, first) else "the first error is\n" + first
    for number, line in enumerate(source.splitlines(), 1):
        found = re.search(r"// (FIRST ERROR|SHOWN): (.*)", line)
        if not found:
            continue
        kind, words = found.groups()
        location = "%s:%d:" % (file, number)
        right = words in first and (first.startswith(location) if kind == "FIRST ERROR" else location in said)
        return "" if right else "at %s with `%s`, not\n%s\nin\n%s" % (location, words, first, said)
    return "the file does not say what is wrong"


problem = check(*sys.argv[1:])
if problem:
    print("%s, %s: %s" % (sys.argv[3], sys.argv[1], problem))
    sys.exit(1)
