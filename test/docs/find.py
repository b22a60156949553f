#!/usr/bin/env python3
"""The answers of "How to find things" lead to the thing.

In that table of docs/architecture.md, each answer "`name` in [path](link)" names
a file that exists and contains the name; in the table below it, each `path` of
the second column exists (a `*` matches at least one file).

The diagrams of "From C++ to machine code" name every pass of docs/reference/passes.md
but those that print analyses. A pass has one file that is named like its class, in a folder of its library.
"""
import glob
import os
import re
import sys

root = sys.argv[1]
page = open(os.path.join(root, "docs/architecture.md"), encoding="utf-8").read()
start = page.index("## How to find things")
section = page[start:page.index("\n## ", start + 1)]
answers = re.findall(r"`(\w+)` in \[([\w/.]+)\]\(\.\./([\w/.]+)\)", section)
failures = 0


def fail(message):
    global failures
    failures += 1
    print(f"docs/architecture.md: {message}")


for name, path, target in answers:
    full = os.path.join(root, path)
    if path != target:
        fail(f"{path} links to {target}")
    elif not os.path.exists(full):
        fail(f"{path} does not exist")
    elif not re.search(rf"\b{name}\b", open(full, encoding="utf-8").read()):
        fail(f"{path} does not contain {name}")
paths = re.findall(r"`((?:lib|include)/[\w/.*]+)`", section)
for path in paths:
    if not glob.glob(os.path.join(root, path)):
        fail(f"{path} does not exist")
# Codes that the table answers for have the C++ name that it says.
codes = open(os.path.join(root, "lib/Diagnostics/Codes.def"), encoding="utf-8").read()
asked = re.findall(r"Where is PS(\d+) issued\? \| `(\w+)`", section)
for number, name in asked:
    if not re.search(rf"PENSTOCK_CODE\({name},\s*{number},", codes):
        fail(f"PS{number} is not called {name}")
reference = open(os.path.join(root, "docs/reference/passes.md"), encoding="utf-8").read()
passes = re.findall(r"^### `-([\w-]+)`", reference[:reference.index("## That print analyses")], re.M)
diagrams = page[page.index("## From C++ to machine code"):page.index("\n## Levels of IR")]
for name in passes:
    if not re.search(rf"^ +\|  {name} ", diagrams, re.M):
        fail(f"no diagram names {name}")
for path in glob.glob(os.path.join(root, "lib/**/*.td"), recursive=True):
    for name in re.findall(r"^def (\w+) : (?:Kernel|TileProgram)?Pass<", open(path, encoding="utf-8").read(), re.M):
        if len(glob.glob(os.path.join(os.path.dirname(path), "**", name + ".cpp"), recursive=True)) != 1:
            fail(f"the pass {name} has no file {name}.cpp below {os.path.dirname(path)}")
if len(answers) < 4 or len(paths) < 5 or not asked or len(passes) < 20:
    fail("the tables were not understood")
print(f"{len(answers)} answers, {len(paths)} paths, {len(passes)} passes, {failures} failures")
sys.exit(failures != 0)
