//===- Passes.td - Passes on tile programs -----------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order in which the native pipeline runs them, one file for each phase. A test
// runs the example of each description.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_PASSES
#define PENSTOCK_TRANSFORMS_PASSES

include "Transforms/SchedulePasses.td"
include "Transforms/LoweringPasses.td"

#endif // PENSTOCK_TRANSFORMS_PASSES
