//===- RunProgram.h - Compares what programs do on two targets --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_RUNPROGRAM_H
#define PENSTOCK_FUZZ_RUNPROGRAM_H

#include "Batches.h"
#include "Program.h"

namespace penstock::fuzz {

/// What a case of --programs counts.
enum ProgramCounter {
  Compared,
  Exact,
  Faulted,
  Asynchronous,
  Launches,
  Unscheduled,
  Printing,
  Explicit
};

/// Compiles a program for both targets, runs it on the same data, and compares
/// results, faults and what is printed.
CaseResult compareTargets(const Program &program, const std::set<unsigned> &dropped,
                          Counters &counters);

/// What a case of --device counts.
enum DeviceCounter {
  DeviceCompiled,
  DeviceRefused,
  DeviceUnscheduled,
  DeviceProducts,
  DeviceReductions,
  DeviceLoops,
  DeviceTwoLoops,
  DeviceConversions,
  DeviceParallel,
  DeviceFaulted,
  DeviceFindings
};

/// Compiles a program for one of the GPUs, runs it on the emulator with two timings,
/// and compares with the interpreter.
CaseResult compareOnDevice(const Program &program, const std::set<unsigned> &dropped,
                           Counters &counters);

/// Compares random expressions in a tile program and in explicit kernels for GPUs.
CaseResult compareExpressions(uint64_t seed, Counters &counters);

/// Arguments of a launch with memory of their own, filled by the program's
/// seed.
class Data {
public:
  explicit Data(const Program &program);
  std::vector<detail::Argument> arguments() const;
  /// The first element that differs from \p other, or "".
  std::string difference(const Data &other, const Program &program) const;

private:
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<detail::Argument> packed;
};

/// The program as text, or the reasons why it has none.
std::string textOf(const Program &program, const std::set<unsigned> &dropped);

int runPrograms(const BatchOptions &options);
int runDevice(const BatchOptions &options);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_RUNPROGRAM_H
