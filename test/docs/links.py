#!/usr/bin/env python3
"""Every relative link of a page, and every path in backticks, leads to a file of
the repository."""
import glob
import os
import re
import sys

root = sys.argv[1]
pages = [name for pattern in ("*.md", "docs/**/*.md") for name in glob.glob(pattern, root_dir=root, recursive=True)]
failures = 0
for page in pages:
    text = open(os.path.join(root, page), encoding="utf-8").read()
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if re.match(r"\w+:", target):
            continue
        if not os.path.exists(os.path.join(root, os.path.dirname(page), target)):
            print(f"{page}: {target} does not exist")
            failures += 1
    # A path may have a `*`.
    for path in re.findall(r"`((?:lib|include|tools|unittests|test|examples|benchmarks|docs|cmake|\.ci)/[\w/.*-]+)`", text):
        if not glob.glob(os.path.join(root, path)):
            print(f"{page}: `{path}` does not exist")
            failures += 1
print(f"{len(pages)} pages, {failures} dead links and paths")
sys.exit(failures != 0)
