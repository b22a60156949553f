//===- GenerateInstance.h - Random loops of the explicit level --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Commits, counted waits, fences and waits for reads alone cannot be written in
// a tile program. The checker knows them all the same, so random loops with
// them are given to it in the text form of docs/contributing/scheduling-instances.md.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_GENERATEINSTANCE_H
#define PENSTOCK_FUZZ_PIPELINES_GENERATEINSTANCE_H

#include "Loop.h"

namespace penstock::fuzz {

struct LoopInstance {
  Loop loop;
  Plan plan;
};

LoopInstance generateInstance(uint64_t seed);

/// The instance as text.
std::string emitInstance(const LoopInstance &);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_GENERATEINSTANCE_H
