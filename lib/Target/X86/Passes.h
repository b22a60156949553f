//===- Passes.h - From loops to LLVM for the host ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_PASSES_H
#define PENSTOCK_TARGET_X86_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock {

#define GEN_PASS_DECL
#include "Target/X86/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Target/X86/Passes.h.inc"

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_PASSES_H
