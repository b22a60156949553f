//===- LoweringContext.h - State that all lowerings share -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One context is for one kernel. It has what several families of operations use;
// functions for addresses, registers and coordinates are in the headers beside it.
// Operations become PTX instructions as inline text: LLVM's intrinsics for some of
// them may be removed or moved by its optimizer (docs/architecture.md).
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_THREADS_LOWERINGCONTEXT_H
#define PENSTOCK_TARGET_NVPTX_THREADS_LOWERINGCONTEXT_H

#include "Hardware/Architecture.h"
#include "Target/NVPTX/Threads/KernelParameter.h"
#include "Target/NVPTX/Threads/LoweringTable.h"
#include "Target/NVPTX/Threads/Registers.h"
#include "Target/NVPTX/Threads/SharedStorage.h"
#include "Target/NVPTX/Threads/TensorMemory.h"
#include "Target/NVPTX/Threads/ThreadBuilder.h"
#include "Target/NVPTX/Threads/ThreadSync.h"

#include <memory>

namespace penstock::nvptx {

using mlir::LogicalResult;
using mlir::Operation;
using mlir::Value;

/// Properties of a kernel that its lowering depends on.
struct KernelMode {
  explicit KernelMode(mlir::func::FuncOp kernel);

  const bool tileProgram; ///< compiled from a tile program, not an explicit kernel
  const bool alignedRows; ///< launches with other rows take another kernel
  const bool pair;        ///< two blocks multiply as one
  const bool usesTensorMemory;
  const int64_t cluster;       ///< blocks of a cluster
  const unsigned ownArguments; ///< of the kernel, before those of the launch

  std::string ctaGroup() const { return pair ? ".cta_group::2" : ".cta_group::1"; }
};

/// The kernel that is lowered, and where its values lie.
struct LoweringContext : ThreadBuilder {
  LoweringContext(mlir::func::FuncOp kernel, const hw::Architecture &architecture,
                  const LoweringTable &table, DeviceKernel &result);

  LogicalResult refuse(Operation *op, const llvm::Twine &why, const llvm::Twine &fix = "");
  /// Checks that operands are whole tiles in registers, or in shared memory.
  LogicalResult checkReach(Operation *op);

  /// Returns the state of one family of operations. Only the family's file names its type.
  template <class State> State &state() {
    static char key;
    std::shared_ptr<void> &slot = states[&key];
    if (!slot)
      slot = std::make_shared<State>();
    return *static_cast<State *>(slot.get());
  }

  const hw::Architecture &architecture;
  const LoweringTable &table;
  DeviceKernel &result;
  const KernelMode mode;

  Value thread; ///< i32
  KernelParameter parameters;
  SharedStorage shared;
  TensorMemory tensorMemory;
  RegisterStorage registers;
  NamedBarriers namedBarriers;

private:
  std::map<const void *, std::shared_ptr<void>> states;
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_THREADS_LOWERINGCONTEXT_H
