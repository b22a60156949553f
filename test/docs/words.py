#!/usr/bin/env python3
"""Counts the words of each page, and fails for a user page that is too long.

  words.py ROOT

Pages of docs/start, docs/tutorials, docs/how-to and docs/explanation have at most 1,500
words; a longer page is two pages. A word has a letter or a digit. Code, console blocks and
tables count, because they are read too; HTML comments, link targets and pictures do not.
Prints the pages by folder, that is by the reader's intent.
"""
import glob
import os
import re
import sys

LIMIT = 1500
LIMITED = ("start", "tutorials", "how-to", "explanation")
INTENTS = {
    "start": "start",
    "tutorials": "learn by doing",
    "how-to": "get a task done",
    "explanation": "understand",
    "reference": "look up",
    "results": "evidence",
    "reports": "files reports upstream",
    "contributing": "change Penstock",
}


def words(text):
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)
    return len(re.findall(r"\S*\w\S*", text))


def main():
    # The rules above, on a text of which each part is known.
    sample = "# Two words\n<!-- not this -->\n| a | - |\n![no](x.svg) [one link](y.md)\n```sh\nls -l\n```\n"
    assert words(sample) == 2 + 1 + 2 + 1 + 2, words(sample)  # ```sh counts: it names the language

    docs, failures = os.path.join(sys.argv[1], "docs"), 0
    for folder, intent in INTENTS.items():
        pages = glob.glob(f"{folder}/**/*.md", root_dir=docs, recursive=True)
        if not pages:
            print(f"docs/{folder} has no pages")
            failures += 1
        print(f"{folder}: {intent}")
        counted = []
        for page in pages:
            with open(os.path.join(docs, page), encoding="utf-8") as file:
                counted.append((words(file.read()), page))
        for count, page in sorted(counted, reverse=True):
            too_long = folder in LIMITED and count > LIMIT
            failures += too_long
            print(f"  {count:6}  {page}" + (f"  (more than {LIMIT}: make two pages of it)" if too_long else ""))
    for page in ("README.md", "docs/architecture.md"):
        with open(os.path.join(sys.argv[1], page), encoding="utf-8") as file:
            print(f"{words(file.read()):8}  {page}")
    folders = {name for name in os.listdir(docs) if glob.glob(f"{docs}/{name}/**/*.md", recursive=True)} - {"site"}
    if folders != set(INTENTS):
        print(f"docs has other folders of pages: {sorted(folders ^ set(INTENTS))}")
        failures += 1
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
