//===- diagnostics.cpp - Examples of the C++ reference --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <penstock/assemble.h>
#include <penstock/log.h>
#include <penstock/penstock.h>
#include <penstock/statistics.h>
using namespace penstock;

// example: Error::diagnostics, Error::what, SourceLocation::known, codeName
template <class F> void guarded(F launch) {
  try {
    launch();
  } catch (const Error &error) {
    std::puts(error.what());
    for (const Diagnostic &d : error.diagnostics())
      if (d.location.known())
        std::printf("%s in line %u\n", codeName(d.code).c_str(), d.location.line);
  }
}

// example: Error::Error, to_json
void fail(const std::string &text) {
  Diagnostic d;
  d.message = text;
  std::string json = to_json(std::vector<Diagnostic>{d});
  throw Error({d});
}

// example: set_log
void log_compilations() {
  set_log(LogLevel::Info,
          [](const Event &event) { std::printf("%s %s\n", event.name, event.subject.c_str()); });
}

// example: statistics, to_prometheus
std::string metrics() { return to_prometheus(statistics()); }

// example: find_assembler, assemble
int registers_of(const std::string &ptx) {
  return find_assembler().empty() ? 0 : assemble(ptx, Target::sm_90a()).registers;
}

// example: check_registers, change_that_fits, name_of
std::string field_for(const std::string &kernel, const AnyKernel &compiled) {
  Target gpu = Target::sm_90a();
  RegisterCheck found = check_registers(compiled.ptx(), gpu);
  if (found.outcome == RegisterCheck::Outcome::Fits)
    return "";
  std::printf("%s: %s\n", kernel.c_str(), name_of(found.outcome)); // "spills"
  return change_that_fits(kernel, {.target = gpu});                // "block_n=128"
}
