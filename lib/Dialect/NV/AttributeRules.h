//===- AttributeRules.h - When attributes of nv may exist -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_NV_ATTRIBUTERULES_H
#define PENSTOCK_DIALECT_NV_ATTRIBUTERULES_H

#include "Dialect/NV/NVDialect.h"

namespace penstock::nv {

/// Returns the name of an attribute of \p op that must not exist in \p phase, by
/// NVAttributes.def; nothing if there is none.
std::optional<llvm::StringRef> attributeOfOtherPhase(mlir::Operation *op, Phase phase);

} // namespace penstock::nv

#endif // PENSTOCK_DIALECT_NV_ATTRIBUTERULES_H
