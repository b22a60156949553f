//===- RegisterNeeds.h - Registers that local tiles take --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides how many threads execute a tile program, and whether they take registers from
// the warps of other roles. The four parts of an SM have a quarter of the registers each:
// nine warps are three in one part, so that a single warp of another role costs each
// thread of two warpgroups 86 of its 254 registers, unless they are passed on.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_REGISTERNEEDS_H
#define PENSTOCK_TARGET_NVPTX_REGISTERNEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Words of 32 bits that local tiles take, all threads together.
int64_t localWords(mlir::func::FuncOp kernel);

/// Registers that a thread needs beside its tiles, for addresses and operands.
inline constexpr int64_t otherRegisters = 36;

/// Of a thread of two warpgroups beside a third one, at the start and after it has taken what
/// the third one does not need.
inline constexpr int64_t registersAtStart = 168, registersTaken = 240, registersLeft = 24;

/// Returns whether two warpgroups that compute need more registers than they start with, beside a
/// warpgroup of other roles.
bool takesRegistersOfOthers(mlir::func::FuncOp kernel, int64_t warps);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_REGISTERNEEDS_H
