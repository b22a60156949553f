# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checkouts: their commits, and that they are unmodified."""

import subprocess
import sys

COMMITS = {
    "cutlass": "7107b05535f8977f5ecb9d01ee203205b1fd9bc4",
    "ThunderKittens": "0b55588d2769dde0c7a9a606ffc015b0ca7a9551",
    "DeepGEMM": "54e22612409371d6364144b69086735beb54e98b",
    "flash-attention": "0251105a2fb19d2957484b7f023cd8c115286ced",
}
# The checkouts that the kernels of a project are built from.
NEEDED = {"cutlass": ["cutlass"], "ThunderKittens": ["ThunderKittens"], "DeepGEMM": ["DeepGEMM", "cutlass"],
          "flash-attention": ["flash-attention", "cutlass"], "CuTe DSL": ["cutlass"]}


def git(folder, *words):
    result = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{folder}: git {words[0]}: {result.stderr.strip()}")
    return result.stdout


def check(folder, commit):
    """Ends the program unless `folder` is an unmodified checkout of `commit`."""
    if not folder.is_dir():
        sys.exit(f"{folder}: the checkout of commit {commit} is missing")
    found = git(folder, "rev-parse", "HEAD").strip()
    if found != commit:
        sys.exit(f"{folder}: at commit {found}, expected {commit}")
    changed = git(folder, "diff", "--name-only", "--diff-filter=AM")
    if changed:
        sys.exit(f"{folder}: changed files:\n{changed}")
