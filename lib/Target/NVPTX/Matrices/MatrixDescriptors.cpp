//===- MatrixDescriptors.cpp - Descriptors of shared tiles ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Matrices/MatrixDescriptors.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Views.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Descriptors count addresses in units of 16 bytes.
static constexpr int64_t descriptorUnit = 16;

namespace {

/// Address of the block's shared memory as descriptors have it, by the bits around it.
struct DescriptorBases {
  llvm::DenseMap<uint32_t, Value> of;
};

} // namespace

Value nvptx::descriptorStart(LoweringContext &c, Value tile, uint64_t fixed, Value extraUnits) {
  auto low = uint32_t(fixed);
  Value &start = c.state<DescriptorBases>().of[low];
  if (!start) {
    OpBuilder::InsertionGuard guard(c.builder);
    c.builder.setInsertionPointAfterValue(c.shared.base32);
    // Of a cluster's blocks, addresses have a rank above these bits. LLVM would take the sum
    // apart and add its constants in every iteration.
    start = c.ptxValue(c.builder.getI32Type(), "add.s32 $0, $1, " + std::to_string(low) + ";",
                       {c.shiftRight(c.andBits(c.shared.base32, 0x3ffff), 4)});
  }
  // A sum of units, instead of bytes that are divided, takes one instruction in a loop.
  Value first = c.add(start, engineOffset(c, viewOf(c, tile), descriptorUnit));
  return extraUnits ? c.add(first, extraUnits) : first;
}

std::string nvptx::highWord(uint64_t fixed) { return std::to_string(fixed >> 32); }

Value nvptx::matrixDescriptor(LoweringContext &c, Value start, uint64_t fixed) {
  // Opaque to LLVM, which would add the constants of a sum to both words.
  return c.ptxValue(c.builder.getI64Type(), "mov.b64 $0, {$1, " + highWord(fixed) + "};", {start});
}

int64_t nvptx::descriptorStep(int64_t bytes) { return bytes / descriptorUnit; }
