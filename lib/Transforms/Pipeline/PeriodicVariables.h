//===- PeriodicVariables.h - Variables with a period of iterations -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_PIPELINE_PERIODICVARIABLES_H
#define PENSTOCK_TRANSFORMS_PIPELINE_PERIODICVARIABLES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock {

struct PeriodicVariable {
  mlir::Value variable;
  mlir::TypedAttr value; ///< before the loop, and after each period
};

/// Returns the variables that a loop stores to and that have the same constant before the loop and
/// after every \p period iterations, e.g. the slot of a ring whose number of slots divides the
/// period. A period is executed with constants; what is not known stays unknown.
llvm::SmallVector<PeriodicVariable> periodicVariables(mlir::scf::ForOp loop, uint64_t period);

} // namespace penstock

#endif // PENSTOCK_TRANSFORMS_PIPELINE_PERIODICVARIABLES_H
