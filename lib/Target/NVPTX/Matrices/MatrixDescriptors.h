//===- MatrixDescriptors.h - Descriptors of shared tiles --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_MATRICES_MATRIXDESCRIPTORS_H
#define PENSTOCK_TARGET_NVPTX_MATRICES_MATRIXDESCRIPTORS_H

#include "Target/NVPTX/Threads/LoweringContext.h"

namespace penstock::nvptx {

/// The low word of the descriptor of a shared tile with the given fixed bits; \p extraUnits
/// after its start.
mlir::Value descriptorStart(LoweringContext &c, mlir::Value tile, uint64_t fixed,
                            mlir::Value extraUnits = {});

/// The descriptor with this low word.
mlir::Value matrixDescriptor(LoweringContext &c, mlir::Value start, uint64_t fixed);

/// The high word of a descriptor, as text.
std::string highWord(uint64_t fixed);

/// The units of 16 bytes by which a descriptor moves.
int64_t descriptorStep(int64_t bytes);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_MATRICES_MATRIXDESCRIPTORS_H
