//===- Assemble.cpp - From PTX to machine code ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/assemble.h"
#include "Compiler/Compiler.h"
#include "Cuda/Assembler.h"
#include "Diagnostics/Codes.h"
#include "llvm/ADT/StringRef.h"

using namespace penstock;

namespace {

/// The last number before \p words in the assembler's report.
int numberBefore(llvm::StringRef text, llvm::StringRef words) {
  size_t at = text.rfind(words);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef before = text.take_front(at).rtrim();
  int number = 0;
  (void)before.substr(before.find_last_not_of("0123456789") + 1).getAsInteger(10, number);
  return number;
}

Diagnostic problem(std::string message, std::string help) {
  Diagnostic d;
  d.code = HardwareAssembler;
  d.message = std::move(message);
  d.helps.push_back(std::move(help));
  return d;
}

} // namespace

std::string penstock::find_assembler() { return cuda::findPtxas(); }

Assembled penstock::assemble(const std::string &ptx, Target target, AssembleOptions options) {
  Assembled result;
  std::string program = find_assembler();
  if (program.empty()) {
    result.diagnostics.push_back(
        problem("ptxas, CUDA's assembler, is not installed",
                "put it on the search path, or name it in PENSTOCK_PTXAS"));
    return result;
  }
  cuda::Assembly run = cuda::runPtxas(program, ptx, architectureOf(target).name);
  const std::string &said = run.report;
  if (!run.ok) {
    result.diagnostics.push_back(
        problem("ptxas rejects the kernel: " + said,
                "this is a bug in Penstock or in inline PTX; please report it"));
    return result;
  }
  result.registers = numberBefore(said, " registers, used");
  result.spilled_bytes =
      numberBefore(said, " bytes spill stores") + numberBefore(said, " bytes spill loads");
  auto slow = [&](Diagnostic d) {
    d.severity = options.allow_slow_code ? Severity::Warning : Severity::Error;
    result.diagnostics.push_back(std::move(d));
  };
  if (result.spilled_bytes)
    slow(problem("the kernel spills registers: " + std::to_string(result.spilled_bytes) + " bytes",
                 "use smaller tiles or more threads, or set allow_slow_code"));
  // Of serialized products, and of requests for registers that are ignored. What it adds for
  // products in flight at the end of a loop (C7519) costs nothing.
  if (said.find("Potential Performance Loss") != std::string::npos)
    slow(problem("ptxas serializes the kernel's MMAs: " + said,
                 "do not touch accumulators between an MMA and its wait, or set allow_slow_code"));
  if (options.allow_slow_code || result.diagnostics.empty())
    result.cubin = std::move(run.cubin);
  return result;
}
