#!/usr/bin/env python3
"""The checks of .ci and of the reference pages fail when something is broken.

    broken.py layering | words
    broken.py tidy COMPILER
    broken.py examples PENSTOCK-OPT

Each works on a copy: first the check passes on it, then one thing is broken, and
the check must fail and name it.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
failures = 0


def expect(what, code, text, command, cwd):
    """Runs a check, which exits with `code` and prints `text`."""
    global failures
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    out = done.stdout + done.stderr
    good = done.returncode == code and text in out
    failures += not good
    print(f"{'ok' if good else 'FAILED'}: {what}: exit code {done.returncode}")
    if not good:
        print(f"expected exit code {code} and: {text}\n{out}")


class Broken:
    """A file of the copy with a change, until the end of the `with`."""

    def __init__(self, path, old, new):
        self.path, self.text = path, path.read_text()
        assert old in self.text, f"{path} has no {old}"
        self.broken = self.text.replace(old, new, 1)

    def __enter__(self):
        self.path.write_text(self.broken)

    def __exit__(self, *_):
        self.path.write_text(self.text)


def copy(tree, *names):
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)


def layering(tree):
    shutil.copytree(ROOT / "lib", tree / "lib")
    copy(tree, ".ci/check-layering", "docs/architecture.md")
    check = [".ci/check-layering"]
    lib, page = tree / "lib", tree / "docs/architecture.md"
    expect("the tree as it is", 0, "0 problems", check, tree)
    chip = lib / "Hardware/Chip.cpp"
    include = '#include "Hardware/Chip.h"\n'
    with Broken(chip, include, include + '#include "Layout/Descriptor.h"\n'):
        expect("an include without a link", 1, "lib/Hardware includes headers of Layout", check, tree)
    with Broken(chip, include, include + '#include "llvm/ADT/StringRef.h"\n'):
        expect("LLVM in a library without it", 1, "lib/Hardware is a library without LLVM", check, tree)
    with Broken(lib / "PTX/CMakeLists.txt", "LINK PenstockDiagnostics", "LINK PenstockDiagnostics PenstockLayout"):
        expect("a link that nothing uses", 1, "links PenstockLayout, but no file includes", check, tree)
    with Broken(page, "constants of chips with their sources | nothing |", "constants of chips with their sources | Layout |"):
        expect("a wrong row of the table", 1, "`Hardware` uses nothing; the table says Layout", check, tree)
    with Broken(chip, include, include + '#include "Timing/Work.h"\n'):
        expect("a cycle", 1, "lib/Hardware depends on itself through others", check, tree)


def words(tree):
    copy(tree, ".ci/check-words", ".ci/retired-words", ".ci/retired-words-exceptions")
    header, source = tree / "include/penstock/tile.h", tree / "lib/Lang/Tile.cpp"
    for path in (header, source):
        path.parent.mkdir(parents=True)
    header.write_text("/// A tile of a block.\n")
    source.write_text('const char *message = "the tile is too large";\n')
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    check = [".ci/check-words"]
    expect("the tree as it is", 0, "0 in headers, messages and pages", check, tree)
    retired = "second-level" + " cache"  # in two parts: this file is checked, too
    with Broken(header, "a block", "the " + retired):
        expect("a word in a header", 1, "include/penstock/tile.h:1: `" + retired, check, tree)
    with Broken(source, "is too large", "is not in the " + retired):
        expect("a word in a message", 1, "lib/Lang/Tile.cpp:1: `" + retired, check, tree)


def tidy(tree, compiler):
    copy(tree, ".ci/tidy", ".clang-tidy")
    build, header, source = tree / "build", tree / "lib/Area.h", tree / "lib/Area.cpp"
    for path in (build, source.parent):
        path.mkdir()
    header.write_text("int areaOf(int width, int height);\n")
    source.write_text('#include "Area.h"\nint areaOf(int width, int height) { return width * height; }\n')
    command = f"{compiler} -c {source} -o Area.o"
    (build / "compile_commands.json").write_text(
        json.dumps([{"directory": str(build), "command": command, "file": str(source)}]))
    (build / "build.ninja").write_text(
        f"rule cc\n  command = {command} -MD -MF $out.d\n  deps = gcc\n  depfile = $out.d\n"
        f"build Area.o: cc {source}\n")

    def check(what, code, text):
        subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
        expect(what, code, text, [".ci/tidy", "build", "--all"], tree)

    check("clean files", 0, "1 of 1 files clean, 0 of them unchanged")
    check("clean files again", 0, "1 of 1 files clean, 1 of them unchanged")
    with Broken(source, "int height) { return width * height", "int Height) { return width * Height"):
        check("a name", 1, "invalid case style for parameter 'Height'")
    with Broken(header, "int height", "int Height"):
        check("a name in a header of a file that was clean", 1, "Area.h:1:27: error: invalid case style")
    check("clean files as before", 0, "1 of 1 files clean")


def examples(tree, tool):
    page = tree / "passes.md"
    shutil.copy(ROOT / "docs/reference/passes.md", page)
    check = [sys.executable, ROOT / "test/docs/td_examples.py", tool, page]
    expect("the examples as they are", 0, " checked, 0 failures", check, tree)
    output = '{tile.kernel, tile.target = "sm_89"}'
    with Broken(page, output, output.replace("sm_89", "sm_90a")):
        expect("another output", 1, "tile-attach-target: gives", check, tree)
    with Broken(page, "Example (`--tile-attach-target=", "Example of (`--tile-attach-target="):
        expect("a pass without an example", 1, "tile-attach-target: has no example", check, tree)
    section = re.search(r"^### `-tile-attach-target`\n.*?(?=^##)", page.read_text(), re.S | re.M)[0]
    with Broken(page, section, ""):
        expect("a pass that the page lacks", 1, "`tile-attach-target` is missing", check, tree)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        globals()[sys.argv[1]](pathlib.Path(folder).resolve(), *sys.argv[2:])
    sys.exit(failures != 0)
