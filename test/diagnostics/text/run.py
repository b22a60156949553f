#!/usr/bin/env python3
"""Texts that tools reject, and the complete message of each.

Each file of this folder is one error. Its first line, a comment, is the command
("RUN: tool %s .."); the comment lines "EXPECT:" at its end are what the command
prints, to the last character, without the emulator's line of totals, which has
a time. The web site shows the files on the pages of their codes.

  run.py TOOLS              compare; TOOLS is the folder of the tools
  run.py TOOLS --update     write what is printed into the files; read it as its
                            user would before you commit it
"""
import os
import re
import subprocess
import sys

COMMENT = {".mlir": "//", ".ptx": "//", ".instance": "#"}


def printed(tools, folder, file, command):
    words = [file if word == "%s" else word for word in command.split()]
    words[0] = os.path.join(tools, words[0])
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return [line for line in done.stdout.rstrip("\n").split("\n") if not re.match(r"\d+ blocks, ", line)]


def main():
    tools, update = os.path.abspath(sys.argv[1]), "--update" in sys.argv
    folder = os.path.dirname(os.path.abspath(__file__))
    files = sorted(f for f in os.listdir(folder) if os.path.splitext(f)[1] in COMMENT)
    failures = 0
    for file in files:
        mark = COMMENT[os.path.splitext(file)[1]]
        path = os.path.join(folder, file)
        with open(path, encoding="utf-8") as opened:
            text = opened.read()
        command = re.match(rf"{mark} RUN: (.*)\n", text).group(1)
        wanted = re.findall(rf"^{mark} EXPECT: ?(.*)$", text, re.M)
        found = printed(tools, folder, file, command)
        if not any(re.search(r"(error|warning|note) PS\d+|^\w+: .*PS\d+", line) for line in found):
            failures += 1
            print(f"{file}: nothing is reported:\n" + "\n".join(found))
        elif found == wanted:
            continue
        elif update:
            program = re.sub(rf"^{mark} EXPECT:.*\n", "", text, flags=re.M).rstrip("\n")
            expected = "".join(f"{mark} EXPECT: {line}".rstrip() + "\n" for line in found)
            with open(path, "w", encoding="utf-8") as opened:
                opened.write(f"{program}\n\n{expected}")
        else:
            failures += 1
            print(f"{file}: what is printed (+) is not what is expected (-)")
            print("\n".join([f"- {line}" for line in wanted] + [f"+ {line}" for line in found]))
    print(f"{len(files)} texts, {failures} failures")
    sys.exit(failures != 0 or not files)


if __name__ == "__main__":
    main()
