//===- Registers.h - Registers that hold tiles ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_REGISTERS_H
#define PENSTOCK_TARGET_NVPTX_THREADS_REGISTERS_H

#include "Layout/Distribution.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace penstock::nvptx {

struct LoweringContext;

/// A tile in registers.
struct RegisterTile {
  layout::Distribution layout;
  std::vector<mlir::Value> storage; ///< one variable for each of the thread's registers
  mlir::Type type;                  ///< of an element
  mlir::Type element;               ///< how a register holds it
  int64_t registers() const { return layout.registers(); }
};

/// The local tiles of a kernel.
struct RegisterStorage {
  llvm::DenseMap<mlir::Value, RegisterTile> tiles;
  llvm::DenseMap<mlir::Value, mlir::Value> variables; ///< tiles of rank 0
};

/// Creates variables for all local tiles of the kernel, in the layouts of nv-assign-layouts.
void allocateRegisters(LoweringContext &c);

/// The registers of a tile or a slice; null if it is not in registers.
RegisterTile *registersOf(LoweringContext &c, mlir::Value tile);

/// Creates variables for a tile of the lowering.
RegisterTile makeRegisters(LoweringContext &c, const layout::Distribution &layout,
                           mlir::Type element);

mlir::Value readRegister(LoweringContext &c, RegisterTile &tile, int64_t reg);
void writeRegister(LoweringContext &c, RegisterTile &tile, int64_t reg, mlir::Value value);

/// The registers of the hardware that hold a tile's: 32 bits, i32 unless they
/// are an f32.
int64_t words(const RegisterTile &tile);
mlir::Value readWord(LoweringContext &c, RegisterTile &tile, int64_t word);
void writeWord(LoweringContext &c, RegisterTile &tile, int64_t word, mlir::Value value);

/// Returns whether two elements of a tile share a register of the hardware.
bool hasHalves(const RegisterTile &tile);
void writeHalves(LoweringContext &c, RegisterTile &tile, int64_t reg, mlir::Value low,
                 mlir::Value high);

/// Keeps accesses to these registers on their side of an instruction.
void ptxWithRegisters(LoweringContext &c, llvm::StringRef text,
                      llvm::ArrayRef<RegisterTile *> tiles);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_REGISTERS_H
