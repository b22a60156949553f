#!/usr/bin/env python3
"""Every elementwise function of tile.h is tested, fuzzed and described.

  functions.py ROOT

The functions are those of `ExprOps`. Each is in the list of docs/reference/language.md, in an
expression of Status.cpp, by its enumerator in EmitValues.cpp of the fuzzer, and by the name of its
operation in FloatTest.cpp. First, each file without the function must fail.
"""
import os
import re
import sys


def read(path):
    with open(os.path.join(sys.argv[1], path), encoding="utf-8") as file:
        return file.read()


header, recorder = read("include/penstock/tile.h"), read("lib/Lang/RecordScalars.cpp")
functions = re.findall(r"friend Expr<T> (\w+)\(Arg a\) \{ return function\(Op::(\w+), a\); \}", header)
operations = dict(re.findall(r"FUNCTION\((\w+), (\w+)Op,", recorder)) | {"Abs": "AbsF"}
assert len(functions) == len(operations) > 13, "the functions of tile.h or RecordScalars.cpp were not understood"


def required(name, enumerator):
    """The text that must contain a function, by file."""
    return {
        "docs/reference/language.md": rf"Functions: `[^`]*\b{name}\b",
        "test/docs/Status.cpp": rf"\b{name}\(k\.",
        "tools/penstock-fuzz/EmitValues.cpp": rf"\bOp::{enumerator}\b",
        "unittests/Interpreter/FloatTest.cpp": rf'"math\.{operations[enumerator].lower()}"',
    }


failures = 0
for name, enumerator in functions:
    for path, pattern in required(name, enumerator).items():
        text = read(path)
        removed = re.sub(rf'\b(?:Op::{enumerator}|{name}|math\.{operations[enumerator].lower()})\b', "", text)
        assert not re.search(pattern, removed), f"{pattern} is found in {path} without `{name}`"
        if not re.search(pattern, text):
            failures += 1
            print(f"{path} lacks `{name}`: docs/contributing/elementwise-functions.md lists all files")
print(f"functions={len(functions)} missing={failures}")
sys.exit(failures != 0)
