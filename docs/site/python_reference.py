"""The reference of penstock.lang, from the docstrings and annotations of the package (mkdocstrings)."""
import ast
import os
import re

PAGE = "reference/python-lang.md"
INTRODUCTION = """# Python: penstock.lang

`import penstock.lang as pl`. [Write kernels in Python](../how-to/python-kernels.md) teaches the language;
[Language](language.md) has the rules of its operations, which are those of C++. An `Operand` is a value of the kernel, a
variable, or a number of Python.
"""
#: Sections with the public names in the order in which they are learned. None of `__all__` may be missing. A name in
#: parentheses is an element of the enumeration before it.
SECTIONS = {
    "Define a kernel": "kernel Kernel Space const helper",
    "Arguments": "In Out InOut Tensor TensorSlice Scalar Index",
    "Block": "Block",
    "Choices of the block": "Reduction (Sum) (Prod) (Max) (Min) Atomic (Add) (AtomicMax) (AtomicMin) (Exchange) Form Schedule Auto",
    "Tiles and values": "Tile Value Var Operand transposed slice as_matrix broadcast_rows broadcast_cols row col index",
    "Functions": "cast select where min max abs ceil_div fast_divmod exp exp2 log log2 sqrt rsqrt tanh erf sin cos floor ceil round infinity",
    "Element types": "Element f16 bf16 f32 f64 f8e4m3 f8e5m2 f8e8m0 f6e2m3_packed f6e3m2_packed f4e2m1x2 i4x2 i8 i16 i32 i64 u32 "
                     "boolean index_t",
    "Barriers and engines": "Barrier Barriers NamedBarrier Semantics (Acquire) (Relaxed) (Release) ThreadScope (Cta) (Cluster) Cache (NoHint) "
                            "(EvictFirst) (EvictLast) (EvictNormal) producer_phase consumer_phase",
}
#: What the attributes of a block are: `b.mbarrier`, `b.tma`, ..
CALLS = re.compile(r"self\.(\w+) = (\w+Calls)\(\)")
OPTIONS = """    options:
      show_source: false
      show_bases: false
      show_root_heading: true
      show_root_full_path: false
      show_signature_annotations: true
      separate_signature: true
      members_order: source
      heading_level: 3
"""


def _read(root, name):
    with open(os.path.join(root, "python/penstock/lang", name), encoding="utf-8") as file:
        return file.read()


def _public(root):
    """The names of `__all__`."""
    for statement in ast.parse(_read(root, "__init__.py")).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "__all__":
            return set(ast.literal_eval(statement.value))
    raise SystemExit("penstock.lang has no __all__")


def write_page(root, write):
    """Calls write(path, text); returns the anchors that the page must have."""
    listed = [name.strip("()") for names in SECTIONS.values() for name in names.split()]
    if set(listed) != _public(root):
        raise SystemExit(f"docs/site/python_reference.py and __all__ of penstock.lang differ: {set(listed) ^ _public(root)}")
    text, anchors = INTRODUCTION, []
    for section, names in SECTIONS.items():
        text += f"\n## {section}\n"
        for name in names.split():
            if name[0] == "(":
                continue
            inherited = '      inherited_members: true\n      filters: ["!^_[^_]", "!^library$"]\n' if name == "Kernel" else ""
            text += f"\n::: penstock.lang.{name}\n{OPTIONS}{inherited}"
            anchors.append(f"penstock.lang.{name}")
        if section == "Barriers and engines":
            for attribute, calls in CALLS.findall(_read(root, "_block.py")):
                text += f"\n### b.{attribute}\n\n::: penstock.lang._hardware.{calls}\n" + OPTIONS.replace(
                    "show_root_heading: true", "show_root_heading: false\n      show_root_toc_entry: false").replace("level: 3", "level: 4")
                anchors.append(f"penstock.lang._hardware.{calls}.")
    text += f"\n## Pipelines\n\n::: penstock.lang.pipeline\n" + OPTIONS.replace("show_root_heading: true", "show_root_heading: false")
    write(PAGE, text)
    return anchors + ["penstock.lang.pipeline.Pipeline"]
