//===- Passes.td - From tile programs to NVPTX -------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All passes, in pipeline order: one file for each phase.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PASSES
#define PENSTOCK_TARGET_NVPTX_PASSES

include "Target/NVPTX/EnginePasses.td"
include "Target/NVPTX/PipelinePasses.td"
include "Target/NVPTX/ThreadPasses.td"

#endif // PENSTOCK_TARGET_NVPTX_PASSES
