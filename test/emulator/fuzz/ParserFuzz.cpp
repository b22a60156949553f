//===- ParserFuzz.cpp - Any bytes as PTX ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Render.h"
#include "Emulator/Decode/Program.h"
#include "PTX/Parser.h"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ptx::ParseResult result =
      ptx::parse(std::string(reinterpret_cast<const char *>(data), size), "fuzz.ptx");
  if (result.module) {
    std::vector<Diagnostic> diagnostics;
    std::vector<uint64_t> globals(result.module->variables.size(), 4096);
    for (auto &function : result.module->functions)
      if (function->isEntry && !function->isDeclaration)
        emu::decode(result.module, function->name, globals, diagnostics);
  }
  return 0;
}
