//===- SuggestedStages.cpp - Stages that registers allow ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages are chosen long before registers. So the largest number of stages that shared memory has
// room for is an advice only if ptxas accepts the kernel with it.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Registers/SuggestedStages.h"
#include "Diagnostics/Codes.h"
#include "penstock/assemble.h"

#include <algorithm>
#include <cstdlib>

using namespace penstock;

/// The program with at most \p most stages in each loop.
static std::string withStages(const std::string &program, long most) {
  static constexpr std::string_view name = "num_stages = ";
  std::string result;
  for (size_t at = 0;;) {
    size_t found = program.find(name, at);
    if (found == std::string::npos)
      return result + program.substr(at);
    size_t digits = found + name.size();
    size_t end = std::min(program.find_first_not_of("0123456789", digits), program.size());
    long stages = std::strtol(program.c_str() + digits, nullptr, 10);
    result += program.substr(at, digits - at) + std::to_string(std::min(stages, most));
    at = end;
  }
}

/// Returns why a program is rejected for its registers; empty: it is not, or for other reasons.
static std::string registersReject(const std::string &program, llvm::StringRef kernel,
                                   BackendOptions options) {
  options.target = options.target.emulated();
  options.afterPass = {};
  options.reproducer = {};
  std::vector<Diagnostic> errors;
  PooledContext context;
  auto module = parseProgram(context.get(), program, "suggestion", errors);
  if (!module)
    return "";
  AnyKernel compiled(
      compileProgram(std::move(context), std::move(module), kernel, options, errors));
  if (compiled) {
    RegisterCheck check = check_registers(compiled.ptx(), options.target);
    return check.outcome == RegisterCheck::Outcome::Rejected ? check.diagnostics.front().message
                                                             : "";
  }
  auto found = std::ranges::find(errors, HardwareMemory, &Diagnostic::code);
  return found == errors.end() ? "" : found->message;
}

void penstock::checkSuggestedStages(const std::string &tileProgram, llvm::StringRef kernel,
                                    const BackendOptions &options,
                                    std::vector<Diagnostic> &diagnostics) {
  for (Diagnostic &d : diagnostics) {
    auto fact = std::ranges::find(d.facts, "num-stages-that-fit",
                                  [](const auto &each) { return each.first; });
    long stages = fact == d.facts.end() ? 0 : std::strtol(fact->second.c_str(), nullptr, 10);
    if (d.code != VersionsDoNotFit || stages < 1)
      continue;
    std::string why = registersReject(withStages(tileProgram, stages), kernel, options);
    if (!why.empty())
      d.helps = {"use smaller tiles: with num_stages = " + std::to_string(stages) +
                 ", which fits, " + why};
  }
}
