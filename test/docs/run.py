#!/usr/bin/env python3
"""Compiles the C++ examples of a page, so that they cannot go stale.

An HTML comment before a ```cpp block says how it is to be understood:

  <!-- compile: file -->                 a source file of its own
  <!-- compile: kernel-body -->          the inside of a kernel, with the names below
  <!-- compile: kernel-body fails -->    the same, and C++ must refuse it
  <!-- compile: host -->                 the inside of a function that calls kernels

Blocks without a comment are not looked at. All that must compile do so as one
program, whose messages name the lines of the page. With --library, the kernels
are also recorded and compiled to native code, without a diagnostic.
"""
import argparse
import os
import re
import subprocess
import sys

PROLOGUE = """#include <penstock/cache.h>
#include <penstock/penstock.h>
#include <penstock/statistics.h>
#include <penstock/tune.h>
#include <cstdio>
#include <thread>
using namespace penstock;

struct Softmax {
  static constexpr auto signature = "x[R,C] -> y[R,C]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const { b.fill(b.local<f32>(1), 0); }
};
"""

# The names that an example inside of a kernel may use.
KERNEL = """
struct Example{number} {{
  void operator()(Block &b, In<f32, 2> A, In<f32, 2> B, Out<f32, 2> C, In<f32, 3> Q, In<f32, 1> bias,
                  In<i32, 1> ids, InOut<i32, 1> H, Scalar<f32> scale, Index n) const {{
    auto S = b.local<f32>(64, 32), T = b.local<f32>(64, 32), W = b.local<f32>(32, 16), acc = b.local<f32>(64, 16);
    auto v = b.local<f32>(64), w = b.local<f32>(32);
    auto ring3 = b.shared<f32>(3, 64, 32);
    auto m0 = {block_index} * 64;
    {{
#line {line} "{page}"
{code}
    }}
  }}
}};
"""

HOST = """
void host{number}(std::vector<float> &x, std::vector<float> &y) {{
#line {line} "{page}"
{code}
}}
"""

RECORD = """
template <class K> int record(const char *name, int line) {{
  auto compiled = try_compile(K{{}}, Target::native());
  if (!compiled.diagnostics.empty())
    std::printf("{page}:%d: %s is refused:\\n%s", line, name, to_text(compiled.diagnostics).c_str());
  return compiled.diagnostics.empty() ? 0 : 1;
}}
int main() {{
  int failures = 0;
{calls}
  return failures;
}}
"""


class Block:
    def __init__(self, number, line, kind, code, page):
        self.number, self.line, self.code, self.page = number, line, code, page
        self.kind, *flags = kind.split()
        self.fails = "fails" in flags

    def source(self):
        fields = dict(number=self.number, line=self.line, page=self.page, code=self.code)
        if self.kind == "file":
            return f'namespace file{self.number} {{\n#line {self.line} "{self.page}"\n{self.code}}}\n'
        if self.kind == "host":
            return HOST.format(**fields)
        if self.kind == "kernel-body":
            # An example that states the grid has it for itself.
            block_index = "Index(0)" if "b.grid(" in self.code else "b.grid(ceil_div(A.size(0), 64))"
            return KERNEL.format(block_index=block_index, **fields)
        sys.exit(f"{self.page}:{self.line}: unknown kind of example: {self.kind}")


def blocks_of(page):
    text = open(page, encoding="utf-8").read()
    result = []
    for match in re.finditer(r"<!-- compile: ([\w -]+) -->\n```cpp\n(.*?)```", text, re.S):
        line = text.count("\n", 0, match.start(2)) + 1
        result.append(Block(len(result), line, match.group(1), match.group(2), page))
    return result


def compile_source(options, path, text, *flags):
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROLOGUE + text)
    command = [options.compiler, "-std=c++20", "-Wall", "-Wextra", "-I", options.include]
    # Examples name things without using them.
    command += ["-Wno-unused", "-Wno-unused-parameter", *flags, path]
    return subprocess.run(command, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("page", help="a Markdown file")
    parser.add_argument("--compiler", default="clang++-22")
    parser.add_argument("--include", default="include", help="the public headers")
    parser.add_argument("--library", help="libpenstock.so: record the kernels too")
    parser.add_argument("--work", default=".", help="directory for intermediate files")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    blocks = blocks_of(options.page)
    if not blocks:
        sys.exit(f"{options.page} has no examples")
    stem = os.path.join(options.work, os.path.splitext(os.path.basename(options.page))[0])
    failures = 0
    for block in (block for block in blocks if block.fails):
        run = compile_source(options, f"{stem}-{block.number}.cpp", block.source(), "-fsyntax-only")
        if run.returncode == 0:
            failures += 1
            print(f"{block.page}:{block.line}: C++ accepts this example")
    good = [block for block in blocks if not block.fails]
    text = "".join(block.source() for block in good)
    kernels = [block for block in good if block.kind == "kernel-body"]
    calls = "".join(f'  failures += record<Example{b.number}>("the example", {b.line});\n' for b in kernels)
    text += RECORD.format(page=options.page, calls=calls)
    flags = ["-fsyntax-only"]
    if options.library:
        directory = os.path.dirname(os.path.abspath(options.library))
        flags = ["-O0", options.library, f"-Wl,-rpath,{directory}", "-o", f"{stem}-examples"]
    built = compile_source(options, f"{stem}-examples.cpp", text, *flags)
    if built.returncode or built.stderr:
        sys.exit(built.stderr)
    if options.library:
        run = subprocess.run([f"{stem}-examples"], capture_output=True, text=True)
        print(run.stdout + run.stderr, end="")
        if run.returncode < 0:
            print(f"the library crashed on an example: signal {-run.returncode}")
        failures += run.returncode != 0
    print(f"{options.page}: {len(blocks)} examples, {failures} failures")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
