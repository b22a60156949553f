//===- KernelAbi.h - ABI of kernels and runtime -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LAUNCH_KERNELABI_H
#define PENSTOCK_TRANSFORMS_LAUNCH_KERNELABI_H

#include "llvm/ADT/StringRef.h"

namespace penstock::abi {

/// Arguments that tile-lower-launch adds behind a kernel's own.
enum ExtraArgument { Block, LaunchConstants, Scratch, Context, NumExtra };

/// Suffix of the function that computes a launch's grid and constants.
constexpr llvm::StringLiteral launchSuffix = ".launch";
/// Suffix of the functions that take all arguments from an array of 8-byte
/// slots.
constexpr llvm::StringLiteral packedSuffix = ".packed";

/// Entries of the launch constants: three extents of the grid, then the rest.
constexpr unsigned gridEntries = 3;

// Attributes.
constexpr llvm::StringLiteral scratchAttr = "penstock.scratch";
constexpr llvm::StringLiteral launchSizeAttr = "penstock.launch_constants";
constexpr llvm::StringLiteral faultsAttr = "penstock.faults";
constexpr llvm::StringLiteral asyncAttr = "penstock.async";
/// Marks functions that are entered through a packed form.
constexpr llvm::StringLiteral packAttr = "penstock.pack";
/// On a division whose divisor cannot be zero in a block that runs.
constexpr llvm::StringLiteral safeAttr = "penstock.safe";
/// On a division: the entry of the launch constants that has the multiplier of its divisor; the
/// next one has the shift (Reciprocals.h).
constexpr llvm::StringLiteral reciprocalAttr = "penstock.reciprocal";

/// On a function, with the option `report` of tile-lower-gemm: how its products were lowered.
constexpr llvm::StringLiteral productsAttr = "penstock.products";

// Functions of the runtime that generated code calls; all take the context
// first.
constexpr llvm::StringLiteral faultFn = "penstock_fault";
constexpr llvm::StringLiteral printTextFn = "penstock_print_text";
constexpr llvm::StringLiteral printIntFn = "penstock_print_int";
constexpr llvm::StringLiteral printFloatFn = "penstock_print_float";
constexpr llvm::StringLiteral printEndFn = "penstock_print_end";
constexpr llvm::StringLiteral packTransposedFn = "penstock_pack_transposed";
constexpr llvm::StringLiteral packPanelsFn = "penstock_pack_panels";
constexpr llvm::StringLiteral packRowsFn = "penstock_pack_rows";
constexpr llvm::StringLiteral packTilesFn = "penstock_pack_tiles";
constexpr llvm::StringLiteral offsetSumsFn = "penstock_offset_sums";
constexpr llvm::StringLiteral asyncIssueFn = "penstock_async_issue";
constexpr llvm::StringLiteral asyncLoopFn = "penstock_async_loop";
constexpr llvm::StringLiteral asyncWaitFn = "penstock_async_wait";

} // namespace penstock::abi

#endif // PENSTOCK_TRANSFORMS_LAUNCH_KERNELABI_H
