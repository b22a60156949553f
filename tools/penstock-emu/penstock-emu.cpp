//===- penstock-emu.cpp - The emulator as a tool --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"

#include <cstdio>

using namespace penstock::emu;

int main(int argc, char **argv) {
  struct Command {
    const char *name;
    int (*run)(const Arguments &);
    const char *what;
  };
  static constexpr Command commands[] = {
      {"run", runCommand, "run a CUDA program on the emulator"},
      {"run-ptx", runPtxCommand, "launch a kernel of a .ptx file"},
      {"parse", parseCommand, "read .ptx files and say what is not supported"},
      {"selftest", selftestCommand, "kernels, their wrong twins, many timings"},
      {"coverage", coverageCommand, "list instructions; --markdown: the page"},
  };
  if (argc > 1)
    for (const Command &command : commands)
      if (std::string(argv[1]) == command.name)
        return command.run(Arguments(argv + 2, argv + argc));
  fputs("usage: penstock-emu COMMAND ...\n", stderr);
  for (const Command &command : commands)
    fprintf(stderr, "  %-10s %s\n", command.name, command.what);
  return 2;
}
