//===- Product.h - Penstock's verdict on a loop -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The side that is tested. Everything goes through text, as it would for a
// user: a kernel is parsed, its loop analyzed, checked, compiled and launched.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_PRODUCT_H
#define PENSTOCK_FUZZ_PIPELINES_PRODUCT_H

#include "Program.h"
#include "Scheduling/Problem/RuleSet.h"

#include <memory>
#include <set>

namespace penstock::fuzz {

struct ProductVerdict {
  /// Not about schedules at all: the text was not understood, or two parts of
  /// the compiler contradict each other. Always a disagreement.
  std::string failure;
  bool malformed = false;
  std::set<unsigned> codes;
  /// The stated schedule, or the one that was chosen; none if the wish for
  /// stages was refused.
  std::optional<Plan> plan;
  /// One number for each buffer of the program; empty where there is no order.
  std::vector<int64_t> versions;
  /// The loop as the analysis sees it.
  std::string instance;
  bool legal() const { return failure.empty() && codes.empty(); }
};

/// What became of a legal program on a GPU.
struct DeviceRun {
  std::string refused;  ///< why it was not compiled
  std::string mismatch; ///< what differs from sequential execution
  uint64_t runs = 0;
  uint64_t findings = 0;
  uint64_t engineCopies = 0; ///< statements that TMA or cp.async executes
  bool specialized = false;  ///< whether roles of their own issue statements
  uint64_t stated = 0;       ///< statements with a stated role
  bool refusedRoles = false; ///< whether stated roles were not possible
  uint64_t ends = 0;         ///< points of its plans after the last iteration
  uint64_t joins = 0;        ///< points of its plans at which all threads meet
  std::string kernel;        ///< its PTX
};

/// One kernel inside of the compiler.
class CompiledProgram {
public:
  CompiledProgram(const Program &program, sched::RuleSet rules);
  ~CompiledProgram();
  ProductVerdict verdict;

  /// Compiles to native code with late completion and runs it for 0 to \p most
  /// iterations and all ways of completing; says what differs from sequential
  /// execution, or nothing. Once only.
  std::string run(int64_t most, uint64_t seed, uint64_t &runs);

  /// The same on one of the emulated GPUs, eagerly, lazily, at random and with a starved
  /// warp.
  /// Without point \p omitted of each plan, if that is not negative.
  /// Half of the programs ask for warp-specialized loops, unless \p oneGroup.
  DeviceRun runOnDevice(int64_t most, uint64_t seed, int64_t omitted = -1, bool oneGroup = false);

private:
  struct Inside;
  const Program &program;
  std::unique_ptr<Inside> inside;
};

/// The verdict on an instance in the text form of docs/contributing/scheduling-instances.md.
ProductVerdict checkInstance(const std::string &text, sched::RuleSet rules);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_PRODUCT_H
