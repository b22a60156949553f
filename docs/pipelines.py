"""The pass pipelines as the compiler builds them, for docs/generate.py."""
import json
import os
import re
import subprocess
import tempfile

SOURCES = ("lib/Transforms/Passes.td", "lib/Target/X86/Passes.td", "lib/Target/NVPTX/Passes.td")
UPSTREAM = {
    "canonicalize": "upstream: canonical forms",
    "cse": "upstream: common subexpressions",
    "ensure-debug-info-scope-on-llvm-func": "upstream: source lines of the PTX",
}


def records(root, tblgen, include):
    """Passes by argument: the records of Passes.td."""
    found = {}
    for source in SOURCES:
        command = [tblgen, "--dump-json", "-I", "lib", "-I", include, source]
        text = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
        dumped = json.loads(text)
        for name in dumped["!instanceof"]["PassBase"]:
            found[dumped[name]["argument"]] = dumped[name]
    return found


def passes(opt, pipeline):
    """The passes of a pipeline in order: (argument, options). penstock-opt prints them."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as module:
        module.write("module {}\n")
        module.flush()
        command = [opt, module.name, f"--{pipeline}", "--dump-pass-pipeline", "-o", os.devnull]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    body = text[text.index("builtin.module("):]
    return re.findall(r"^ +([a-z][\w-]*)(?:\{ *(.*?)\})?,?$", body, re.MULTILINE)


def diagram(listed, known, top, bottom):
    """The passes as lines of a drawing."""
    lines = [f"   {top}"]
    for name, options in listed:
        if name == "nv-verify-phase":
            phase = re.search(r"phase=(\w+)", options).group(1)
            lines.append(f"   |  nv-verify-phase                -- {phase} --")
            continue
        summary = known[name]["summary"] if name in known else UPSTREAM[name]
        lines.append(f"   |  {name:<30} {summary}")
    return "\n".join(["```", *lines, "   v", f"   {bottom}", "```"])


def phase_table(listed, known):
    """Requirements of the passes of a pipeline."""
    rows = ["| pass | requires | produces | kernels |", "|---|---|---|---|"]
    for name, _ in dict.fromkeys(listed):
        record = known.get(name, {})
        if "requiredPhase" not in record:
            continue
        kernels = "tile programs" if "TilePrograms" in record["baseClass"] else "all"
        rows.append(f"| `{name}` | `{record['requiredPhase'].lower()}` | `{record['producedPhase'].lower()}` | {kernels} |")
    return "\n".join(rows)


def attribute_table(root):
    """NVAttributes.def as a table."""
    with open(os.path.join(root, "lib/Dialect/NV/NVAttributes.def"), encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("#endif"):]
    rows = ["| attribute | on | phases | meaning |", "|---|---|---|---|"]
    comment, used = "", False  # attributes without a comment share the one before
    for line in text.splitlines():
        if line.startswith("// "):
            comment = line[3:] if used or not comment else f"{comment} {line[3:]}"
            used = False
        elif found := re.match(r'NV_ATTRIBUTE\(\w+, "([\w.]+)", (\w+), \w+, (\w+), (\w+)\)', line):
            name, carrier, first, last = found.groups()
            on = re.sub(r"(?<!^)(?=[A-Z])", " ", carrier).lower()
            span = first.lower() if first == last else f"{first.lower()} to {last.lower()}"
            rows.append(f"| `{name}` | {on} | {span} | {comment} |")
            used = True
    return "\n".join(rows)
