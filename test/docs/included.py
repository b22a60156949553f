#!/usr/bin/env python3
"""Code that a page shows is the code of the file it names.

An HTML comment before a fenced block, `<!-- from: FILE -->`, says where its lines
come from. They must be a run of lines of that file, up to indentation; the location
is found by the text, because line numbers move. Blocks without a comment are not
looked at; a page that is given must have at least one.
"""
import re
import sys

BLOCK = re.compile(r"<!-- from: (\S+) -->\n```\w*\n(.*?)```", re.S)


def unindented(lines):
    """The lines without the indentation that all of them share."""
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[depth:].rstrip() for line in lines]


def occurs(block, source):
    count = len(block)
    return any(unindented(source[at:at + count]) == block for at in range(len(source) - count + 1))


def check(root, page):
    text = open(f"{root}/{page}", encoding="utf-8").read()
    marks, failures, blocks = text.count("<!-- from:"), 0, list(BLOCK.finditer(text))
    if not blocks or len(blocks) != marks:
        print(f"{page}: {marks} comments and {len(blocks)} blocks behind them")
        failures += 1
    for match in blocks:
        file, code = match.groups()
        source = open(f"{root}/{file}", encoding="utf-8").read().splitlines()
        block = unindented(code.splitlines())
        if not block or not occurs(block, source):
            line = text.count("\n", 0, match.start(2)) + 1
            print(f"{page}:{line}: {file} does not have these lines")
            failures += 1
    print(f"{page}: {len(blocks)} blocks, {failures} failures")
    return failures


if __name__ == "__main__":
    sys.exit(sum(check(sys.argv[1], page) for page in sys.argv[2:]) != 0)
