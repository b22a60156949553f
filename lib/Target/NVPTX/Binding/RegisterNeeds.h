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
#ifndef PENSTOCK_TARGET_NVPTX_BINDING_REGISTERNEEDS_H
#define PENSTOCK_TARGET_NVPTX_BINDING_REGISTERNEEDS_H

#include "Dialect/NV/NVDialect.h"
#include "Hardware/Architecture.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::nvptx {

/// Words of 32 bits that local tiles take, all threads together.
int64_t localWords(mlir::func::FuncOp kernel);

/// Returns the registers of a thread. Warps are spread over the four partitions of an SM, each of
/// which allocates multiples of 8 registers for each thread.
inline int64_t registersOfThread(int64_t threads, const hw::Architecture &architecture) {
  constexpr int64_t partitions = 4, granularity = 8, most = 255;
  int64_t warps = llvm::divideCeil(threads, nv::warpSize * partitions);
  int64_t share = architecture.limits.registersPerBlock / (partitions * warps * nv::warpSize);
  return std::min(most, share / granularity * granularity);
}

/// Registers that ptxas requires of a thread beside the accumulators of one wgmma.
inline constexpr int64_t besideWgmma = 26;

/// Returns the registers of a thread that hold the accumulators of one wgmma: 64 rows of \p acc.
inline int64_t wgmmaRegisters(mlir::MemRefType acc) {
  return 64 * acc.getDimSize(1) * acc.getElementTypeBitWidth() / 32 /
         (nv::warpgroupWarps * nv::warpSize);
}

/// Registers that a thread needs beside its tiles, for addresses and operands.
inline constexpr int64_t otherRegisters = 36;

/// Of a thread of two warpgroups beside a third one, at the start and after it has taken what
/// the third one does not need.
inline constexpr int64_t registersAtStart = 168, registersTaken = 240, registersLeft = 24;

/// Returns whether two warpgroups that compute need more registers than they start with, beside a
/// warpgroup of other roles.
bool takesRegistersOfOthers(mlir::func::FuncOp kernel, int64_t warps);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_BINDING_REGISTERNEEDS_H
