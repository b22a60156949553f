//===- StateRoles.h - Random roles for statements of kernels ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_STATEROLES_H
#define PENSTOCK_FUZZ_PIPELINES_STATEROLES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock::fuzz {

class Random;

/// States roles for some statements of a pipelined loop; returns for how many.
unsigned stateRoles(mlir::scf::ForOp loop, Random &random);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_STATEROLES_H
