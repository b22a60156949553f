"""Operators give the same result types, or refuse the same operands, in Python as in C++.

    promotions.py PROGRAM

PROGRAM is promotions.cpp, which prints what the headers do.
"""

import operator
import subprocess
import sys

import penstock
import penstock.lang as pl
from penstock.lang import InOut, _elements, _recording, _values, f32
from penstock.lang._native import record

EXPECTED = {}
for line in subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True).stdout.splitlines():
    name, a, b, result = line.split()
    EXPECTED[name, a, b] = result
assert len(EXPECTED) == 7320, len(EXPECTED)

PYTHON = {"add": operator.add, "rem": operator.mod, "xor_": operator.xor, "shl": operator.lshift, "eq": operator.eq,
          "lt": operator.lt, "min_": pl.min, "bitand_": operator.and_}
# C++ refuses bits of floating-point values when it records them: the headers do not.
BITS = {"bitand_": _values._AND, "xor_": _values._XOR, "shl": _values._SHL}
wrong, compared, refused = [], 0, 0


def is_float(name):
    return getattr(pl, name.partition(".")[2]).kind == "float"


def name_of(value):
    return f"{'tile' if value.elementwise else 'scalar'}.{value.element.__name__}"


def expected_of(name, a, b):
    if name == "bitand_" and a.endswith(".boolean") and b.endswith(".boolean"):
        return EXPECTED["logical", a, b]
    result = EXPECTED[name, a, b]
    return "-" if name in BITS and result != "-" and is_float(result) else result


def function_of(name, a, b):
    if name == "div":
        return operator.truediv if is_float(a) or is_float(b) else operator.floordiv
    return PYTHON[name]


@pl.kernel("A[N]")
def compare(b: pl.Block, A: InOut[f32]):
    global compared, refused
    values = {}
    for element in _elements.ALL:
        if element is pl.f8e8m0 or "packed" in element.__name__:
            continue
        name = element.__name__
        if element.kind != "packed":
            values["scalar." + name] = pl.cast(element, 0)
        if element is pl.index_t:
            values["tile." + name] = pl.row(b.local(f32, 8))
        else:
            values["tile." + name] = b.local(element, 8)
    for name, left, right in EXPECTED:
        if name == "logical":
            continue
        function = function_of(name, left, right)
        try:
            found = name_of(function(values[left], values[right]))
        except _recording.Reported:
            found = "-"
        compared += 1
        refused += found == "-"
        if found != expected_of(name, left, right):
            wrong.append((name, left, right, found, expected_of(name, left, right)))


try:
    compare.program()
except penstock.Error:
    pass  # refused operands were reported


def recorder_refuses(op):
    """Whether the recorder refuses an operator of f32 elements, as promised above."""

    @pl.kernel("A[N]")
    def k(b: pl.Block, A: InOut[f32]):
        t = b.local(f32, 8)
        x = record.elements(t.ref, -1, 0)
        record.assign(t.ref, record.binary(op, 0, x, x, 0), 0)

    try:
        k.program()
    except penstock.Error:
        return True
    return False


for name, op in BITS.items():
    if not recorder_refuses(op):
        wrong.append((name, "the recorder accepts bits of floating-point values"))
for each in wrong[:20]:
    print(*each)
print(f"compared={compared} refused={refused} wrong={len(wrong)}")
sys.exit(bool(wrong) or compared != 6588)
