//===- LaunchBuilder.h - Builds the function of a launch --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_LAUNCH_LAUNCHBUILDER_H
#define PENSTOCK_TRANSFORMS_LAUNCH_LAUNCHBUILDER_H

#include "Transforms/Launch/KernelAbi.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace penstock {

/// Builds `@k.launch`: clones what launch constants are computed from and
/// stores them. Its parameters are the kernel's arguments, the array and
/// the runtime's handle.
class LaunchBuilder {
public:
  explicit LaunchBuilder(mlir::func::FuncOp kernel);

  static mlir::MemRefType arrayType(mlir::OpBuilder &builder) {
    return mlir::MemRefType::get({mlir::ShapedType::kDynamic}, builder.getI64Type());
  }

  /// The value that \p value has in the launch function.
  mlir::Value clone(mlir::Value value);

  void store(mlir::Value value, unsigned entry);

  mlir::func::FuncOp kernel, launch;
  mlir::OpBuilder builder;
  mlir::IRMapping mapping;
  unsigned numEntries = abi::gridEntries;
};

/// Loads a launch constant as an i64. \p constants: the kernel's argument.
mlir::Value loadLaunchConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Value constants,
                               unsigned entry);

/// Returns whether a value depends on floating-point numbers; a launch computes with integers.
bool usesFloats(mlir::Value value);

/// Lowers divisions by launch constants to multiplications: `tile.divmod`, and on GPUs, which call
/// functions to divide 64 bits, `arith.divsi` and `arith.remsi`. There it also narrows what is
/// known to fit to 32 bits. GuardFaults.cpp checks the divisors and then writes the
/// multiplications.
void lowerDivisions(LaunchBuilder &launch);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_LAUNCH_LAUNCHBUILDER_H
