//===- EquivalentMutants.h - Mutants that are equivalent by their text -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some synchronizing instructions stand beside others that already order all that
// they do, by the rules of the ISA and in every run. That is decided from the text
// alone, before anything runs: such a change is no test of the checks.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_MUTATION_EQUIVALENTMUTANTS_H
#define PENSTOCK_TESTING_MUTATION_EQUIVALENTMUTANTS_H

#include "Testing/Mutation/Mutations.h"

namespace penstock {

class EquivalentMutants {
public:
  explicit EquivalentMutants(const ptx::Function &kernel);
  /// Why \p change of \p instruction can do no harm; empty if it can.
  std::string reasonFor(const ptx::Instruction &instruction, SyncKind kind, Change change) const;
  /// Why a mutant that no run notices is equivalent; empty if the text does not tell.
  std::string reasonIfUnnoticed(const ptx::Instruction &instruction, Change change) const;

private:
  bool barrierOfBlockFollows(const ptx::Instruction &instruction) const;
  bool tensorFenceIsBeside(const ptx::Instruction &instruction, bool before) const;
  bool tensorWaitIsBefore(const ptx::Instruction &instruction) const;
  const ptx::Instruction *nextSync(const ptx::Instruction &from, bool &accesses) const;
  bool acquiringWaitFollows(const ptx::Instruction &instruction) const;

  const ptx::Function &kernel;
  bool relaxedArrivals = false, relaxedWaits = false; ///< that do not release, or not acquire
  bool cluster = false;                               ///< blocks work together
};

} // namespace penstock

#endif // PENSTOCK_TESTING_MUTATION_EQUIVALENTMUTANTS_H
