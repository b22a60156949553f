//===- outcome.cpp - Registers of PTX files -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// register-outcome TARGET FILE..: prints a line for each file: the outcome of check_registers, live
// and available registers, those that ptxas uses, and spilled bytes. With PENSTOCK_PTXAS= the model
// answers.
//
//===----------------------------------------------------------------------===//
#include "penstock/assemble.h"

#include <cstdio>
#include <fstream>
#include <sstream>

int main(int argc, char **argv) {
  auto target = argc > 2 ? penstock::find_gpu(argv[1]) : std::nullopt;
  if (!target) {
    std::fputs("usage: register-outcome TARGET FILE..\n", stderr);
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i]);
    std::stringstream ptx;
    ptx << file.rdbuf();
    penstock::RegisterCheck check = penstock::check_registers(ptx.str(), *target);
    std::printf("%s %d %d %d %d\n", name_of(check.outcome), check.live, check.available,
                check.registers, check.spilled_bytes);
  }
  return 0;
}
