//===- Assemble.cpp - From PTX to machine code ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/assemble.h"
#include "Compiler/Compiler.h"
#include "Compiler/Registers/AssemblerReport.h"
#include "Cuda/Assembler.h"
#include "Diagnostics/Codes.h"

#include <algorithm>

using namespace penstock;

namespace {

/// The report, the diagnostics and the machine code of one run of ptxas.
struct AssemblerRun {
  AssemblerReport report;
  bool rejected = false;
  std::string cubin;
  std::vector<Diagnostic> diagnostics;
};

AssemblerRun runAssembler(const std::string &program, const std::string &ptx, Target target,
                          const std::optional<ModeledKernel> &kernel) {
  const hw::Architecture &architecture = architectureOf(target);
  cuda::Assembly run = cuda::runPtxas(program, ptx, architecture.name);
  AssemblerRun result;
  result.report = AssemblerReport::parse(run.report);
  result.rejected = !run.ok;
  result.cubin = std::move(run.cubin);
  if (result.rejected)
    result.diagnostics = {rejectionOf(result.report, run.report, kernel, architecture)};
  else
    result.diagnostics = warningsOf(result.report, kernel, architecture);
  return result;
}

} // namespace

std::string penstock::find_assembler() { return cuda::findPtxas(); }

Assembled penstock::assemble(const std::string &ptx, Target target, AssembleOptions options) {
  Assembled result;
  std::string program = find_assembler();
  if (program.empty()) {
    Diagnostic d;
    d.code = HardwareAssembler;
    d.message = "ptxas, CUDA's assembler, is not installed";
    d.helps.push_back("put it on the search path, or name it in PENSTOCK_PTXAS");
    result.diagnostics.push_back(std::move(d));
    return result;
  }
  AssemblerRun run = runAssembler(program, ptx, target, ModeledKernel::parse(ptx));
  result.registers = run.report.registers;
  result.spilled_bytes = run.report.spilledBytes;
  result.diagnostics = std::move(run.diagnostics);
  for (Diagnostic &d : result.diagnostics)
    if (!options.allow_slow_code && d.severity == Severity::Warning) {
      d.severity = Severity::Error;
      d.helps.emplace_back("set allow_slow_code to accept this");
    }
  if (options.allow_slow_code || result.diagnostics.empty())
    result.cubin = std::move(run.cubin);
  return result;
}

const char *penstock::name_of(RegisterCheck::Outcome outcome) {
  switch (outcome) {
  case RegisterCheck::Outcome::Fits:
    return "fits";
  case RegisterCheck::Outcome::Spills:
    return "spills";
  case RegisterCheck::Outcome::Serialized:
    return "serialized";
  case RegisterCheck::Outcome::Rejected:
    return "rejected";
  }
  return "";
}

RegisterCheck penstock::check_registers(const std::string &ptx, Target target) {
  using Outcome = RegisterCheck::Outcome;
  RegisterCheck result;
  std::optional<ModeledKernel> kernel = ModeledKernel::parse(ptx);
  std::optional<RegisterModel> model;
  if (kernel) {
    model = kernel->model(architectureOf(target));
    result.live = int(model->live);
    result.available = int(model->available);
  }
  std::string program = find_assembler();
  if (!program.empty()) {
    AssemblerRun run = runAssembler(program, ptx, target, kernel);
    result.measured = true;
    result.registers = run.report.registers;
    result.spilled_bytes = run.report.spilledBytes;
    result.diagnostics = std::move(run.diagnostics);
    result.outcome = run.rejected                     ? Outcome::Rejected
                     : !run.report.serialized.empty() ? Outcome::Serialized
                     : run.report.spilledBytes        ? Outcome::Spills
                                                      : Outcome::Fits;
  } else if (model) {
    result.diagnostics = predictionsOf(*kernel, architectureOf(target));
    result.outcome = model->isRejected() ? Outcome::Rejected
                     : model->isSlow()   ? Outcome::Spills
                                         : Outcome::Fits;
  }
  return result;
}
