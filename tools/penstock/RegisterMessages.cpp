//===- RegisterMessages.cpp - Registers of compiled kernels ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RegisterMessages.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"

#include <algorithm>
#include <optional>

using namespace penstock;

/// Returns whether a smaller tile, or another number of threads, may help.
static bool isOnRegisters(const Diagnostic &d) {
  return d.code == RegistersRejected || d.code == RegistersSpilled || d.code == WgmmaSerialized ||
         d.code == PredictedRejection || d.code == PredictedSpills || d.code == HardwareMemory;
}

void suggestFields(std::vector<Diagnostic> &diagnostics, const std::string &kernel,
                   const std::string &gpu, const InspectOptions &options) {
  auto found = std::ranges::find_if(diagnostics, isOnRegisters);
  if (found == diagnostics.end())
    return;
  InspectOptions changed = options;
  changed.target = find_gpu(gpu)->emulated();
  if (std::string change = change_that_fits(kernel, changed); !change.empty())
    found->helps.push_back("`--set " + change + "` " +
                           (find_assembler().empty() ? "is predicted to fit" : "fits, by ptxas"));
}

RegisterCheck checkRegisters(const AnyKernel &compiled, const std::string &kernel,
                             const std::string &gpu, const InspectOptions &options, bool suggest) {
  RegisterCheck check = check_registers(compiled.ptx(), *find_gpu(gpu));
  if (suggest)
    suggestFields(check.diagnostics, kernel, gpu, options);
  for (Diagnostic &d : check.diagnostics)
    d.message = "`" + kernel + "` for " + gpu + ": " + d.message;
  return check;
}

std::string registersJson(const RegisterCheck &check) {
  JsonObject json;
  json.text("outcome", name_of(check.outcome)).text("by", check.measured ? "ptxas" : "model");
  json.number("live", check.live).number("available", check.available);
  if (check.measured)
    json.number("registers", check.registers).number("spilled_bytes", check.spilled_bytes);
  return json.str();
}
