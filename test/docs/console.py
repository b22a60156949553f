#!/usr/bin/env python3
"""Runs the commands that a page shows, and compares what they print.

  console.py PAGE --build DIR [--compiler C --include DIR] --work DIR [--update]

Commands are the lines of ```console blocks that begin with `$ `; the lines below a command
are its output. A line `..` stands for any number of lines, ` ..` at its end for the rest. Measured times, a difference from
the interpreter (within what is allowed) and the run time of a check are matched by pattern;
everything else has to be equal.

Commands run in a folder that has `bin` and `lib` of the build and its example libraries,
beside a folder `examples`, as the build tree is.
A page can have sources of its own: a comment `<!-- append: FILE -->` before a ```cpp block
appends the block to FILE, and FILE.cpp is built as libFILE.so before the next command. A comment
`<!-- file: FILE -->` before a block writes it to FILE.
A comment `<!-- change: FILE`, followed by a line `-TEXT` and a line `+TEXT -->`, replaces that
text in a copy of the file for the next console block. A comment `<!-- console: none -->` marks
a block that is not run, and a comment `<!-- console`, followed by commands and outputs and a
line `-->`, holds commands that confirm numbers of a table.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("page")
parser.add_argument("--build", required=True)
parser.add_argument("--compiler", default="clang++-22")
parser.add_argument("--include", default="include")
parser.add_argument("--work", default=".")
parser.add_argument("--update", action="store_true", help="write the outputs that are shown in full into the page")
options = parser.parse_args()

BLOCK = re.compile(r"(?:<!-- append: (?P<file>\S+) -->\n```cpp\n(?P<code>.*?)^```"
                   r"|<!-- file: (?P<copied>\S+) -->\n```\w*\n(?P<content>.*?)^```"
                   r"|<!-- change: (?P<changed>\S+)\n-(?P<old>[^\n]*)\n\+(?P<new>[^\n]*) -->"
                   r"|(?P<none><!-- console: none -->\n)?```console\n(?P<console>.*?)^```"
                   r"|<!-- console\n(?P<hidden>.*?)^-->)", re.S | re.M)
PROGRESS = re.compile(r", (timing \d+ of \d+|reference), \d+ s$|  timing \d+ of \d+(  about \d+ (s|min) left)?, \d+ s$")
NUMBER = r"[0-9][0-9.e+-]*"
VARYING = (
    (re.compile(rf"^(\w+)  {NUMBER} ms$"), rf"\1  {NUMBER} ms"),
    (re.compile(rf"^(.*misuse)  {NUMBER} s$"), rf"\1  {NUMBER} s"),
    (re.compile(rf"^largest difference from the interpreter  {NUMBER}  \(allowed ({NUMBER})\)$"),
     rf"largest difference from the interpreter  {NUMBER}  \(allowed \1\)"),
)

build = os.path.abspath(options.build)
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
work = os.path.join(os.path.abspath(options.work), "build")
shutil.rmtree(os.path.abspath(options.work), ignore_errors=True)
os.makedirs(work)
os.symlink(os.path.join(root, "examples"), os.path.join(os.path.abspath(options.work), "examples"))
for name in ("bin", "lib"):
    os.symlink(os.path.join(build, name), os.path.join(work, name))
for name in os.listdir(os.path.join(build, "lib")):
    if name.endswith(".so"):
        os.symlink(os.path.join(build, "lib", name), os.path.join(work, name))
environment = dict(os.environ, PATH=os.path.join(build, "bin") + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
environment["PENSTOCK_CACHE_DIR"] = os.path.join(work, "cache")
environment["PENSTOCK_TUNE_DIR"] = os.path.join(work, "tune")
sources, changed, failures, commands, built = {}, {}, 0, 0, {}


def pattern(line):
    if line.endswith(" .."):
        return re.escape(line[:-3]) + ".*"
    for found, replacement in VARYING:
        if match := found.match(line):
            escaped = [re.escape(group) for group in match.groups()]
            return re.sub(r"\\(\d)", lambda m: escaped[int(m[1]) - 1], replacement.replace(r"\(", "\0").replace(r"\)", "\1")
                          ).replace("\0", r"\(").replace("\1", r"\)")
    return re.escape(line)


def equal(shown, printed):
    """Lines that are shown against those that are printed; `..` is any number of them."""
    if not shown:
        return not printed
    if shown[0] == "..":
        return any(equal(shown[1:], printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and re.fullmatch(pattern(shown[0]), printed[0]) is not None and equal(shown[1:], printed[1:])


def build_sources():
    for name, text in {**sources, **changed}.items():
        if built.get(name) == text:
            continue
        built[name] = text
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(text)
        library = os.path.join(build, "lib", "libpenstock.so")
        subprocess.run([options.compiler, "-std=c++20", "-O0", "-shared", "-fPIC", "-I", os.path.abspath(options.include), name,
                        library, f"-Wl,-rpath,{os.path.dirname(library)}", "-o", f"lib{os.path.splitext(name)[0]}.so"],
                       cwd=work, check=True)


text = updated = open(options.page, encoding="utf-8").read()
for match in BLOCK.finditer(text):
    if match["file"]:
        sources[match["file"]] = (sources[match["file"]] + "\n" if match["file"] in sources else "") + match["code"]
        continue
    if match["changed"]:
        source = sources[match["changed"]]
        assert source.count(match["old"]) == 1, f"{match['changed']} does not have the text once: {match['old']}"
        changed[match["changed"]] = source.replace(match["old"], match["new"])
        continue
    if match["none"]:
        continue
    if match["copied"]:
        with open(os.path.join(work, match["copied"]), "w", encoding="utf-8") as file:
            file.write(match["content"])
        continue
    build_sources()
    changed = {}
    for entry in re.split(r"^\$ ", match["console"] or match["hidden"], flags=re.M)[1:]:
        command, *shown = entry.rstrip("\n").split("\n")
        while command.endswith("\\"):
            command = command[:-1] + shown.pop(0)
        run = subprocess.run(["bash", "-c", command], cwd=work, env=environment, capture_output=True, text=True)
        # Diagnostics of commands that fail are on standard error, beside their progress.
        printed = run.stdout + (run.stderr if run.returncode else "")
        printed = [line.rstrip() for line in printed.replace(work + "/", "").rstrip("\n").split("\n")
                   if not PROGRESS.search(line)]
        commands += 1
        if not equal([line.rstrip() for line in shown], printed):
            if options.update and ".." not in shown:
                old = "$ " + entry.rstrip("\n") + "\n"
                assert updated.count(old) >= 1
                first = old[: len(old) - sum(len(line) + 1 for line in shown)]
                updated = updated.replace(old, first + "\n".join(printed) + "\n", 1)
                continue
            failures += 1
            line = text.count("\n", 0, match.start()) + 1
            print(f"{options.page}:{line}: $ {command}\nprints\n" + "\n".join(printed) + "\nand not\n" + "\n".join(shown))
if updated != text:
    with open(options.page, "w", encoding="utf-8") as file:
        file.write(updated)
if not commands:
    failures += 1
    print(f"{options.page} has no commands")
print(f"{options.page}: {commands} commands, {failures} failures")
sys.exit(failures != 0)
