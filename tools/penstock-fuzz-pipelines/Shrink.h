//===- Shrink.h - Makes failing cases small ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_SHRINK_H
#define PENSTOCK_FUZZ_PIPELINES_SHRINK_H

#include "GenerateInstance.h"
#include "Program.h"

#include <functional>

namespace penstock::fuzz {

/// The smallest program that the steps of shrinking lead to and that still
/// fails.
Program shrinkProgram(Program program, const std::function<bool(const Program &)> &fails);
LoopInstance shrinkInstance(LoopInstance instance,
                            const std::function<bool(const LoopInstance &)> &fails);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_SHRINK_H
