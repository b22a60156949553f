//===- CanonicalOrder.h - One program whatever compiled the user's code -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LANG_CANONICALORDER_H
#define PENSTOCK_LANG_CANONICALORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::lang {

/// C++ compilers evaluate the arguments of a call in different orders, so the
/// same kernel is recorded with its pure scalars and loads of variables in a different
/// order. This puts each of them right before its first user, in the order of operands,
/// and drops those that nothing uses. Afterwards the text of a kernel depends on
/// the kernel alone.
void canonicalizeOrder(mlir::func::FuncOp function);

} // namespace penstock::lang

#endif // PENSTOCK_LANG_CANONICALORDER_H
