"""Formats docs/results/machine-code.tsv (written by benchmarks/peers --output) as tables."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(ROOT, "docs/results/machine-code.tsv")
# Rows of the short table, each with its Penstock tile program.
SHORT = {"matmul": "Matmul", "attention": "FlashAttention", "attention-d128": "FlashAttention"}
COLUMNS = ["kernel", "system", "registers", "spilled", "shared", "instructions", "calls", "epilogue", "loops"]


def read():
    """Returns the notes at the head of the file, and its rows as dicts keyed by column name."""
    with open(PATH, encoding="utf-8") as file:
        lines = file.read().splitlines()
    notes = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# "))
    names, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return notes, [dict(zip(names, row)) for row in rows]


def heading(notes, rows):
    """Returns the sentence that names the date and the versions of the tools."""
    used = sorted({row["ptxas"] for row in rows if not row["ptxas"].startswith("skipped")})
    return (f"`benchmarks/peers`, {notes['date']}: Triton {notes['Triton']}, TileLang {notes['TileLang']}, "
            f"ptxas {' and '.join(used)} for all rows.\n")


def work(row):
    """Returns the MMAs and exponentials per iteration, summed over all roles."""
    return {name: sum(map(int, re.findall(rf"\b(\d+){letter}\b", row["loops"])))
            for letter, name in (("m", "MMAs"), ("x", "exponentials"))}


def sizes(row, ours=None):
    """Returns the sizes of the main loops, largest first, and work that differs from that of `ours`."""
    if row is None:
        return ""
    if "loops" not in row:
        return "does not compile"
    loops = sorted(map(int, re.findall(r"(\d+) \(", row["loops"])), reverse=True)
    different = [f"{count} {name}" for name, count in work(row).items() if ours and count != work(ours)[name]]
    return ", ".join([" + ".join(map(str, loops))] + different)


def short_table():
    """Returns a table of instructions per iteration: Penstock, Triton and TileLang."""
    notes, rows = read()
    text = heading(notes, rows) + """
| kernel | target | Penstock tile program | Triton | Triton, `warp_specialize` | TileLang |
|---|---|---|---|---|---|
"""
    for kernel, program in SHORT.items():
        for target in dict.fromkeys(row["architecture"] for row in rows):
            systems = {row["system"].split(" block_m")[0].split(" dim")[0]: row for row in rows
                       if (row["kernel"], row["architecture"]) == (kernel, target)}
            ours = systems[f"penstock {program}"]
            tilelang = "tilelang-tmem" if "tilelang-tmem" in systems else "tilelang"
            peers = [sizes(systems.get(name), ours) for name in ("triton", "triton-roles", tilelang)]
            masked = sizes(systems.get("triton-masked"), ours)
            peers[0] += f"; rows masked: {masked}" if masked else ""
            text += f"| {kernel} | `{target}` | {sizes(ours)} | {' | '.join(peers)} |\n"
    return text


def all_tables():
    """Returns all rows, in one table per architecture."""
    notes, rows = read()
    text = heading(notes, rows)
    for target in dict.fromkeys(row["architecture"] for row in rows):
        text += f"\n### `{target}`\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
        for row in rows:
            if row["architecture"] == target:
                cells = [row.get(name, "") for name in COLUMNS]
                if row["ptxas"].startswith("skipped"):
                    cells = [row["kernel"], row["system"]] + [""] * (len(COLUMNS) - 3) + [row["ptxas"]]
                text += "| " + " | ".join(cells).replace("  ", " ") + " |\n"
    return text
